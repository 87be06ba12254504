"""Adapters: one module a library family, for what an import hook alone cannot give it.

An adapter is the module ``shim_torch_proxy.adapters.<family>`` with

- ``install(stack: contextlib.ExitStack) -> None``: called when something in scope begins to import the family (or at once, where it is imported
  already). Every change is pushed on ``stack`` with its undo; closing the stack uninstalls.
- ``AFTER: dict[str, Callable[[ModuleType], None]]`` (optional): a module's name and what is done right after it was
  executed, while the proxy is enabled.
- ``report() -> list[str]`` (optional): the mends that ``python -m compat doctor`` lists, a line each.

It imports the library inside functions only (the modules that a library's own plugin protocol loads excepted), and
never another adapter.
"""

from __future__ import annotations

import importlib.util
from types import ModuleType

from shim_torch_proxy import requirements

FAMILIES = ("triton", "tilelang", "tvm_ffi")

# The distributions of kernel languages: a package that requires one takes it in, and so does code in scope that imports it.
LANGUAGES = {"triton": "triton", "tilelang": "tilelang", "apache-tvm-ffi": "tvm_ffi"}


def implied_by(package: str) -> tuple[str, ...]:
    """The packages that must agree with ``package`` about torch, itself not included: kernel languages and requirements."""
    required = requirements.distributions(package)
    languages = (family for name, family in LANGUAGES.items() if name in required and family != package)
    return (*languages, *requirements.needed_by(package))


def closure(names: frozenset[str] | None) -> frozenset[str] | None:
    """``names`` and all that they imply; None (the whole process) is all there is."""
    if names is None:
        return None
    found, todo = set(names), list(names)
    while todo:
        for name in implied_by(todo.pop()):
            if name not in found:
                found.add(name)
                todo.append(name)
    return frozenset(found)


def wanted(names: frozenset[str] | None) -> tuple[str, ...]:
    """The families whose adapters a scope (already closed) needs."""
    return FAMILIES if names is None else tuple(f for f in FAMILIES if any(n.partition(".")[0] == f for n in names))


def load(family: str) -> ModuleType | None:
    """The adapter of ``family``, or None when there is none."""
    name = f"{__name__}.{family}"
    return importlib.import_module(name) if importlib.util.find_spec(name) is not None else None
