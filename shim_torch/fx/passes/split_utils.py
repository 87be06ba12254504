"""``torch.fx.passes.split_utils``: a graph cut into modules by the tags of its nodes."""

from __future__ import annotations

import copy
import operator
from dataclasses import dataclass, field
from typing import Any

from shim_torch._missing import asked_of as _asked_of
from shim_torch.fx.graph import Graph
from shim_torch.fx.graph_module import GraphModule
from shim_torch.fx.node import Node, map_arg
from shim_torch.fx.passes.utils.common import HolderModule, lift_subgraph_as_module

__all__ = ["Component", "getattr_recursive", "setattr_recursive", "split_by_tags"]


def getattr_recursive(obj: Any, name: str) -> Any:
    """The attribute at a dotted path; None where a part is missing."""
    for part in name.split("."):
        if not hasattr(obj, part):
            return None
        obj = getattr(obj, part)
    return obj


def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    """Sets the attribute at a dotted path."""
    *parents, last = attr.split(".")
    for part in parents:
        obj = getattr(obj, part)
    setattr(obj, last, value)


@dataclass
class Component:
    """The part of one tag: its graph, and the nodes of the whole that it reads and gives."""

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list)
    orig_inputs: list[Node] = field(default_factory=list)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    constructor_args: list[str] = field(default_factory=list)
    gm: Any = None


class _Split:
    def __init__(self, gm: GraphModule, tags: list[str]) -> None:
        self.gm = gm
        self.parts = {tag: Component(Graph(), i, f"{tag}") for i, tag in enumerate(tags)}
        self.part_of: dict[Node, Component] = {}
        self.inner: dict[Node, Node] = {}  # nodes of the whole -> of their part
        self.asked: dict[Node, None] = {}  # nodes that another part or the whole reads
        self.main = Graph()
        self.outer: dict[Node, Node] = {}  # nodes of the whole -> of the new whole

    def take(self, node: Node) -> None:
        """Copies a call into the part of its tag. Errors: AssertionError without one, or if it reads a later part."""
        if not hasattr(node, "tag"):
            raise AssertionError(f"Node does not have tag: {node.format_node()}")
        part = self.parts[node.tag]
        latest = max((self.part_of[x].order for x in node.all_input_nodes if x in self.part_of), default=0)
        if part.order < latest:
            raise AssertionError(
                f"Component {part.name} order must be >= max of its upstream components, order={part.order} and max={latest}"
            )
        self.part_of[node] = part
        made = self.inner[node] = part.graph.node_copy(node, lambda x: self.read(part, x))
        made.tag = node.tag  # type: ignore[attr-defined]

    def read(self, part: Component, x: Node) -> Node:
        """What stands for ``x`` in a part: its own node, a copied attribute, or an input."""
        if x.op == "get_attr":
            if x not in part.getattr_maps:
                part.getattr_maps[x] = _like(part.graph.get_attr(str(x.target), type_expr=x.type), x)
            return part.getattr_maps[x]
        if self.part_of.get(x) is part:
            return self.inner[x]
        if x not in part.orig_inputs:
            part.orig_inputs.append(x)
            part.input_placeholders.append(_like(part.graph.placeholder(x.name, type_expr=x.type), x))
            self.asked[x] = None
        return part.input_placeholders[part.orig_inputs.index(x)]

    def call(self, part: Component, return_tuple: bool) -> dict[str, str]:
        """Closes a part and makes the new whole call it; the paths of what it holds."""
        outs = tuple(self.inner[n] for n in part.orig_outputs)
        alone = len(outs) == 1 and not return_tuple
        part.graph.output(outs[0] if alone else outs)
        part.gm, paths = lift_subgraph_as_module(self.gm, part.graph, part.name)
        node = self.main.call_module(part.name, tuple(self.outer[n] for n in part.orig_inputs))
        for i, old in enumerate(part.orig_outputs):
            self.outer[old] = node if alone else self.main.call_function(operator.getitem, (node, i))
        return paths


def _like(made: Node, node: Node) -> Node:
    made.meta = copy.copy(node.meta)
    return made


def split_by_tags(
    gm: GraphModule,
    tags: list[str],
    return_fqn_mapping: bool = False,
    return_tuple: bool = False,
    GraphModuleCls: type[GraphModule] = GraphModule,
) -> Any:
    """A module that calls one module a tag, in the order of ``tags``, each of the nodes with ``node.tag``.

    return_fqn_mapping: with ``{path in gm: path in the result}``; return_tuple: parts give tuples even of one result.
    Errors: AssertionError for a call without a tag, or one that reads what a later tag computes.
    """
    split = _Split(gm, tags)
    for node in gm.graph.nodes:
        if node.op == "placeholder":
            split.outer[node] = _like(split.main.placeholder(node.name, type_expr=node.type), node)
        elif node.op not in ("get_attr", "output"):
            split.take(node)
    output = gm.graph.output_node()
    direct = [x for x in output.all_input_nodes if x.op == "get_attr"]
    for x in output.all_input_nodes:
        if x.op == "get_attr":
            split.outer[x] = split.main.get_attr(x.name, type_expr=x.type)
        else:
            split.asked[x] = None
    for x in split.asked:
        if x.op != "placeholder":
            split.part_of[x].orig_outputs.append(x)
    paths: dict[str, str] = {}
    for part in split.parts.values():
        paths.update(split.call(part, return_tuple))
    split.main.output(map_arg(output.args[0], split.outer.__getitem__))
    root = HolderModule({part.name: part.gm for part in split.parts.values()})
    split.main.set_codegen(gm.graph._codegen)
    for x in direct:
        setattr(root, x.name, getattr_recursive(gm, str(x.target)))
    result = GraphModuleCls(root, split.main)
    return (result, paths) if return_fqn_mapping else result


__getattr__ = _asked_of(__name__)
