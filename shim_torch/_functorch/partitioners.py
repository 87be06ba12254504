"""``torch._functorch.partitioners``: a graph of forward and backward becomes two, and what the first saves for the second."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from shim_torch._impl.fx.minimum_cut import INFINITE, SINK, SOURCE, Network
from shim_torch._impl.native import _core
from shim_torch.fx.graph import Graph
from shim_torch.fx.graph_module import GraphModule
from shim_torch.fx.node import Node
from shim_torch.utils._pytree import tree_leaves

__all__ = ["default_partition", "min_cut_rematerialization_partition"]


def _nodes(value: Any) -> list[Node]:
    return [x for x in tree_leaves(value) if isinstance(x, Node)]


def _results(module: GraphModule) -> list[Any]:
    """What the graph gives, flat, None where it gives none."""
    output = next(iter(reversed(module.graph.nodes)))
    return tree_leaves(output.args[0], is_leaf=lambda x: x is None)


def _ancestors(wanted: Iterable[Node], given: Iterable[Node] = ()) -> set[Node]:
    """The nodes that compute those, ending at those that are given."""
    found, stop = set(), set(given)
    waiting = list(wanted)
    while waiting:
        node = waiting.pop()
        if node not in found and node not in stop:
            found.add(node)
            waiting.extend(node.all_input_nodes)
    return found


def _writes(module: GraphModule) -> list[Node]:
    """Nodes that write into an input: steps of forward, whoever uses their results."""
    inputs = {n for n in module.graph.nodes if n.op == "placeholder"}
    return [n for n in module.graph.nodes if n.target is _copy() and n.args[0] in inputs]


def _copy() -> Any:
    from shim_torch import ops

    return ops.aten.copy_.default


def _tangents(module: GraphModule) -> list[Node]:
    return [n for n in module.graph.nodes if n.op == "placeholder" and n.name.startswith("tangents")]


def _holds_tensor(node: Node) -> bool:
    return isinstance(node.meta.get("val"), _core.TensorBase)


def _extract(module: GraphModule, inputs: list[Node], outputs: list[Any], steps: set[Node], name: str) -> GraphModule:
    """The part of the graph that computes ``outputs`` from ``inputs`` by ``steps``, in the order it had."""
    graph = Graph()
    made: dict[Node, Node] = {}
    for node in inputs:
        made[node] = graph.placeholder(node.name)
        made[node].meta = dict(node.meta)
    for node in module.graph.nodes:
        if node in steps and node not in made:
            made[node] = graph.node_copy(node, made.__getitem__)
    graph.output(tuple(made[x] if isinstance(x, Node) else x for x in outputs))
    return GraphModule(module, graph, name)


def _split(module: GraphModule, count: int, forward: set[Node], saved: list[Node]) -> tuple[GraphModule, GraphModule]:
    """Two graphs: forward gives its ``count`` results and the saved values, backward takes those and the tangents."""
    primals = [n for n in module.graph.nodes if n.op == "placeholder" and not n.name.startswith("tangents")]
    results = _results(module)
    backward = _ancestors(_nodes(results[count:]), saved)
    return (
        _extract(module, primals, [*results[:count], *saved], forward, "GraphModule"),
        _extract(module, [*saved, *_tangents(module)], results[count:], backward, "GraphModule"),
    )


def default_partition(
    joint_module: GraphModule,
    _joint_inputs: Any,
    *,
    num_fwd_outputs: int,
    static_lifetime_input_indices: list[int] | None = None,
    static_lifetime_input_nodes: Any = None,
) -> tuple[GraphModule, GraphModule]:
    """The graphs of forward and backward: what forward computes for its own results, backward does not compute again."""
    results = _results(joint_module)
    forward = _ancestors([*_nodes(results[:num_fwd_outputs]), *_writes(joint_module)])
    forward |= {n for n in joint_module.graph.nodes if n.op == "placeholder" and not n.name.startswith("tangents")}
    backward = _ancestors(_nodes(results[num_fwd_outputs:]), forward)
    # A tuple is not saved: its items are taken out in forward.
    forward |= {n for n in backward if n.target is operator.getitem and n.args[0] in forward}
    wanted = {i for n in backward - forward for i in n.all_input_nodes if i in forward}
    wanted |= {n for n in _nodes(results[num_fwd_outputs:]) if n in forward}
    return _split(joint_module, num_fwd_outputs, forward, [n for n in joint_module.graph.nodes if n in wanted])


def _bytes(node: Node) -> int:
    value = node.meta["val"]
    return max(1, int(value.numel()) * int(value.element_size()))


def _recomputable(node: Node) -> bool:
    """Whether backward may run the step again: one of single elements, or a view."""
    from shim_torch import Tag

    tags = getattr(node.target, "tags", ())
    if node.target is operator.getitem or Tag.nondeterministic_seeded in tags:
        return False
    return Tag.pointwise in tags or bool(getattr(node.target, "is_view", False))


def _network(forward: set[Node], needed: set[Node], written: set[Node]) -> Network:
    """Points (node, "in") and (node, "out"): the edge between them costs what saving the value costs.

    What reads an input that is written is not run again, for it would read what was written.
    """
    network = Network()
    for node in forward:
        free = node.op == "call_function" and _recomputable(node) and not written.intersection(node.all_input_nodes)
        if not free:
            network.connect(SOURCE, (node, "in"), INFINITE)
        network.connect((node, "in"), (node, "out"), _bytes(node) if _holds_tensor(node) else INFINITE)
        if node in needed:
            network.connect((node, "out"), SINK, INFINITE)
        for user in node.users:
            if user in forward:
                network.connect((node, "out"), (user, "in"), INFINITE)
    return network


def min_cut_rematerialization_partition(
    joint_module: GraphModule,
    _joint_inputs: Any,
    compiler: str = "inductor",
    *,
    num_fwd_outputs: int,
    static_lifetime_input_indices: list[int] | None = None,
) -> tuple[GraphModule, GraphModule]:
    """The graphs of forward and backward that save the fewest bytes where backward repeats steps of elements and views.

    What is drawn at random, reduced or multiplied is not computed twice.
    """
    results = _results(joint_module)
    written = _writes(joint_module)
    late: set[Node] = set(_tangents(joint_module))  # what depends on a tangent
    for node in joint_module.graph.nodes:
        if any(i in late for i in node.all_input_nodes):
            late.add(node)
    gradients = _nodes(results[num_fwd_outputs:])
    backward = _ancestors(gradients)
    forward = {n for n in joint_module.graph.nodes if n not in late and n.op != "output"}
    needed = {i for n in backward & late for i in n.all_input_nodes if i in forward}
    needed |= {n for n in gradients if n in forward}
    inputs: set[Node] = {n.args[0] for n in written}  # type: ignore[misc]
    reached = _network(forward, needed, inputs).minimum_cut()
    saved = [n for n in joint_module.graph.nodes if (n, "in") in reached and (n, "out") not in reached]
    steps = _ancestors([*_nodes(results[:num_fwd_outputs]), *written, *saved])
    return _split(joint_module, num_fwd_outputs, steps, saved)
