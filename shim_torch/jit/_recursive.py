"""``torch.jit._recursive``: the types of scripted modules, of which there are none."""

from __future__ import annotations

from typing import Any


class ConcreteTypeStore:
    """The types that scripting found so far."""

    def __init__(self) -> None:
        self.type_store: dict[type, list[Any]] = {}
        self.methods_compiled: set[Any] = set()


concrete_type_store = ConcreteTypeStore()
