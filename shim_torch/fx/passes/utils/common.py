"""``torch.fx.passes.utils.common``: a part of a module's graph as a module of its own."""

from __future__ import annotations

from typing import Any

from shim_torch._missing import asked_of as _asked_of
from shim_torch.fx.graph import Graph
from shim_torch.fx.graph_module import GraphModule
from shim_torch.nn.modules.module import Module

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(Module):
    """Only holds the modules of a dict."""

    def __init__(self, d: dict[str, Any]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(
    gm: GraphModule, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[GraphModule, dict[str, str]]:
    """A GraphModule of a graph whose modules and tensors are ``gm``'s, under the same paths.

    Returns it with ``{path in gm: path in a module that holds it as comp_name}``.
    """
    root = HolderModule({})
    paths: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        source: Any = gm
        into: Any = root
        *parents, leaf = node.target.split(".")
        for name in parents:
            if not hasattr(into, name):
                into.add_module(name, HolderModule({}))
            into, source = getattr(into, name), getattr(source, name)
        setattr(into, leaf, getattr(source, leaf))
        paths[node.target] = f"{comp_name}.{node.target}" if comp_name else node.target
    return GraphModule(root, subgraph, class_name), paths


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs do the same, names aside."""
    from shim_torch.fx.passes.utils.matcher_utils import SubgraphMatcher

    return len(SubgraphMatcher(left, match_output=True, match_placeholder=True).match(right)) > 0


__getattr__ = _asked_of(__name__)
