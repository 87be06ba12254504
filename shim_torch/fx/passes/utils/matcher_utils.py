"""``torch.fx.passes.utils.matcher_utils``: where in a graph a pattern is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from shim_torch._missing import asked_of as _asked_of
from shim_torch._ops import OpOverload
from shim_torch.fx.graph import Graph
from shim_torch.fx.node import Node
from shim_torch.fx.passes.utils.fuser_utils import validate_partition

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One match: the pattern's last nodes, the graph's node of each of the pattern's, of its inputs and of its results."""

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Any] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            self.anchors, self.nodes_map.copy(), self.placeholder_nodes.copy(), self.returning_nodes.copy(), dict(self.name_node_map)
        )


class SubgraphMatcher:
    """Looks for a pattern in graphs.

    match_output: the result must be the graph's; match_placeholder: inputs match inputs only;
    remove_overlapping_matches: matches share no computing node; ignore_literals: numbers need not be equal.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if not len(pattern.nodes):
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.users:
                raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        output = pattern.output_node()
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        self.pattern_returning_nodes: list[Node] = output.all_input_nodes
        ends = [n for n in self.pattern_returning_nodes if len(n.users) == 1]
        self.pattern_anchors: list[Node] = [output] if match_output else ends

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        found = []
        for node in (pn, gn):
            value: Any = node.graph.owning_module
            for part in str(node.target).split("."):
                value = getattr(value, part, None)
            found.append(value)
        return found[0] is not None and type(found[0]) is type(found[1])

    def _nodes_are_equal(self, pn: Node, gn: Node, node_name_match: str = "") -> bool:
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if node_name_match and node_name_match in gn.name:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        return self._match_attributes(pn, gn) if pn.op == "get_attr" else bool(pn.target == gn.target)

    def _is_contained(self, nodes_map: dict[Node, Any]) -> bool:
        """Whether only the match reads what it computes on its way to its results."""
        inner = {p: g for p, g in nodes_map.items() if p.op != "placeholder" and isinstance(g, Node)}
        return all(
            user in nodes_map.values()
            for p, g in inner.items()
            if p not in self.pattern_returning_nodes
            for user in g.users
        )

    def _remove_overlapping_matches(self, matches: list[InternalMatch]) -> list[InternalMatch]:
        taken: set[Node] = set()
        kept = []
        for match in matches:
            own = {g for p, g in match.nodes_map.items() if p.op not in ("placeholder", "output")}
            if own.isdisjoint(taken):
                kept.append(match)
                taken |= own
        return kept

    def _match_literals(self, pn: Any, gn: Any, found: dict[Node, Any]) -> bool:
        if isinstance(pn, Node):
            return pn.op == "placeholder" and found.setdefault(pn, gn) == gn
        return not isinstance(gn, Node) and type(gn) is type(pn) and bool(gn == pn)

    def _match_nodes(self, pn: Node, gn: Node, found: dict[Node, Any], node_name_match: str = "") -> bool:
        """Whether ``gn`` may be the pattern's ``pn``, with what they read; ``found`` takes the pairs up."""
        if pn in found:
            return bool(found[pn] is gn)
        if any(g is gn for g in found.values()) or not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        found[pn] = gn
        if pn.op == "placeholder":
            return True
        pairs = _arguments(pn, gn)
        return pairs is not None and self._match_all(*pairs, found)

    def _match_all(self, own: Any, given: Any, found: dict[Node, Any]) -> bool:
        if len(own) != len(given):
            return False
        for a, b in zip(own, given, strict=True):
            if isinstance(a, Node) and isinstance(b, Node):
                same = self._match_nodes(a, b, found)
            elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
                same = self._match_all(a, b, found)
            else:
                same = self._match_literals(a, b, found) or self.ignore_literals
            if not same:
                return False
        return True

    def _together(self, candidates: list[tuple[Node, list[Node]]], found: dict[Node, Any]) -> Iterator[dict[Node, Any]]:
        """The ways to find all the last nodes, each beginning from what is found."""
        if not candidates:
            yield found
            return
        (anchor, places), *rest = candidates
        for place in places:
            trial = dict(found)
            if self._match_nodes(anchor, place, trial):
                yield from self._together(rest, trial)

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The matches in the order of the graph: each whole, and readable as one step."""
        candidates = []
        for anchor in self.pattern_anchors:
            places = [n for n in graph.nodes if self._nodes_are_equal(anchor, n, node_name_match)]
            if not places:
                return []
            candidates.append((anchor, places))
        if not candidates:
            return []
        matches = []
        for found in self._together(candidates, {}):
            inside = [g for p, g in found.items() if p.op not in ("placeholder", "output") and isinstance(g, Node)]
            if not self._is_contained(found) or not validate_partition(inside):
                continue
            inputs = [found[p] for p in self.pattern_placeholder_nodes if p in found]
            ends = [found[p] for p in self.pattern_returning_nodes]
            matches.append(InternalMatch(self.pattern_anchors, found, inputs, ends))
        return self._remove_overlapping_matches(matches) if self.remove_overlapping_matches else matches


def _arguments(pn: Node, gn: Node) -> tuple[list[Any], list[Any]] | None:
    """Both nodes' arguments in one order; an operator's with its defaults where they are given differently."""
    if len(pn.args) == len(gn.args) and list(pn.kwargs) == list(gn.kwargs):
        return [*pn.args, *pn.kwargs.values()], [*gn.args, *gn.kwargs.values()]
    if pn.op != "call_function" or not isinstance(pn.target, OpOverload):
        return None

    def whole(node: Node) -> list[Any]:
        values = []
        for i, argument in enumerate(pn.target._schema.arguments):
            if argument.name in node.kwargs:
                values.append(node.kwargs[argument.name])
            elif not argument.kwarg_only and i < len(node.args):
                values.append(node.args[i])
            else:
                values.append(argument.default_value)
        return values

    return whole(pn), whole(gn)


__getattr__ = _asked_of(__name__)
