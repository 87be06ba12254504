"""What shim-torch has: asked of the Python that has it (``--ours``), for this one has PyTorch.

Run by that Python, as a script, it answers: a question's name is an argument, the answer is JSON.
"""

import importlib
import json
import os
import subprocess
import sys
import warnings


def ask(question, given=None):
    """The answer of ``_<question>(given)`` below, from the environment with shim-torch."""
    command = [os.environ["SHIM_TORCH_PYTHON"], __file__, question]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def _schemas(_):
    """By overload of aten: the schema that its record declares."""
    import shim_torch
    from shim_torch._impl.native import _core
    from shim_torch._impl.table import aten
    from shim_torch._impl.table.operators import complete

    aten.complete = lambda name: None  # else a record that takes more would show PyTorch's schema
    complete()
    return {
        name + (f".{overload}" if overload else ""): str(
            getattr(getattr(shim_torch.ops.aten, name), overload or "default")._schema
        )
        for name in _core.operator_names("aten")
        for overload in _core.operator_overloads(f"aten::{name}")
    }


def _composites(_):
    """The operators of aten whose records are composites."""
    from shim_torch._impl.table.operators import complete, records

    complete()
    return [
        name.removeprefix("aten::")
        for name, r in records().items()
        if r.kind == "composite" and name.startswith("aten::")
    ]


def _later(_):
    """What the families that are defined later give: the tensor's methods, and functions that torch has beside nn.functional's."""
    from shim_torch._impl.table import operators

    there = set(operators._defined)
    later = [record for key, record in operators.records().items() if key not in there and record.ns == "aten"]
    also = list(operators.having("also", "torch"))
    return {
        "methods": [name for record in later if record.method for name in operators._defined[record.key]],
        "functions": [record.name for record in also if "int reduction=" not in record.schema],
        "losses": [record.name for record in also if "int reduction=" in record.schema],
    }


def _rows(_):
    """The modules of PyTorch that are rows of a table here and no files, ``xpu`` for ``torch.xpu``."""
    from shim_torch._impl.surface import shells

    return list(shells.table())


def _resolved(given):
    """Of the rows of the table of imported names the entries whose home, and the name in it, are here."""
    return {module: [entry for entry in entries if _is_here(entry)] for module, entries in given.items()}


def _is_here(entry):
    home, _, name = entry.partition(":")
    home = home.rpartition("=")[2]
    if home in ("torch.ops", "torch.classes"):  # objects, not files
        return True
    try:
        module = importlib.import_module(f"shim_{home}" if home.partition(".")[0] == "torch" else home)
        return not name or getattr(module, name) is not None
    except Exception:  # however a module says that it is not there
        return False


def _names(_):
    """What torch and its tensors have: functions and methods with their schemas, modules, and other names with a type."""
    import shim_torch as torch
    from shim_torch._impl.native import _core
    from shim_torch._impl.table.operators import complete

    complete()

    def schemas(name):
        packet = getattr(torch.ops.aten, name, None)
        return [str(getattr(packet, overload)._schema) for overload in packet.overloads()] if packet is not None else []

    def is_operator(value):
        return type(value).__name__ in ("builtin_function_or_method", "method_descriptor") and value.__name__ in known

    known = set(_core.operator_names("aten"))
    members = {name: getattr(torch.Tensor, name) for name in dir(torch.Tensor) if name not in dir(object)}
    waiting = [
        name for name in known if name.startswith("_") and hasattr(torch, name)
    ]  # defined when they are asked for
    found = {name: getattr(torch, name, None) for name in [*dir(torch), *waiting] if not name.startswith("__")}
    modules = {
        name for name, value in found.items() if getattr(value, "__file__", None) and getattr(value, "__spec__", None)
    }
    functions = {name: schemas(value.__name__) for name, value in found.items() if is_operator(value)}
    return {
        "methods": {name: schemas(value.__name__) for name, value in members.items() if is_operator(value)},
        "attributes": sorted(name for name, value in members.items() if not is_operator(value)),
        "modules": sorted(modules),
        "functions": functions,
        "others": {
            n: "dtype" if isinstance(v, torch.dtype) else "Any"
            for n, v in found.items()
            if n not in functions and n not in modules
        },
    }


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this file, whose names are no modules of anybody
    warnings.simplefilter("ignore")
    print(json.dumps(globals()["_" + sys.argv[1]](json.load(sys.stdin))))
