"""What was registered for an operator beside its kernels: ``torch._library.simple_registry.singleton.find(name)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shim_torch._impl.native import _core


@dataclass
class Kernel:
    """A function that answers for fake tensors, and ``file:line`` where it is defined."""

    func: Callable[..., Any]
    source: str


class FakeImplHolder:
    """The function that ``register_fake`` gave the operator, if any."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname

    @property
    def kernel(self) -> Kernel | None:
        """None where the operator has none."""
        name, _, overload = self.qualname.partition(".")
        if overload == "default":
            overload = ""
        function = _core.kernels_of(name, overload).get("Meta") if overload in _core.operator_overloads(name) else None
        if function is None:
            return None
        code = inspect.unwrap(function).__code__
        return Kernel(function, f"{code.co_filename}:{code.co_firstlineno}")


class SimpleOperatorEntry:
    """The registrations of one operator."""

    def __init__(self, qualname: str) -> None:
        self.qualname, self.fake_impl = qualname, FakeImplHolder(qualname)

    @property
    def abstract_impl(self) -> FakeImplHolder:
        """``fake_impl`` by its older name."""
        return self.fake_impl


class SimpleLibraryRegistry:
    """Finds the registrations of an operator by its qualified name."""

    def find(self, qualname: str) -> SimpleOperatorEntry:
        """The entry of ``ns::name`` or ``ns::name.overload``."""
        return SimpleOperatorEntry(qualname)


singleton = SimpleLibraryRegistry()
