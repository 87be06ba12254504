"""``torch.fx.passes.utils.source_matcher_utils``: the nodes that one function or module was traced to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shim_torch.fx.graph import Graph
from shim_torch.fx.node import Node

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclass
class SourcePartition:
    """The nodes of one source, those they read (but attributes), those others read, and their attributes."""

    nodes: list[Node]
    source: Any
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)


def _source(node: Node, wanted: list[Any]) -> tuple[Any, str] | None:
    """What a node was traced from and the name of that call, by its metadata; None for nothing wanted."""
    stack = node.meta.get("source_fn_stack")
    if stack is not None:
        name, source = stack[-1]
        return (source, name) if source in wanted else None
    traced = node.meta.get("torch_fn")
    if traced is not None and traced[1].split(".")[1] in wanted:
        return traced[1].split(".")[1], traced[0]
    modules = node.meta.get("nn_module_stack")
    if node.op == "call_function" and modules:
        path, kind = list(modules.values())[-1]
        for source in wanted:
            name = f"{source.__module__}.{source.__qualname__}" if isinstance(source, type) else source
            if kind in (source, name) or (
                isinstance(source, type) and isinstance(kind, type) and issubclass(kind, source)
            ):
                return source, path
    return None


def _partition(nodes: list[Node], source: Any) -> SourcePartition:
    inside = set(nodes)
    read = dict.fromkeys(
        a for n in nodes for a in n.args if isinstance(a, Node) and a not in inside and a.op != "get_attr"
    )
    given = [n for n in nodes if n.op != "get_attr" and any(u not in inside for u in n.users)]
    return SourcePartition(nodes, source, list(read), given, [n for n in nodes if n.op == "get_attr"])


def get_source_partitions(
    graph: Graph, wanted_sources: list[Any], filter_fn: Callable[[Node], bool] | None = None
) -> dict[Any, list[SourcePartition]]:
    """For each wanted function or module class the partitions of its calls; those whose nodes all pass ``filter_fn``."""
    calls: dict[Any, dict[str, list[Node]]] = {}
    for node in graph.nodes:
        found = _source(node, wanted_sources)
        if found is not None:
            calls.setdefault(found[0], {}).setdefault(found[1], []).append(node)
    return {
        source: [
            _partition(nodes, source) for nodes in named.values() if filter_fn is None or all(map(filter_fn, nodes))
        ]
        for source, named in calls.items()
    }


def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Whether the second reads something of the first."""
    return any(user in subgraph2.nodes for node in subgraph1.nodes for user in node.users)
