"""The requirements of a package that use torch too: both have to get the same torch.

The metadata is read as plain files: importlib.metadata would import half of the standard library for it.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
from collections.abc import Iterable
from functools import lru_cache

_find = importlib.machinery.PathFinder.find_spec

_NOT_PACKAGES = frozenset(
    {"torch", "test", "tests", "docs", "examples", "benchmarks"}
)  # top-level names that wheels install by mistake


def needed_by(package: str) -> tuple[str, ...]:
    """The import names of the requirements of ``package`` that use torch; none where a real PyTorch is installed.

    There, other code in the process may use these packages, so they keep the real one unless they are named.
    """
    top = package.partition(".")[0]
    if _is_imported() or top.startswith("__"):
        return ()
    return _needed_by(top, tuple(p for p in sys.path if isinstance(p, str)))


@lru_cache(maxsize=256)
def _needed_by(top: str, path: tuple[str, ...]) -> tuple[str, ...]:
    if _is_found(path):
        return ()
    known = _installed(path)
    owner = known.get(plain(top)) or _owner(top, path)
    found: list[str] = []
    for name in _names(owner) if owner else ():
        required = known.get(name)
        if required is not None and (_requires_torch(required, path) or _has_part_for_torch(required)):
            found.extend(_imports(required) or [name.replace("-", "_")])
    if owner:
        found.extend(_imports(owner))  # a distribution may hold several packages
    return tuple(dict.fromkeys(n for n in found if n not in _NOT_PACKAGES and n != top))


def distributions(package: str) -> frozenset[str]:
    """The names of the distributions that the package's own requires, extras included."""
    top = package.partition(".")[0]
    return (
        frozenset() if top.startswith("__") else _distributions(top, tuple(p for p in sys.path if isinstance(p, str)))
    )


@lru_cache(maxsize=256)
def _distributions(top: str, path: tuple[str, ...]) -> frozenset[str]:
    owner = _installed(path).get(plain(top)) or _owner(top, path)
    return frozenset(_names(owner)) if owner else frozenset()


def is_installed() -> bool:
    """Whether a real PyTorch is imported, or on the path."""
    return is_pytorch(sys.modules.get("torch")) or _is_found(tuple(p for p in sys.path if isinstance(p, str)))


def is_pytorch(module: object) -> bool:
    """Whether a module called torch is PyTorch: not None, and no folder of that name that someone has for other code."""
    return module is not None and _is_it(getattr(module, "__path__", None))


def _is_it(folders: Iterable[str] | None) -> bool:
    return folders is None or any(os.path.isfile(os.path.join(folder, "version.py")) for folder in folders)


def _is_imported() -> bool:
    """Also where ``sys.modules`` has None: someone keeps torch from being imported."""
    return "torch" in sys.modules and (sys.modules["torch"] is None or is_pytorch(sys.modules["torch"]))


@lru_cache(maxsize=64)
def _is_found(path: tuple[str, ...]) -> bool:
    spec = _find("torch", list(path))
    return spec is not None and _is_it(spec.submodule_search_locations)


def uses_torch(package: str) -> bool:
    """Whether an installed package needs torch: its metadata require it, or its ``__init__`` imports it.

    False where a real PyTorch is installed, as in ``needed_by``.
    """
    if _is_imported() or package in _NOT_PACKAGES:
        return False
    return _uses_torch(package, tuple(p for p in sys.path if isinstance(p, str)))


@lru_cache(maxsize=256)
def _uses_torch(package: str, path: tuple[str, ...]) -> bool:
    import re

    spec = _find(package, list(path))
    if spec is None or _is_found(path):
        return False
    owner = _installed(path).get(plain(package)) or _owner(package, path)
    if owner is not None and _requires_torch(owner, path):
        return True
    source = spec.origin or ""
    return source.endswith(".py") and bool(
        re.search(r"^(?:import|from)\s+torch\b", _text(*os.path.split(source)), re.M)
    )


@lru_cache(maxsize=256)
def _requires_torch(folder: str, path: tuple[str, ...]) -> bool:
    """Whether a distribution requires torch (an extra's counts), or a distribution that always requires it."""
    if "torch" in _names(folder):
        return True
    known, seen, todo = _installed(path), {folder}, [folder]
    while todo:
        for name in _names(todo.pop(), extras=False):
            required = known.get(name)
            if name == "torch":
                return True
            if required is not None and required not in seen:
                seen.add(required)
                todo.append(required)
    return False


@lru_cache(maxsize=256)
def _has_part_for_torch(folder: str) -> bool:
    """Whether one of its modules is called torch (``einops/layers/torch.py``): it uses torch where that is installed."""
    import re

    return re.search(r"/torch(?:\.py|/__init__\.py),", _text(folder, "RECORD")) is not None


def distributions_of(package: str, path: tuple[str, ...]) -> tuple[str, ...]:
    """The names, as PEP 503 writes them, of the distributions that hold a package."""
    owner = _owner(package, path)
    found = plain(os.path.basename(owner).partition("-")[0]) if owner else ""
    return tuple(name for name in (plain(package), found) if name)


def plain(name: str) -> str:
    """The name of a distribution as PEP 503 writes it."""
    import re

    return re.sub(r"[-_.]+", "-", name).lower()


@lru_cache(maxsize=16)
def _installed(path: tuple[str, ...]) -> dict[str, str]:
    """The distributions on a path: name -> folder of its metadata."""
    found: dict[str, str] = {}
    for place in path:
        try:
            names = os.listdir(place or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith(".dist-info"):
                found.setdefault(plain(name.partition("-")[0]), os.path.join(place, name))
    return found


def _text(folder: str, file: str) -> str:
    try:
        with open(os.path.join(folder, file), encoding="utf-8", errors="replace") as source:
            return source.read()
    except OSError:
        return ""


def _names(folder: str, extras: bool = True) -> list[str]:
    """The distributions that one requires, also for its extras; those that are not installed are dropped later."""
    import re

    head = _text(folder, "METADATA").split("\n\n", 1)[0]
    found = re.findall(r"^Requires-Dist:\s*([A-Za-z0-9._-]+)(.*)$", head, re.M | re.I)
    return [plain(name) for name, rest in found if extras or not re.search(r"\bextra\s*==", rest)]


def _owner(top: str, path: tuple[str, ...]) -> str | None:
    """The distribution that holds a package of another name: it lies beside the package and lists its files."""
    spec = _find(top, list(path))
    places = list((spec.submodule_search_locations or []) if spec is not None else [])
    if not places:
        return None
    beside = _installed((os.path.dirname(places[0]),))
    return next((folder for folder in beside.values() if top in _imports(folder)), None)


def _imports(folder: str) -> list[str]:
    """The top-level packages of a distribution: as it lists them, or by its files."""
    import re

    listed = _text(folder, "top_level.txt").split()
    return listed or sorted(set(re.findall(r"^([A-Za-z_]\w*)/__init__\.py,", _text(folder, "RECORD"), re.M)))
