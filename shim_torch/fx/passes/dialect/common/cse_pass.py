"""``torch.fx.passes.dialect.common.cse_pass``: equal steps made one."""

from __future__ import annotations

from typing import Any

from shim_torch._missing import asked_of as _asked_of
from shim_torch.fx.graph import Graph
from shim_torch.fx.graph_module import GraphModule
from shim_torch.fx.node import Node
from shim_torch.fx.passes.infra.pass_base import PassBase, PassResult
from shim_torch.utils import _pytree

__all__ = ["CSEPass", "get_CSE_banned_ops"]
_RANDOM = """dropout _fused_dropout _standard_gamma bernoulli multinomial native_dropout normal poisson binomial rrelu
rand_like rand randint randn randperm"""
_IN_PLACE = "add_ sub_ mul_ div_ pow_ lerp_ relu_ sigmoid_ tanh_"


def get_CSE_banned_ops() -> set[Any]:
    """The operators whose calls are never the same: they draw numbers or write to their input."""
    import shim_torch

    return {getattr(shim_torch.ops.aten, name) for name in f"{_RANDOM} {_IN_PLACE}".split()}


class CSEPass(PassBase):
    """Leaves of calls with the same function and arguments the first only.

    banned_ops: operators (packets) whose calls all stay.
    """

    def __init__(self, banned_ops: set[Any] | None = None) -> None:
        self.banned_ops = set() if banned_ops is None else banned_ops
        super().__init__()

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        graph = Graph()
        made: dict[Node, Node] = {}
        first: dict[Any, Node] = {}
        for node in graph_module.graph.nodes:
            packet = getattr(node.target, "overloadpacket", node.target)
            if node.op in ("placeholder", "output", "get_attr") or packet in self.banned_ops:
                made[node] = graph.node_copy(node, made.__getitem__)
                continue
            leaves, spec = _pytree.tree_flatten((node.args, node.kwargs))
            values = tuple(made[x] if isinstance(x, Node) else x for x in leaves)
            key = (node.target, str(spec), tuple((type(x), x) for x in values))
            if key in first:
                modified = True
                made[node] = first[key]
                continue
            made[node] = first[key] = graph.node_copy(node, made.__getitem__)
        result = GraphModule(graph_module, graph)
        result.graph.set_codegen(graph_module.graph._codegen)
        result.recompile()
        return PassResult(result, modified)


__getattr__ = _asked_of(__name__)
