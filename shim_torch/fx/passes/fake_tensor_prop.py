"""``torch.fx.passes.fake_tensor_prop``."""

from __future__ import annotations

from typing import Any

from shim_torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from shim_torch._tensor import Tensor
from shim_torch.fx.graph_module import GraphModule
from shim_torch.fx.interpreter import Interpreter
from shim_torch.fx.node import Node, map_aggregate

__all__ = ["FakeTensorProp"]


def _noted(value: Any) -> Any:
    return value.detach() if isinstance(value, FakeTensor) else value


class FakeTensorProp(Interpreter):
    """Runs a graph with fake tensors and keeps what each node gives, without its gradient, in ``meta["val"]``."""

    def __init__(self, module: GraphModule, mode: FakeTensorMode | None = None) -> None:
        super().__init__(module)
        self._mode = mode if mode is not None else FakeTensorMode()

    def run_node(self, n: Node) -> Any:
        """Runs one node and notes its result."""
        result = super().run_node(n)
        if result is not None:
            n.meta["val"] = map_aggregate(result, _noted)
        return result

    def propagate(self, *args: Any) -> Any:
        """Runs the graph; plain tensors among the arguments become fake ones of this mode."""
        fake = (self._mode.from_tensor(a) if isinstance(a, Tensor) else a for a in args)
        return self.propagate_dont_convert_inputs(*fake)

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        """Runs the graph with arguments that are fake already."""
        with self._mode:
            return self.run(*args)
