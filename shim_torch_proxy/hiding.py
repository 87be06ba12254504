"""Packages that are absent for code in scope (``hidden=``): no module, no spec, no metadata. A layer of ``hook``."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from types import ModuleType

from shim_torch_proxy import importer, requirements
from shim_torch_proxy.changes import set_for_a_while

TYPE_CHECKING = False  # typing takes long to import, and only type checkers need it
if TYPE_CHECKING:
    from typing import Any


def is_distribution(name: Any) -> bool:
    """Whether a distribution is that of a hidden package."""
    if not importer.hidden or not isinstance(name, str):
        return False
    return requirements.plain(name) in _distributions(frozenset(importer.hidden), tuple(sys.path))


@functools.lru_cache(maxsize=16)
def _distributions(hidden: frozenset[str], path: tuple[str, ...]) -> frozenset[str]:
    return frozenset(
        distribution for name in hidden if "." not in name for distribution in requirements.distributions_of(name, path)
    )


class HidingFinder:
    """Finds no hidden package, and lets no other finder do so."""

    def __init__(self, asked: Callable[[], bool]) -> None:
        self.asked = asked

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> None:
        """None for all that is not hidden. Errors: ModuleNotFoundError for what is, if code in scope asks for it."""
        if importer.is_hidden(fullname) and self.asked():
            raise importer.absent(fullname)


def layer(
    entries: Iterable[Any], whole: bool, in_scope: Callable[[int], bool]
) -> dict[str, Callable[[ExitStack], None]]:
    """The layer that hides what the calls in force name together; none where they hide nothing."""
    hidden: frozenset[str] = frozenset().union(*(entry.hidden for entry in entries))
    if not hidden:
        return {}
    return {f"hidden {whole} {sorted(hidden)}": lambda stack: install(stack, hidden, whole, in_scope)}


def install(stack: ExitStack, hidden: frozenset[str], whole: bool, in_scope: Callable[[int], bool]) -> None:
    """Hides packages until ``stack`` is closed; of the whole process (``whole``) what is loaded already, too."""
    importer.hidden.update(hidden)
    stack.callback(importer.hidden.clear)
    finder = HidingFinder(lambda: in_scope(3))
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    stack.callback(lambda: sys.meta_path.remove(finder) if finder in sys.meta_path else None)  # type: ignore[arg-type]
    for owner, name, make in (
        (importlib, "import_module", _import_module),
        (importlib.util, "find_spec", _find_spec),
    ):
        original = getattr(owner, name)
        set_for_a_while(stack, owner, name, functools.wraps(original)(make(original, in_scope)))
    if whole:
        loaded = {name: module for name, module in sys.modules.items() if importer.is_hidden(name)}
        for name in loaded:
            del sys.modules[name]
        stack.callback(sys.modules.update, loaded)


def _absolute(name: Any, package: Any) -> str:
    if not isinstance(name, str) or not name.startswith("."):
        return name if isinstance(name, str) else ""
    return importlib.util.resolve_name(name, package) if isinstance(package, str) else ""


def _import_module(original: Any, in_scope: Callable[[int], bool]) -> Any:
    def import_module(name: str, package: str | None = None) -> ModuleType:
        wanted = _absolute(name, package)
        if importer.is_hidden(wanted) and in_scope(2):
            raise importer.absent(wanted)
        found: ModuleType = original(name, package)
        return found

    return import_module


def _find_spec(original: Any, in_scope: Callable[[int], bool]) -> Any:
    def find_spec(name: str, package: str | None = None) -> Any:
        return None if importer.is_hidden(_absolute(name, package)) and in_scope(2) else original(name, package)

    return find_spec
