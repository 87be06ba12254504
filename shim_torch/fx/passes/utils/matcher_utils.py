"""``torch.fx.passes.utils.matcher_utils``: where in a graph a pattern is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from shim_torch._ops import OpOverload
from shim_torch.fx.graph import Graph
from shim_torch.fx.node import Node

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
            self.anchors,
            self.nodes_map.copy(),
            self.placeholder_nodes.copy(),
            self.returning_nodes.copy(),
            dict(self.name_node_map),
        )


@dataclass(eq=False, repr=False)
class SubgraphMatcher:
    """Looks for a pattern in graphs.

    match_output: the result must be the graph's; match_placeholder: inputs match inputs only;
    remove_overlapping_matches: matches share no computing node; ignore_literals: numbers need not be equal.
    Errors: ValueError for a pattern without nodes, AssertionError for one with values that nothing reads.
    """

    pattern: Graph
    match_output: bool = False
    match_placeholder: bool = False
    remove_overlapping_matches: bool = True
    ignore_literals: bool = False

    def __post_init__(self) -> None:
        if not len(self.pattern.nodes):
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        *steps, output = self.pattern.nodes
        if not all(node.users for node in steps):
            raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        results = output.all_input_nodes
        self.pattern_placeholder_nodes = self.pattern.find_nodes(op="placeholder")
        self.pattern_returning_nodes: list[Node] = results
        self.pattern_anchors: list[Node] = [output] if self.match_output else [n for n in results if len(n.users) == 1]

    def _alike(self, own: Node, given: Node, part_of_name: str) -> bool:
        """Whether the graph's ``given`` does what the pattern's ``own`` does, what they read aside."""
        if own.op == "placeholder" and not self.match_placeholder or part_of_name and part_of_name in given.name:
            return True
        return own.op == given.op and _SAME.get(own.op, _same_target)(own, given)

    def _unify(self, own: Any, given: Any, found: dict[Node, Any], part_of_name: str) -> bool:
        """Whether the pattern's value may be the graph's, with all that they read; ``found`` takes the pairs of nodes up."""
        todo = [(own, given)]
        while todo:
            a, b = todo.pop()
            if isinstance(a, Node) and isinstance(b, Node):
                pairs: list[tuple[Any, Any]] | None
                if a in found or any(b is g for g in found.values()):
                    pairs = [] if found.get(a) is b else None
                elif self._alike(a, b, part_of_name):
                    found[a] = b
                    pairs = [] if a.op == "placeholder" else _pairs(_arguments(a, b))
                else:
                    pairs = None
            elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
                pairs = _pairs((a, b))
            else:
                pairs = [] if _same_literal(a, b, found) or self.ignore_literals else None
            if pairs is None:
                return False
            todo.extend(reversed(pairs))
        return True

    def _together(
        self, places: list[tuple[Node, list[Node]]], found: dict[Node, Any], name: str
    ) -> Iterator[dict[Node, Any]]:
        """The ways to find all the last nodes, each beginning from what is found."""
        if not places:
            yield found
            return
        (anchor, candidates), *rest = places
        for candidate in candidates:
            trial = dict(found)
            if self._unify(anchor, candidate, trial, name):
                yield from self._together(rest, trial, name)

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The matches in the order of the graph: each whole, and readable as one step.

        node_name_match: nodes with this in their names match whatever they do.
        """
        order = {node: i for i, node in enumerate(graph.nodes)}
        taken: set[Node] = set()
        matches = []
        places = [(a, [n for n in graph.nodes if self._alike(a, n, node_name_match)]) for a in self.pattern_anchors]
        for found in self._together(places, {}, node_name_match) if places else ():
            ends = [found[p] for p in self.pattern_returning_nodes]
            steps = {g for p, g in found.items() if p.op not in ("placeholder", "output") and isinstance(g, Node)}
            if not _is_one_step(steps, ends, order) or self.remove_overlapping_matches and not steps.isdisjoint(taken):
                continue
            taken |= steps
            inputs = [found[p] for p in self.pattern_placeholder_nodes if p in found]
            matches.append(InternalMatch(self.pattern_anchors, found, inputs, ends))
        return matches


def _is_one_step(steps: set[Node], ends: list[Node], order: dict[Node, int]) -> bool:
    """Whether nodes can be computed together: others read only ``ends`` of them, and give none of them anything."""
    last = max((order[node] for node in steps), default=0)
    seen: set[Node] = set()
    readers = {user for node in steps for user in node.users} - steps
    if any(not steps.issuperset(node.users) for node in steps.difference(ends)):
        return False
    while readers:
        seen |= readers
        readers = {user for node in readers if order[node] < last for user in node.users} - seen
    return seen.isdisjoint(steps)


def _same_target(own: Node, given: Node) -> bool:
    return bool(own.target == given.target)


def _same_type_of_attribute(own: Node, given: Node) -> bool:
    kinds = []
    for node in (own, given):
        value: Any = node.graph.owning_module
        for part in str(node.target).split("."):
            value = getattr(value, part, None)
        kinds.append(type(value))
    return kinds[0] is kinds[1] is not type(None)


_SAME = {"placeholder": lambda *_: True, "output": lambda *_: True, "get_attr": _same_type_of_attribute}


def _same_literal(own: Any, given: Any, found: dict[Node, Any]) -> bool:
    """Numbers and the like: equal, or taken by one of the pattern's inputs."""
    if isinstance(own, Node):
        return own.op == "placeholder" and bool(found.setdefault(own, given) == given)
    return type(own) is type(given) and bool(own == given)


def _pairs(arguments: Any) -> list[tuple[Any, Any]] | None:
    """The arguments one by one beside each other; None where there are more on one side."""
    if arguments is None or len(arguments[0]) != len(arguments[1]):
        return None
    return list(zip(*arguments, strict=True))


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
