"""``torch.fx.passes.utils.matcher_with_name_node_map_utils``: patterns that name some of their values."""

from __future__ import annotations

from typing import Any

from shim_torch.fx.graph import Graph
from shim_torch.fx.graph_module import GraphModule
from shim_torch.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from shim_torch.utils import _pytree

__all__ = ["SubgraphMatcherWithNameNodeMap"]


def _split_to_graph_and_name_node_map(gm: GraphModule) -> tuple[GraphModule, dict[str, Any]]:
    """A module of the results only, and the dict that its function gave as the last of them."""
    names: dict[str, Any] = {}
    for node in gm.graph.nodes:
        if node.op != "output":
            continue
        if getattr(gm, "_out_spec", None) is None:
            output, spec = node.args[0], None
        else:
            output, spec = _pytree.tree_unflatten(node.args[0], gm._out_spec), gm._out_spec
        if not isinstance(output, tuple):
            raise AssertionError("Expecting the pattern graph to return a tuple")
        if len(output) < 2:
            raise AssertionError("Expecting the pattern graph to have at least two outputs")
        *results, names = output
        if not isinstance(names, dict):
            raise AssertionError(
                f"Expecting the input graph to have a dict output as the last element, got {type(names)}"
            )
        flat, out_spec = _pytree.tree_flatten(results)
        node.args = (flat,) if spec is not None else (tuple(results),)
        if spec is not None:
            gm._out_spec = out_spec
            codegen: Any = gm.graph._codegen
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
    gm.recompile()
    return gm, names


class SubgraphMatcherWithNameNodeMap(SubgraphMatcher):
    """A matcher of a pattern whose function gives (*results, {name: value}): matches say which node each name is."""

    def __init__(
        self,
        pattern_gm: GraphModule,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        pattern_gm, self.name_node_map = _split_to_graph_and_name_node_map(pattern_gm)
        self.pattern_gm = pattern_gm
        super().__init__(pattern_gm.graph, match_output, match_placeholder, remove_overlapping_matches, ignore_literals)

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The matches, each with its ``name_node_map``."""
        matches = super().match(graph, node_name_match)
        for match in matches:
            match.name_node_map = {name: match.nodes_map[p] for name, p in self.name_node_map.items()}
        return matches
