"""``torch.fx.passes.fake_tensor_prop``: what each node of a graph gives, as fake tensors."""

from __future__ import annotations

from typing import Any

from shim_torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from shim_torch.fx.interpreter import Interpreter
from shim_torch.fx.node import Node, map_aggregate

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """Runs a graph on tensors without data; ``node.meta["val"]`` is what a node gives.

    mode: the fake mode that operators run in; a new one where there is none.
    """

    def __init__(self, module: Any, mode: FakeTensorMode | None = None) -> None:
        super().__init__(module)
        self._mode = FakeTensorMode() if mode is None else mode

    def run_node(self, n: Node) -> Any:
        """The node's result, which is noted."""
        from native import _core

        result = super().run_node(n)

        def value(x: Any) -> Any:
            if isinstance(x, _core.TensorBase):
                fake = x if isinstance(x, FakeTensor) else self._mode.from_tensor(x, static_shapes=True)
                return fake.detach()
            return x if isinstance(x, (int, float, bool)) else None

        meta = map_aggregate(result, value)
        if meta is not None:
            n.meta["val"] = meta
        return result

    def propagate(self, *args: Any) -> Any:
        """The graph's result for inputs like ``args``, real tensors or fake ones."""
        from native import _core

        fakes = [self._mode.from_tensor(a) if isinstance(a, _core.TensorBase) else a for a in args]
        return self.propagate_dont_convert_inputs(*fakes)

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        """The graph's result for these inputs as they are."""
        with self._mode:
            return super().run(*args)
