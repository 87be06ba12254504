"""``python -m compat run``: an unmodified script, as ``python`` itself runs it, with our torch."""

from __future__ import annotations

import io
import os
import runpy
import sys
import types

from compat import enable_torch_proxy, importer


def main(target: str, arguments: list[str], is_module: bool, scope: list[str] | None, version: str | None) -> int:
    """Runs ``target``; its own exit status and traceback are the process's."""
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    names = None if scope is None else {n for part in scope for n in part.split(",") if n} | {"__main__"}
    if not is_module and not os.path.isfile(target):
        print(f"python -m compat run: no such script: {target!r} (use -m for a module)", file=sys.stderr)
        return 2
    try:
        enable_torch_proxy(names, version=version)
    except (ValueError, RuntimeError) as error:
        print(f"python -m compat run: {error}", file=sys.stderr)
        return 2
    sys.argv = [target, *arguments]
    if is_module:
        table = None if names is None else {"__builtins__": importer.SCOPED}
        sys.path[0] = os.getcwd()
        runpy.run_module(target, table, "__main__", alter_sys=True)
        return 0
    sys.path[0] = os.path.dirname(os.path.abspath(target))
    with io.open_code(os.path.abspath(target)) as file:
        code = compile(file.read(), target, "exec")
    module = types.ModuleType("__main__")  # stays in sys.modules: pickling and spawned children look it up there
    module.__dict__.update(__file__=target, __cached__=None)
    module.__dict__["__builtins__"] = vars(__import__("builtins")) if names is None else importer.SCOPED
    sys.modules["__main__"] = module
    exec(code, module.__dict__)
    return 0
