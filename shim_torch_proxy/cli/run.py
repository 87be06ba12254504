"""``python -m compat run``: an unmodified script, as ``python`` itself runs it, with our torch."""

from __future__ import annotations

import atexit
import builtins
import importlib.machinery
import importlib.util
import io
import os
import runpy
import sys
import types
from typing import Any

from shim_torch_proxy import child, enable_torch_proxy, importer, torch_proxy_status
from shim_torch_proxy.cli import program


def main(
    target: str,
    arguments: list[str],
    is_module: bool,
    scope: list[str] | None,
    version: str | None,
    is_command: bool = False,
    children: bool = True,
    summary: bool = False,
    hidden: list[str] | None = None,
) -> int:
    """Runs ``target``: a script, "-" (standard input), a folder or zip file with ``__main__.py``, a module or a command.

    With ``children``, programs of the same Python that it starts get the same torch, by way of their environment.
    ``hidden``: packages that are absent for it. ``summary``: at its end :func:`report` goes to stderr.
    Its own exit status and traceback are the process's; 2 when there is no such script or the arguments are wrong.
    """
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    listed = lambda parts: {n for part in parts for n in part.split(",") if n}
    names = None if scope is None else listed(scope) | {"__main__"}
    if not (is_module or is_command or target == "-" or os.path.exists(target)):
        print(f"{program()} run: no such script: {target!r} (use -m for a module)", file=sys.stderr)
        return 2
    try:
        enable_torch_proxy(names, version=version, hidden=listed(hidden or ()))
    except (ValueError, RuntimeError) as error:
        print(f"{program()} run: {error}", file=sys.stderr)
        return 2
    if summary:
        atexit.register(lambda: print(report(torch_proxy_status()), file=sys.stderr))
    table = builtins if names is None else importer.scoped_builtins
    sys.argv = ["-c" if is_command else target, *arguments]
    _stay_found()
    if children:
        child.announce()
        if is_module and target in ("pip", "build"):
            from shim_torch_proxy.cli import isolated

            isolated.announce(version)
    if is_module:
        return _run_module(target, table)
    if is_command or target == "-":
        sys.path[0] = ""
        text = target if is_command else sys.stdin.read()
        return _execute(text, "<string>" if is_command else "<stdin>", {}, table)
    if os.path.isdir(target) or _is_archive(target):
        return _run_container(target, table)
    path = os.path.abspath(target)
    sys.path[0] = os.path.dirname(os.path.realpath(target))
    with io.open_code(path) as file:
        source = file.read()
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    return _execute(source, path, {"__file__": path, "__cached__": None, "__loader__": loader}, table)


def _stay_found() -> None:
    """Keeps our folder on ``sys.path``: in a source tree only its first entry names it, whose place is the script's folder's."""
    if child.FOLDER not in sys.path[1:]:
        sys.path.append(child.FOLDER)


def report(status: dict[str, Any]) -> str:
    """The lines of ``--summary``, of what ``torch_proxy_status()`` says: what was missing, and for whom; what was slow."""
    asked = [(kind, *key, count) for kind in ("missing", "unsupported") for key, count in status[kind].items()]
    lines = [
        f"  {name}: {kind}, asked for by {who}" + f" ({count} times)" * (count > 1)
        for kind, name, who, count in sorted(asked)
    ]
    lines += [f"  slow: {what}, {count} times" for what, count in sorted(status["slow"].items()) if count]
    core = "" if status["native"] else "; the C++ core was not loaded"
    head = f"shim-torch: modules of torch loaded: {len(status['modules'])}; names missing: {len(asked)}{core}"
    return "\n".join([head, *lines])


def _execute(source: str | bytes, name: str, attributes: dict[str, Any], table: types.ModuleType) -> int:
    module = types.ModuleType("__main__")  # stays in sys.modules: pickling and spawned children look it up there
    module.__dict__.update(attributes, __builtins__=table)
    if sys.version_info < (3, 14):
        module.__dict__["__annotations__"] = {}
    sys.modules["__main__"] = module
    try:
        # Not with this file's own __future__ imports.
        exec(compile(source, name, "exec", dont_inherit=True), module.__dict__)
    except Exception as error:
        trace = error.__traceback__
        error.__traceback__ = None if trace is None else trace.tb_next  # from the script on, as python prints it
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def _run_module(name: str, table: types.ModuleType) -> int:
    sys.path[0] = os.getcwd()
    try:
        spec = importlib.util.find_spec(name)
        is_package = spec is not None and spec.submodule_search_locations is not None
        main = importlib.util.find_spec(f"{name}.__main__") if is_package else spec
    except (ImportError, ValueError) as error:
        print(f"{sys.executable}: Error while finding module specification for {name!r} ({error})", file=sys.stderr)
        return 1
    if main is None:
        what = f"{name}.__main__; {name!r} is a package and cannot be directly executed" if is_package else name
        print(f"{sys.executable}: No module named {what}", file=sys.stderr)
        return 1
    own = None if table is builtins else {"__builtins__": table}
    runpy.run_module(name, own, "__main__", alter_sys=True)
    return 0


def _is_archive(path: str) -> bool:
    import zipfile

    return os.path.isfile(path) and zipfile.is_zipfile(path)


def _run_container(path: str, table: types.ModuleType) -> int:
    sys.path[0] = path
    sys.path_importer_cache.pop(path, None)
    if importlib.machinery.PathFinder.find_spec("__main__", [path]) is None:
        print(f"{sys.executable}: can't find '__main__' module in {path!r}", file=sys.stderr)
        return 1
    own = None if table is builtins else {"__builtins__": table}
    del sys.path[0]  # run_path puts it there
    runpy.run_path(path, own, "__main__")
    return 0
