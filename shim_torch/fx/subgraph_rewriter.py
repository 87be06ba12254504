"""``torch.fx.subgraph_rewriter``: parts of a graph that look like a pattern, replaced."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

from shim_torch._missing import asked_of as _asked_of
from shim_torch.fx._symbolic_trace import symbolic_trace
from shim_torch.fx.graph import Graph
from shim_torch.fx.graph_module import GraphModule
from shim_torch.fx.node import Node, map_arg
from shim_torch.nn.modules.module import Module

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """Where a pattern was found: the node that gives its result, and the node of each of the pattern's."""

    anchor: Node
    nodes_map: dict[Node, Node]


class InternalMatch(NamedTuple):
    """A match as filters get it."""

    anchors: list[Node]
    nodes_map: dict[Node, Node]
    placeholder_nodes: list[Node]
    returning_nodes: list[Node]


class ReplacedPatterns(NamedTuple):
    """Where a pattern was found, and the nodes that came in its place."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def _graph_of(source: Any) -> Graph:
    if isinstance(source, Graph):
        return source
    return source.graph if isinstance(source, GraphModule) else symbolic_trace(source).graph


class _Matcher:
    def __init__(self, pattern: Graph, ignore_literals: bool = False) -> None:
        self.pattern, self.ignore_literals = pattern, ignore_literals
        found: list[Node] = []
        map_arg(pattern.output_node().args, lambda n: found.append(n) or n)  # type: ignore[func-returns-value]
        self.returning = found
        self.placeholders = [n for n in pattern.nodes if n.op == "placeholder"]

    def _same(self, a: Any, b: Any, made: dict[Node, Node]) -> bool:
        """Whether arguments of the pattern's and the graph's nodes are alike."""
        if isinstance(a, Node):
            if a.op == "placeholder" and self.ignore_literals and not isinstance(b, Node):
                return made.setdefault(a, b) == b
            return isinstance(b, Node) and self.match(a, b, made)
        if isinstance(b, Node):
            return False
        if isinstance(a, (list, tuple)):
            return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(lambda x, y: self._same(x, y, made), a, b))
        if isinstance(a, dict):
            return isinstance(b, dict) and a.keys() == b.keys() and all(self._same(v, b[k], made) for k, v in a.items())
        return self.ignore_literals or type(a) is type(b) and bool(a == b)

    def match(self, p: Node, g: Node, made: dict[Node, Node]) -> bool:
        """Whether the pattern's node ``p`` may be the graph's ``g``; ``made`` takes the pairs up."""
        if p in made:
            return made[p] is g
        if p.op != "placeholder" and (p.op != g.op or p.target != g.target or g in made.values()):
            return False
        made[p] = g
        if p.op == "placeholder":
            return True
        return self._same(p.args, g.args, made) and self._same(p.kwargs, g.kwargs, made)

    def all(self, graph: Graph) -> list[InternalMatch]:
        """The matches in the order of the graph, none of which share a node."""
        found: list[InternalMatch] = []
        taken: set[Node] = set()
        for node in reversed(graph.nodes):
            made: dict[Node, Node] = {}
            if not self.returning or not self.match(self.returning[0], node, made):
                continue
            if not self._rest(graph, made):
                continue
            inner = {g for p, g in made.items() if p.op != "placeholder"}
            if inner & taken or not self._closed(made, inner):
                continue
            taken |= inner
            ends = [made[n] for n in self.returning]
            inputs = [made[n] for n in self.placeholders if n in made]
            found.append(InternalMatch(self.returning[:1], made, inputs, ends))
        return found[::-1]

    def _rest(self, graph: Graph, made: dict[Node, Node]) -> bool:
        """Finds the pattern's further results."""
        for p in self.returning[1:]:
            if p in made:
                continue
            for g in graph.nodes:
                trial = dict(made)
                if self.match(p, g, trial):
                    made.update(trial)
                    break
            else:
                return False
        return True

    def _closed(self, made: dict[Node, Node], inner: set[Node]) -> bool:
        """Whether nothing else takes what the part computes on its way."""
        ends = {made[n] for n in self.returning}
        return all(user in inner for g in inner - ends for user in g.users)


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
    matches = _Matcher(pattern_graph, ignore_literals).all(gm.graph)
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


def _replaced(gm: GraphModule, pattern: Graph, graph: Graph, match: InternalMatch, renamed: dict[Node, Node]) -> ReplacedPatterns:
    nodes_map = {p: renamed.get(g, g) if isinstance(g, Node) else g for p, g in match.nodes_map.items()}
    pattern_inputs = [n for n in pattern.nodes if n.op == "placeholder"]
    inputs = [n for n in graph.nodes if n.op == "placeholder"]
    if len(pattern_inputs) != len(inputs):
        raise AssertionError(f"expected the replacement to take {len(pattern_inputs)} inputs as the pattern, got {len(inputs)}")
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

__getattr__ = _asked_of(__name__)
