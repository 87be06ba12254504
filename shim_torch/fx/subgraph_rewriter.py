"""``torch.fx.subgraph_rewriter``: parts of a graph that look like a pattern, replaced."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

from shim_torch.fx._symbolic_trace import symbolic_trace
from shim_torch.fx.graph import Graph
from shim_torch.fx.graph_module import GraphModule
from shim_torch.fx.node import Node
from shim_torch.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from shim_torch.nn.modules.module import Module

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """Where a pattern was found: the node that gives its result, and the node of each of the pattern's."""

    anchor: Node
    nodes_map: dict[Node, Node]


class ReplacedPatterns(NamedTuple):
    """Where a pattern was found, and the nodes that came in its place."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def _graph_of(source: Any) -> Graph:
    if isinstance(source, Graph):
        return source
    return source.graph if isinstance(source, GraphModule) else symbolic_trace(source).graph


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replaces all parts of a module's graph that do what ``pattern`` does by what ``replacement`` does.

    Both are functions or modules with the same inputs. Parts do not overlap; the module is written anew.
    """
    return [Match(r.anchor, r.nodes_map) for r in replace_pattern_with_filters(gm, pattern, replacement)]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[Callable[..., bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[..., Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """As replace_pattern, for the matches that all filters ``f(match, graph, pattern graph)`` agree to."""
    pattern_graph = _graph_of(pattern)
    common = None if replacement is None else _graph_of(replacement)
    matches = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals).match(gm.graph, node_name_match)
    matches = [m for m in matches if all(f(m, gm.graph, pattern_graph) for f in match_filters or ())]
    renamed: dict[Node, Node] = {}  # nodes that earlier replacements took away -> what came for them
    done = []
    for match in matches:
        graph = common if common is not None else replacement_callback(match, gm.graph, pattern_graph)  # type: ignore[misc]
        if graph is None:
            raise AssertionError("Must provide either replacement GraphModule or replacement callback")
        done.append(_replaced(gm, pattern_graph, graph, match, renamed))
    if isinstance(replacement, Module):
        _bring_attributes(gm, replacement)
    gm.recompile()
    return done


def _replaced(
    gm: GraphModule, pattern: Graph, graph: Graph, match: InternalMatch, renamed: dict[Node, Node]
) -> ReplacedPatterns:
    nodes_map = {p: renamed.get(g, g) if isinstance(g, Node) else g for p, g in match.nodes_map.items()}
    pattern_inputs = [n for n in pattern.nodes if n.op == "placeholder"]
    inputs = [n for n in graph.nodes if n.op == "placeholder"]
    if len(pattern_inputs) != len(inputs):
        raise AssertionError(
            f"expected the replacement to take {len(pattern_inputs)} inputs as the pattern, got {len(inputs)}"
        )
    values: dict[Node, Any] = {r: nodes_map[p] for p, r in zip(pattern_inputs, inputs, strict=True) if p in nodes_map}
    given = set(values)
    ends = match.returning_nodes
    users = [user for n in ends for user in n.users]
    first = min(users, key=lambda n: _position(gm.graph, n)) if users else None
    with gm.graph.inserting_before(first) if first is not None else gm.graph.inserting_after(ends[0]):
        result = gm.graph.graph_copy(graph, values)
    made = [v for r, v in values.items() if r not in given]
    outs = list(result) if isinstance(result, (tuple, list)) else [result]
    if len(outs) != len(ends):
        raise AssertionError(f"expected the replacement to give {len(ends)} results as the pattern, got {len(outs)}")
    own = set(made)
    for old, new in zip(ends, outs, strict=True):
        old.replace_all_uses_with(new, delete_user_cb=lambda user: user not in own)
        renamed[old] = new
    for p in reversed(list(pattern.nodes)):
        node = nodes_map.get(p)
        if p.op not in ("placeholder", "output") and node is not None and not node.users:
            gm.graph.erase_node(node)
    return ReplacedPatterns(match.anchors[0], nodes_map, made)


def _position(graph: Graph, node: Node) -> int:
    return next(i for i, n in enumerate(graph.nodes) if n is node)


def _bring_attributes(gm: GraphModule, replacement: Module) -> None:
    """The modules and tensors that the replacement refers to become the module's."""
    from shim_torch.fx.graph_module import _assign

    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op in ("call_module", "get_attr") and not _has(gm, node.target):
            where: Any = replacement
            for part in node.target.split("."):
                where = getattr(where, part)
            _assign(copy.deepcopy(where), gm, node.target)
    gm.graph.lint()


def _has(module: Any, path: str) -> bool:
    for part in path.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True
