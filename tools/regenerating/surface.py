"""The names that PyTorch's modules have: public ones, others, files of modules, and what modules import for themselves."""

import importlib
import itertools
import math
import os
import sys
import types
import typing
import warnings
from collections import defaultdict
from datetime import timedelta
from functools import cache
from pathlib import Path

import torch

from ._ours import ask

OURS = Path(__file__).resolve().parents[2] / "shim_torch"
PYTHON = (3, 11)  # in which the standard library's names are looked for: their homes move from version to version

# Public packages that no library we serve asks for: of their own names only the packages' are in the public list.
UNASKED = [
    f"torch.{name}"
    for name in """ao distributed.elastic distributed.flight_recorder distributed.launcher distributed.pipelining distributed.rpc
    fx.experimental fx.passes nativert nn.intrinsic nn.qat nn.quantizable nn.quantized onnx package quantization
    utils.benchmark.examples utils.benchmark.op_fuzzers utils.benchmark.utils utils.data.datapipes utils.hipify
    utils.tensorboard""".split()
]
# No part of what programs ask of PyTorch: its own tests' support, which runs as it is, copies of other projects, and programs.
NOT_SERVED = ("torch.testing._internal", "torch._numpy.testing", "torch._vendor")
# Classes whose attributes are listed, too, beginning with one underscore or none.
CLASSES = """Generator Size Tensor UntypedStorage autograd.Function autograd.function.FunctionCtx cuda.CUDAGraph cuda.Event
    cuda.MemPool cuda.Stream device dtype finfo iinfo library.CustomOpDef library.Library nn.Module""".split()
# What builds for CUDA alone have of its classes.
WITH_CUDA = {
    "torch.cuda": "DeviceProperties",
    "torch.cuda.DeviceProperties": """L2_cache_size gcnArchName is_integrated is_multi_gpu_board major max_threads_per_block
        max_threads_per_multi_processor minor multi_processor_count name regs_per_multiprocessor shared_memory_per_block
        shared_memory_per_block_optin shared_memory_per_multiprocessor total_memory uuid warp_size""",
    "torch.cuda.Event": "cuda_event device event_id",
    "torch.cuda.Stream": "cuda_stream device device_index device_type priority stream_id",
}
SOURCES = {"torch", "numpy", "typing_extensions"} | sys.stdlib_module_names
CONSTANTS = (
    int, float, str, bytes, bool, type(None), list, tuple, dict, set, frozenset, timedelta, type(itertools.count())
)  # fmt: skip


def _files(root, name):
    """The modules that a package's folder has as files, by their dotted names."""
    found = set()
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f.isidentifier() and f != "__pycache__"]
        package = ".".join([name, *Path(folder).relative_to(root).parts])
        found |= {
            f"{package}.{f[:-3]}" for f in files if f.endswith(".py") and f[:-3].isidentifier() and f != "__init__.py"
        }
        found |= {package} if "__init__.py" in files else set()
    return found


@cache
def files():
    """The modules of PyTorch's package that are files."""
    return _files(Path(torch.__file__).parent, "torch")


def is_in(name, packages):
    """Whether ``name`` is one of ``packages`` or lies within one."""
    return any(f"{name}.".startswith(f"{package}.") for package in packages)


def _is_public(name):
    return not any(part.startswith("_") for part in name.split("."))


@cache
def module(name):
    """The module, None where this machine cannot import it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except Exception:  # it needs a library or a device that is not here
            return None


def members(name):
    """(name, value) of what a module has, of its class's properties, too."""
    found = module(name)
    names = {*dir(found), *vars(found), *(vars(type(found)) if type(found) is not types.ModuleType else ())}
    for member in sorted(names):
        try:
            yield member, getattr(found, member)
        except Exception:  # of one that asks a device, or lists a name that it lacks
            continue


def home(value):
    """The module that a value says it is of."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    said = getattr(value, "__module__", None)
    return said if isinstance(said, str) else type(value).__module__


def is_of_torch(value):
    """Whether an object says that it comes from torch."""
    return home(value).partition(".")[0] == "torch"


def _is_of_c(value):
    return (
        home(value).startswith("torch._C")
        or isinstance(value, types.BuiltinFunctionType)
        or type(value).__name__ == "pybind11_type"
    )


def is_own(of, name, value):
    """Whether a module defines or exports a name; None where it is no name of PyTorch's."""
    found = module(of)
    if name in getattr(found, "__all__", ()):
        return True
    if isinstance(value, types.ModuleType):
        return value.__name__ == f"{of}.{name}" if is_of_torch(value) else None
    if name == "TYPE_CHECKING" or isinstance(value, float) and hasattr(math, name):
        return False
    if home(value).partition(".")[0] in sys.stdlib_module_names - {"builtins"} and not isinstance(value, CONSTANTS):
        return None
    if isinstance(value, typing.TypeVar):
        return False
    if not is_of_torch(value):
        return True if _is_of_c(value) or isinstance(value, CONSTANTS) else None
    is_instance = not hasattr(value, "__qualname__")  # who made it cannot be seen
    return home(value) == of or is_instance or _is_of_c(value) or _exports(of, home(value), name)


def _exports(package, of, name):
    """Whether a module of a package exports a name, which the package then has from it; torch exports all it has,
    and a package without ``__all__`` what it has from its own modules."""
    if package == "torch":
        return True
    if not of.startswith(f"{package}."):
        return False
    return not hasattr(module(package), "__all__") or name in getattr(sys.modules.get(of), "__all__", ())


@cache
def public():
    """By dotted name: whether the module that has it defines or exports it."""
    found = {"torch": True}
    for name in sorted(n for n in files() if _is_public(n)):
        if is_in(name, UNASKED):
            continue
        found[name] = True
        for member, value in members(name) if module(name) else ():
            dotted = f"{name}.{member}"
            own = None if member.startswith("_") or dotted in files() else is_own(name, member, value)
            if own is not None:
                found[dotted] = own
    found |= dict.fromkeys(UNASKED, True)
    for name in CLASSES:
        owner = eval(f"torch.{name}", {"torch": torch})
        found |= {f"torch.{name}.{member}": True for member in dir(owner) if not member.startswith("__")}
    return found | {f"{owner}.{name}": True for owner, names in WITH_CUDA.items() for name in names.split()}


def surface():
    """A name a line; ``~``: the module imported it for itself."""
    return "".join(f"{'' if own else '~'}{name}\n" for name, own in sorted(public().items()))


@cache
def served():
    """The modules that are files or rows here, and those of torch._C."""
    here = (_files(OURS, "torch") | {f"torch.{name}" for name in ask("rows")}) & files()
    return here | {name for name in sys.modules if name.startswith("torch._C") and sys.modules[name]}


def imported_as(of, name, value):
    """Where a module has a name from: ``os``, ``np=numpy`` or ``typing:Any``; None for its own, and where no such form says it."""
    if isinstance(value, types.ModuleType):
        there = value.__name__
        entry = name if there == name else f"{name}={there}"
        known = there != f"{of}.{name}" and sys.modules.get(there) is value
    else:
        there = getattr(value, "__module__", None)
        entry = f"{there}:{name}"
        known = isinstance(there, str) and there != of and getattr(sys.modules.get(there), name, None) is value
    return entry if known and there.partition(".")[0] in SOURCES else None


@cache
def imported():
    """By module: what it imports for itself from the standard library, NumPy and other modules of PyTorch."""
    found = {}
    for name in sorted(served()):
        entries = [imported_as(name, n, v) for n, v in members(name) if not n.startswith("__")] if module(name) else ()
        found[name] = [entry for entry in entries if entry]
    return found


def imported_names():
    """A module a line, below torch, and where its names come from, as far as they are there with us."""
    found = ask("resolved", imported())
    rows = {
        name.removeprefix("torch").removeprefix(".") or "torch": entries for name, entries in found.items() if entries
    }
    return "".join(f"{' '.join([name, *entries])}\n" for name, entries in sorted(rows.items()))


@cache
def inner():
    """The other names of the modules that are here, but for those of other libraries. Modules are in ``modules()``: whether a
    package has one as an attribute depends on what was imported before."""
    found = set()
    for name in sorted(served()):
        for member, value in members(name) if module(name) else ():
            dotted = f"{name}.{member}"
            elsewhere = not is_of_torch(value) and imported_as(name, member, value)
            if not (member.startswith("__") or dotted in public() or dotted in files() or elsewhere):
                found.add(dotted)
    return found


def inner_names():
    """The table of names that are no public ones, a line each."""
    return "".join(f"{name}\n" for name in sorted(inner()))


def modules():
    """The files that are not public: a package and its modules a line."""
    found = defaultdict(list)
    for name in sorted(files() - public().keys()):
        if not is_in(name, NOT_SERVED) and not name.endswith("__main__"):
            found[name.rpartition(".")[0]].append(name.rpartition(".")[2])
    return "".join(f"{' '.join([package, *names])}\n" for package, names in sorted(found.items()))


FILES = {
    "shim_torch/_impl/data/surface.txt": surface,
    "shim_torch/_impl/data/surface_inner.txt": inner_names,
    "shim_torch/_impl/data/surface_modules.txt": modules,
    "shim_torch/_impl/data/surface_imported.txt": imported_names,
}
