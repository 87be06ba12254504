"""``torch._dynamo.testing``: backends that count what they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class CompileCounter:
    """A backend that runs its graphs as they are: ``frame_count`` of them, of ``op_count`` calls together."""

    def __init__(self) -> None:
        self.clear()

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        """The graph's own function."""
        self.frame_count += 1
        self.op_count += sum(node.op.startswith("call") for node in gm.graph.nodes)
        return gm.forward  # type: ignore[no-any-return]

    def clear(self) -> None:
        """Counts from zero again."""
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend(CompileCounter):
    """The same, with a backend, by its name or a function, that gets the graphs; ``graphs`` keeps them."""

    def __init__(self, backend: str | Callable[..., Any]) -> None:
        super().__init__()
        self.backend = backend

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        """What the backend makes of the graph."""
        from shim_torch._dynamo import lookup_backend

        super().__call__(gm, example_inputs)
        self.graphs.append(gm)
        backend = lookup_backend(self.backend) if isinstance(self.backend, str) else self.backend
        return backend(gm, example_inputs)  # type: ignore[no-any-return]

    def clear(self) -> None:
        """Counts from zero again, and forgets the graphs."""
        super().clear()
        self.graphs: list[Any] = []
