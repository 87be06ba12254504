"""``torch.fx.passes.utils.fuser_utils``: sets of a graph's nodes put into modules that it calls."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable
from typing import Any

from shim_torch._missing import asked_of as _asked_of
from shim_torch.fx.graph import Graph
from shim_torch.fx.graph_module import GraphModule
from shim_torch.fx.node import Node
from shim_torch.fx.passes.tools_common import stable_topological_sort
from shim_torch.fx.passes.utils.common import lift_subgraph_as_module

__all__ = ["erase_nodes", "fuse_as_graphmodule", "fuse_by_partitions", "insert_subgm", "topo_sort", "validate_partition"]


def topo_sort(nodes: list[Node]) -> list[Node]:
    """The nodes, each after those it reads."""
    inside = set(nodes)
    waiting = {n: sum(i in inside for i in n.all_input_nodes) for n in nodes}
    ready = deque(n for n in nodes if not waiting[n])
    done: list[Node] = []
    while ready:
        node = ready.popleft()
        done.append(node)
        for user in node.users:
            if user in waiting:
                waiting[user] -= 1
                if not waiting[user]:
                    ready.append(user)
    if len(done) != len(nodes):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return done


def validate_partition(partition: Iterable[Node]) -> bool:
    """Whether the nodes can be one step: nothing outside reads them that they read again."""
    inside = set(partition)
    seen: set[Node] = set()
    todo = [user for node in inside for user in node.users if user not in inside]
    while todo:
        node = todo.pop()
        if node in inside:
            return False
        if node not in seen:
            seen.add(node)
            todo.extend(node.users)
    return True


def fuse_as_graphmodule(
    gm: GraphModule,
    nodes: list[Node],
    module_name: str,
    partition_lookup_table: Any = None,
    *,
    always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """A module of ``nodes``, which must be in order; the nodes it reads and those of its own that others read.

    Errors: AssertionError where they are not of ``gm``'s graph or cannot be one step.
    """
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(f"{node} is found not belong to passed-in graph module {gm._get_name()}")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    inside = set(nodes)
    graph = Graph()
    inputs: dict[Node, Node] = {}
    made: dict[Node, Node] = {}

    def inner(n: Node) -> Node:
        if n in inside:
            return made[n]
        if n not in inputs:
            inputs[n] = graph.placeholder(n.name, type_expr=n.type)
            inputs[n].meta = copy.copy(n.meta)
        return inputs[n]

    for node in nodes:
        made[node] = graph.node_copy(node, inner)
    outputs = tuple(n for n in nodes if any(user not in inside for user in n.users))
    results = tuple(made[n] for n in outputs)
    graph.output(results[0] if len(results) == 1 and not always_return_tuple else results)
    graph.lint()
    return lift_subgraph_as_module(gm, graph, "", module_name)[0], tuple(inputs), outputs


def insert_subgm(gm: GraphModule, sub_gm: GraphModule, orig_inputs: tuple[Node, ...], orig_outputs: tuple[Node, ...]) -> GraphModule:
    """Makes ``gm`` call the module and take its results in place of the nodes; those stay, unread."""
    import operator

    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    places = {n: i for i, n in enumerate(gm.graph.nodes)}
    with gm.graph.inserting_after(max(orig_outputs, key=places.__getitem__)):
        call = gm.graph.call_module(name, args=orig_inputs)
    output = sub_gm.graph.output_node()
    if len(orig_outputs) == 1 and not isinstance(output.args[0], tuple):
        orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
        return gm
    call.meta["val"] = tuple(n.meta.get("val", None) for n in orig_outputs)
    after = call
    for i, old in enumerate(orig_outputs):
        with gm.graph.inserting_after(after):
            after = gm.graph.call_function(operator.getitem, (call, i))
        old.replace_all_uses_with(after, propagate_meta=True)
    return gm


def erase_nodes(gm: GraphModule, nodes: list[Node]) -> None:
    """Takes nodes out of the graph, the last first."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule, partitions: list[dict[Node, Any]], prefix: str = "fused_", always_return_tuple: bool = False
) -> GraphModule:
    """Puts each set of nodes into a module ``prefix`` + its number, in place."""
    for i, partition in enumerate(partitions):
        nodes = topo_sort(list(partition))
        fused, inputs, outputs = fuse_as_graphmodule(gm, nodes, f"{prefix}{i}", always_return_tuple=always_return_tuple)
        insert_subgm(gm, fused, inputs, outputs)
        erase_nodes(gm, nodes)
    stable_topological_sort(gm)
    gm.graph.lint()
    return gm


__getattr__ = _asked_of(__name__)
