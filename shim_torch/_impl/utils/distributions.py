"""Modules of other distributions, also where a folder of the user's with the same name comes before them on ``sys.path``."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any


def own(name: str, distribution: str) -> ModuleType:
    """The module ``name`` (numpy, cuda.pathfinder) as ``distribution`` installed it; the plain import where that is not found.

    Of a sub-module, what has its package's name keeps it, and may be imported. Errors: ImportError where the name is another module's already.
    """
    top = name.partition(".")[0]
    loaded = sys.modules.get(name)
    spec = getattr(loaded, "__spec__", None) if loaded is not None else PathFinder.find_spec(top)
    if loaded is not None and name != top or spec is not None and _is_installed(spec, distribution):
        return importlib.import_module(name)
    place = next(_places(top, distribution), None)
    if place is None:
        return importlib.import_module(name)
    if loaded is not None and not hasattr(loaded, "__version__"):
        raise ImportError(
            f"shim_torch needs {distribution}, and {name} is {getattr(loaded, '__file__', None) or list(loaded.__path__)}: "
            f"rename that folder, or import {name} of {place} first",
            name=name,
        )
    if loaded is not None:
        return loaded
    finder = _At(name, os.path.join(place, *name.split(".")[:-1]))
    if name == top:
        sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
        try:
            return importlib.import_module(name)
        finally:
            sys.meta_path.remove(finder)  # type: ignore[arg-type]
    return _beside(finder, name)


def _beside(finder: _At, name: str) -> ModuleType:
    """A sub-module of a package of which another has the name: it is loaded without that one."""
    from importlib.util import module_from_spec

    spec = finder.find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


class _At:
    """A meta path finder of one module, in one folder."""

    def __init__(self, name: str, folder: str) -> None:
        self.name, self.folder = name, folder

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec of that module; None for all others."""
        return PathFinder.find_spec(name, [self.folder]) if name == self.name else None


def _is_installed(spec: ModuleSpec, distribution: str) -> bool:
    """Whether a package (all parts of a namespace) lies beside the distribution's metadata."""
    parts = list(spec.submodule_search_locations or ())
    return bool(parts) and all(_has(os.path.dirname(part), distribution) for part in parts)


def _places(top: str, distribution: str) -> Iterator[str]:
    for place in sys.path:
        if os.path.isdir(os.path.join(place, top)) and _has(place, distribution):
            yield place


def _has(place: str, distribution: str) -> bool:
    wanted = distribution.replace("-", "_") + "-"
    try:
        names = os.listdir(place or ".")
    except OSError:
        return False
    return any(n.startswith(wanted) and n.endswith(("-info", ".egg-info")) for n in names)
