"""Modules of PyTorch that hold nothing of their own, as rows of one table (``shells.txt``) instead of files.

A row: the module's name without ``torch.``, a ``/`` where it is a package, and what its docstring says; below it, indented:

- ``refuses WHY: names``: functions and classes that say why they are not supported; ``WHY`` is a name of ``not_built`` or a quoted text
- ``answers VALUE: names``: functions without arguments that always answer the same
- ``device LABEL``: what ``torch.xpu`` and its like answer (``absent_device``)
- ``from MODULE: names``: names of another module; ``new=old`` gives one a new name
- ``as MODULE``: every other name is that module's
- ``modules: names``: modules below it that are imported with it
- ``all: names``: its ``__all__``; ``all *``: all the names above
"""

from __future__ import annotations

import os
from ast import literal_eval
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any, NamedTuple

ROOT = "shim_torch"
_FILE = os.path.join(os.path.dirname(__file__), "shells.txt")
_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(_FILE)))  # of shim_torch


class Row(NamedTuple):
    """What one module answers: pairs of a directive and its names, in the order in which they are carried out."""

    package: bool
    doc: str
    answers: list[tuple[str, list[str]]]


@lru_cache(maxsize=1)
def table() -> dict[str, Row]:
    """The rows by module, ``xpu`` for ``torch.xpu``."""
    with open(_FILE, encoding="utf-8") as file:
        lines = file.read().splitlines()
    found: dict[str, Row] = {}
    for line in lines:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if line == text:
            name, _, doc = line.partition(" ")
            row = found[name.removesuffix("/")] = Row(name.endswith("/"), doc, [])
        elif line.startswith(" " * 8):  # the line before goes on
            row.answers[-1][1].extend(text.split())
        else:
            what, _, names = text.rpartition(": ") if ": " in text else (text.removesuffix(":"), "", "")
            row.answers.append((what, names.split()))
    return found


def has(name: str) -> bool:
    """Whether ``shim_torch.x`` is such a module."""
    return name.removeprefix(f"{ROOT}.") in table()


def spec_of(name: str) -> ModuleSpec | None:
    """The spec of the module ``shim_torch.x``, or None where the table has no such row."""
    row = table().get(name.removeprefix(f"{ROOT}."))
    if row is None:
        return None
    spec = ModuleSpec(name, ShellLoader(), origin=_FILE, is_package=row.package)  # type: ignore[arg-type]
    spec.has_location = True
    if spec.submodule_search_locations is not None:  # where its folder would be
        spec.submodule_search_locations.append(os.path.join(_FOLDER, *name.split(".")[1:]))
    return spec


class ShellLoader:
    """Makes a module of its row."""

    def create_module(self, spec: ModuleSpec) -> None:
        """None: a module of the usual type."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Fills the module with the names of its row."""
        name = module.__name__.removeprefix(f"{ROOT}.")
        row = table()[name]
        module.__doc__ = f"``torch.{name}``: {row.doc}" if row.doc else f"``torch.{name}``."
        names: list[str] = []
        for what, given in row.answers:
            names += _carry_out(module, what, given, names)

    def get_code(self, name: str) -> CodeType:
        """Nothing, for ``python -m``."""
        return compile("", _FILE, "exec")

    def get_source(self, name: str) -> str:
        """An empty text: there is no file."""
        return ""

    def is_package(self, name: str) -> bool:
        """Whether the row says that the module has sub-modules."""
        return table()[name.removeprefix(f"{ROOT}.")].package


def _carry_out(module: ModuleType, what: str, given: list[str], before: list[str]) -> list[str]:
    """Does what one line of a row says; the names that it gave the module."""
    what, _, of = what.partition(" ")
    if what == "all":
        vars(module)["__all__"] = list(before) if of == "*" else given
        return []
    if what == "as":
        vars(module)["__getattr__"] = _names_of(module.__name__, import_module(of))
        return []
    if what == "modules":
        values: dict[str, Any] = {name: import_module(f"{module.__name__}.{name}") for name in given}
    elif what == "from":
        source = import_module(of)
        pairs = [(name, old or name) for name, _, old in (entry.partition("=") for entry in given)]
        values = {name: getattr(source, old) for name, old in pairs}
    else:
        values = _made(module.__name__, what, of, given)
    vars(module).update(values)
    return [*values]


def _names_of(own: str, source: ModuleType) -> Callable[[str], Any]:
    def __getattr__(name: str) -> Any:
        if name.startswith("__") and name != "__all__":  # what the import system asks is about the module itself
            raise AttributeError(f"module 'torch{own.removeprefix(ROOT)}' has no attribute '{name}'")
        return getattr(source, name)

    return __getattr__


def _made(module: str, what: str, of: str, given: list[str]) -> dict[str, Any]:
    from shim_torch._impl.surface import absent_device, not_built

    presented = f"torch{module.removeprefix(ROOT)}"
    if what == "device":
        return absent_device.names(presented, of)
    if what == "answers":
        return {name: _answering(presented, name, literal_eval(of)) for name in given}
    why = of[1:-1] if of.startswith('"') else getattr(not_built, of)
    return not_built.names(presented, why, " ".join(given))


def _answering(module: str, name: str, value: Any) -> Callable[[], Any]:
    def answer() -> Any:
        return value

    answer.__name__ = answer.__qualname__ = name
    answer.__module__, answer.__doc__ = module, f"Always {value!r}."
    answer.__annotations__ = {} if value is None else {"return": type(value)}
    return answer
