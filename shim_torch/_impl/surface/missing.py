"""Missing names: AttributeError for those that PyTorch lacks too, advice for those that it has. Both are counted."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from shim_torch._impl import data
from shim_torch._impl.surface.own import in_torch, is_own

absent: Counter[tuple[str, str]] = Counter()  # (dotted name, requester) that PyTorch lacks too
unsupported: Counter[tuple[str, str]] = Counter()  # (dotted name, requester) that PyTorch has


def _words(file: str) -> list[str]:
    return data.read(file).split()


@lru_cache(maxsize=1)
def surface() -> frozenset[str]:
    """Every public dotted name that PyTorch has (``data/surface.txt``)."""
    return frozenset(name.removeprefix("~") for name in _names())


@lru_cache(maxsize=1)
def own_surface() -> frozenset[str]:
    """Those that their module defines or exports; ``~`` marks the others in the file: what a module imported for itself."""
    return frozenset(name for name in _names() if not name.startswith("~"))


def _names() -> list[str]:
    return _words("surface.txt")


@lru_cache(maxsize=1)
def inner_surface() -> frozenset[str]:
    """Further names of those modules of PyTorch that are here, and of torch._C's."""
    return frozenset(_words("surface_inner.txt"))


@lru_cache(maxsize=1)
def _modules() -> frozenset[str]:
    """The files of PyTorch that are in neither list: a line names a package and its modules."""
    lines = data.read("surface_modules.txt").splitlines()
    return frozenset(f"{package}.{name}" for package, *found in map(str.split, lines) for name in found)


@lru_cache(maxsize=1)
def _imported() -> dict[str, list[str]]:
    """What PyTorch's modules import for themselves from the standard library and from each other, by module: ``os``,
    ``np=numpy`` (a module under another name) or ``typing:Any`` (a name of a module)."""
    return {first: rest for first, *rest in map(str.split, data.read("surface_imported.txt").splitlines())}


def _entry(module: str, name: str) -> tuple[str, str | None] | None:
    """The module that PyTorch's module has a name from, and the name there (None: it is that module); None without."""
    for entry in _imported().get(module.removeprefix("torch").removeprefix(".") or "torch", ()):
        home, _, attribute = entry.partition(":")
        if attribute == name:
            return home, attribute
        shown, _, home = entry.partition("=")
        if not attribute and shown == name:
            return home or shown, None
    return None


def _from_where_it_comes(module: str, name: str) -> Any:
    """A name that PyTorch's module has because it imports it, or None: libraries import such names from there, too."""
    from importlib import import_module

    entry = _entry(module, name)
    if entry is None:
        return None
    home, attribute = entry
    if home in ("torch.ops", "torch.classes"):  # objects, not files
        return getattr(sys.modules["shim_torch"], home.rpartition(".")[2])
    try:
        source = import_module(_ours(home))
        if home == "typing" and attribute is not None and not hasattr(source, attribute):
            source = import_module("typing_extensions")  # of a newer Python, and in PyTorch of what it depends on
    except ModuleNotFoundError:
        return None
    return source if attribute is None else getattr(source, attribute)


def _ours(module: str) -> str:
    return f"shim_{module}" if module.partition(".")[0] == "torch" else module


def has(dotted: str) -> bool:
    """Whether PyTorch has this name, public or not."""
    module, _, name = dotted.rpartition(".")
    return dotted in surface() or dotted in inner_surface() or dotted in _modules() or _entry(module, name) is not None


def module_getattr(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module of ours, given its ``__name__``."""
    presented = in_torch(module)
    return lambda name: missing(presented, name)


def requester() -> str:
    """The requesting module: that of the nearest frame outside this package and the import machinery."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not is_own(frame) and not name.startswith(("shim_torch_proxy", "importlib")):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"


class UnsupportedAttribute(AttributeError, NotImplementedError):
    """PyTorch has this name, shim-torch does not (yet). ``hasattr`` is False for it, as for any absent name."""


def _exported(module: str) -> list[str]:
    """What ``from torch.x import *`` brings of a module without ``__all__``: what PyTorch defines there, loaded by now or not."""
    parent = sys.modules.get(_ours(module))
    if parent is None:  # not from a file: all its names are there
        raise AttributeError(f"module '{module}' has no attribute '__all__'")
    found = {name for name, value in list(vars(parent).items()) if name[0] != "_" and _shown(f"{module}.{name}", value)}
    before = unsupported.copy()
    for dotted in surface():
        package, _, name = dotted.rpartition(".")
        if package == module and name not in found and hasattr(parent, name) and _shown(dotted, getattr(parent, name)):
            found.add(name)
    for key in [key for key in unsupported if unsupported[key] != before[key]]:
        unsupported[key] = before[key]  # not requested by name
        if not unsupported[key]:
            del unsupported[key]
    return sorted(found)


def _shown(dotted: str, value: Any) -> bool:
    """Whether a name is PyTorch's to show, and no helper that a module imports for itself (``Any``, ``threading``)."""
    is_module = isinstance(value, type(sys))
    home = value.__name__ if is_module else getattr(value, "__module__", None)
    if not isinstance(home, str) or dotted in own_surface():
        return dotted in own_surface()
    return home.startswith("torch") and not is_module or has(dotted) and home.startswith(("torch", "shim_torch"))


class UnsupportedImport(ImportError, NotImplementedError):
    """The same for ``from torch.x import y``: the statement would drop what an AttributeError says."""


class UnsupportedModule(ModuleNotFoundError, NotImplementedError):
    """The same for ``import torch.x``."""


def unsupported_module(dotted: str) -> UnsupportedModule | None:
    """The error for a module that PyTorch has and that is not here; None for one that PyTorch lacks too."""
    if not has(dotted):
        return None
    who = requester()
    unsupported[dotted, who] += 1
    return UnsupportedModule(f"No module named {dotted!r}: {_advice(dotted, who)}", name=dotted)


def _advice(dotted: str, who: str) -> str:
    return (
        f"{dotted} is not supported by shim-torch (asked for by {who}). PyTorch has it: please report it with the "
        f"library's name and version, or see `python -m compat scan` for what a library needs."
    )


def _is_import_statement() -> bool:
    """Whether the lookup is made by ``from torch.x import y``."""
    from opcode import opmap

    frame: Any = sys._getframe(1)
    while frame is not None and is_own(frame):
        frame = frame.f_back
    return frame is not None and frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]


def _sub_module(module: str, name: str) -> Any:
    """The sub-module of that name, imported now, or None: PyTorch has imported most of its own already."""
    real = f"shim_torch{module.removeprefix('torch')}"
    if real == "shim_torch" and name == "_impl":  # ours, not PyTorch's
        return None
    parent = sys.modules.get(real)
    if not name.isidentifier() or not any(
        os.path.exists(os.path.join(folder, name + ending))
        for folder in getattr(parent, "__path__", ())
        for ending in (".py", "/__init__.py")
    ):
        from shim_torch._impl.surface import shells

        if not shells.has(f"{real}.{name}"):
            return None
    from importlib import import_module

    return import_module(f"{real}.{name}")


def unsupported_operator(dotted: str) -> UnsupportedAttribute:
    """The error for a name, or an operator of torch.ops, that PyTorch has and that is not here."""
    who = requester()
    unsupported[dotted, who] += 1
    return UnsupportedAttribute(_advice(dotted, who))


def missing(module: str, name: str) -> Any:
    """A sub-module called ``module.name``, or an error; the last line of a module's ``__getattr__``."""
    if name == "__all__":
        return _exported(module)
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    found = _sub_module(module, name)
    if found is None:
        found = _from_where_it_comes(module, name)
    if found is not None:
        return found
    who, dotted = requester(), f"{module}.{name}"
    if has(dotted):
        error = unsupported_operator(dotted)
        if _is_import_statement():
            raise UnsupportedImport(f"cannot import name {name!r} from {module!r}: {error}", name=module)
        raise error
    absent[dotted, who] += 1
    raise AttributeError(f"module '{module}' has no attribute '{name}'")
