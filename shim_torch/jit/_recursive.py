"""``torch.jit._recursive``: the types of scripted modules, of which there are none."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface.missing import asked_of as _asked_of


class ConcreteTypeStore:
    """The types that scripting found so far."""

    def __init__(self) -> None:
        self.type_store: dict[type, list[Any]] = {}
        self.methods_compiled: set[Any] = set()


concrete_type_store = ConcreteTypeStore()
__getattr__ = _asked_of(__name__)
