"""``torch.fx.passes.split_module``: a graph cut into submodules, which a new graph calls one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch.fx.graph import Graph
from shim_torch.fx.graph_module import GraphModule
from shim_torch.fx.node import Node, map_arg

__all__ = ["Partition", "split_module", "split_module_simple"]
_HELD = ("placeholder", "get_attr", "output")  # steps of no part: a part takes what it reads of them


class Partition:
    """One part: the names of its steps, of what it reads and gives, and of the parts before and after it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        fields = {
            "name": self.name,
            "nodes": self.node_names,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "partitions depended on": self.dependencies,
            "partition dependents": self.dependents,
        }
        return ",\n ".join(f"{what}: {value}" for what, value in fields.items())


def _get_attr_from_qualname(mod: Any, qualname: str) -> Any:
    for part in qualname.split("."):
        if not hasattr(mod, part):
            raise AttributeError(f"Node target {qualname} not found!")
        mod = getattr(mod, part)
    return mod


def _refuse_state(node: Node) -> None:
    import shim_torch

    amp = shim_torch.amp
    if node.target in (amp._enter_autocast, amp._exit_autocast, shim_torch._C._set_grad_enabled):
        raise NotImplementedError(
            "torch.fx.passes.split_module.split_module of graphs that switch autocast or gradients is not supported by shim-torch"
        )


class _Splitter:
    """The parts of one graph, from who owns a step to the graph that calls them."""

    def __init__(
        self, m: GraphModule, qualname_map: Any, keep_names: bool, keep_inputs: bool, tuple_return: bool
    ) -> None:
        self.m, self.qualname_map = m, qualname_map
        self.keep_names, self.keep_inputs, self.tuple_return = keep_names, keep_inputs, tuple_return
        self.parts: dict[str, Partition] = {}
        self.owner: dict[Node, str] = {}
        self.nodes: dict[str, Node] = {n.name: n for n in m.graph.nodes}
        self.graph = Graph()
        self.made: dict[str, Node] = {}
        self.attributes: dict[str, Any] = {}

    def assign(self, split_callback: Callable[[Node], Any], affix: str | None) -> None:
        for node in self.m.graph.nodes:
            if node.op in _HELD:
                continue
            _refuse_state(node)
            name = str(split_callback(node))
            name = name if affix is None else f"{affix}_{name}"
            self.parts.setdefault(name, Partition(name)).node_names.append(node.name)
            self.owner[node] = node._fx_partition = name  # type: ignore[attr-defined]
        for node in self.m.graph.nodes:
            if node.op == "output":
                map_arg(node.args[0], lambda n: self._used(n, None))
            elif node.op not in _HELD:
                for source in node.all_input_nodes:
                    self._used(source, node)

    def _used(self, source: Node, user: Node | None) -> Node:
        start, end = self.owner.get(source), None if user is None else self.owner[user]
        if start == end:
            return source
        if start is not None:
            self.parts[start].outputs.setdefault(source.name)
            if end is not None:
                self.parts[start].dependents.setdefault(end)
                self.parts[end].dependencies.setdefault(start)
        if end is not None:
            self.parts[end].inputs.setdefault(source.name)
        return source

    def in_order(self) -> list[str]:
        """The parts, each after those it reads from; RuntimeError where none is."""
        left = {name: set(p.dependencies) for name, p in self.parts.items()}
        ready, order = [name for name, before in left.items() if not before], []
        while ready:
            order.append(ready.pop())
            for after in self.parts[order[-1]].dependents:
                left[after].discard(order[-1])
                if not left[after]:
                    ready.append(after)
        if len(order) != len(self.parts):
            raise RuntimeError("cycle exists between partitions!")
        return order

    def fill(self, order: list[str]) -> None:
        for name in order:
            self._open(self.parts[name])
        for node, name in self.owner.items():
            self._copy(node, self.parts[name])
        for part in self.parts.values():
            given = tuple(part.environment[self.nodes[name]] for name in part.outputs)
            part.graph.output(given[0] if len(given) == 1 and not self.tuple_return else given)

    def _open(self, part: Partition) -> None:
        modules, count = [], 0
        for name in part.inputs:
            source = self.nodes[name]
            if source.op == "get_attr" and self._is_module(source.target):
                modules.append(name)
                continue
            found = part.graph.placeholder(name if self.keep_inputs else f"arg_{count}", type_expr=source.type)
            count += 1
            found.meta = source.meta.copy()
            part.environment[source] = found
        for name in modules:
            source = self.nodes[name]
            found = part.environment[source] = part.graph.get_attr(source.target)
            found.meta = source.meta.copy()
            part.targets[source.target] = _get_attr_from_qualname(self.m, source.target)
        part.inputs = {name: None for name in part.inputs if name not in modules}

    def _is_module(self, target: str) -> bool:
        from shim_torch.nn import Module

        return isinstance(_get_attr_from_qualname(self.m, target), Module)

    def _copy(self, node: Node, part: Partition) -> None:
        target: Any = node.target
        if node.op == "call_module":
            target = node.target.replace(".", "_")
            part.targets[target] = _get_attr_from_qualname(self.m, node.target)
            if self.qualname_map is not None:
                self.qualname_map[f"{part.submod_name}.{target}"] = node.target
        args, kwargs = (map_arg(given, lambda n: part.environment[n]) for given in (node.args, node.kwargs))
        name = node.name if self.keep_names else None
        copy = part.graph.create_node(node.op, target, args, kwargs, type_expr=node.type, name=name)
        copy.meta = node.meta.copy()
        part.environment[node] = copy

    def hold(self, node: Node) -> None:
        """A placeholder or an attribute of the graph that calls the parts."""
        if node.name in self.made or node.op not in ("placeholder", "get_attr"):
            return
        if node.op == "placeholder":
            default = node.args[0] if node.args else ...
            made = self.graph.placeholder(node.target, type_expr=node.type, default_value=default)
        else:
            made = self.graph.get_attr(node.target)
            self.attributes[node.target] = _get_attr_from_qualname(self.m, node.target)
        made.meta = node.meta.copy()
        self.made[node.name] = made

    def call(self, part: Partition) -> None:
        self.attributes[part.submod_name] = GraphModule(part.targets, part.graph)
        call = self.graph.call_module(part.submod_name, tuple(self.made[name] for name in part.inputs))
        if len(part.outputs) == 1 and not self.tuple_return:
            (name,) = part.outputs
            self.made[name] = call
            call.meta = self.nodes[name].meta.copy()
            return
        import operator

        for i, name in enumerate(part.outputs):
            self.made[name] = self.graph.call_function(operator.getitem, (call, i))
            self.made[name].meta = self.nodes[name].meta.copy()

    def finish(self) -> GraphModule:
        for node in self.m.graph.nodes:
            if node.op == "output":
                self.graph.output(map_arg(node.args[0], lambda n: self.made[n.name]))
        found = GraphModule(self.attributes, self.graph)
        found.meta.update(getattr(self.m, "meta", {}))
        return found


def split_module(
    m: GraphModule, root_m: Any, split_callback: Callable[[Node], Any], qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False, keep_original_node_name: bool | None = False, keep_original_input_name: bool = True,
    *, partition_affix: str | None = None, tuple_return: bool = False,
) -> GraphModule:  # fmt: skip
    """A module of submodules ``submod_0``, ...: each has the steps for which ``split_callback`` gives its number.

    Errors:  RuntimeError where two parts need each other
    """
    made = _Splitter(m, qualname_map, bool(keep_original_node_name), keep_original_input_name, tuple_return)
    made.assign(split_callback, partition_affix)
    order = made.in_order()
    made.fill(order)
    for node in m.graph.nodes:
        if node.op == "placeholder" or not keep_original_order:
            made.hold(node)
    for name in list(made.parts) if keep_original_order else order:
        for source in made.parts[name].inputs:
            made.hold(made.nodes[source])
        made.call(made.parts[name])
    for node in m.graph.nodes:
        if node.op == "output":
            for held in node.all_input_nodes:
                made.hold(held)
    return made.finish()


def split_module_simple(
    m: GraphModule, node_to_partition: dict[Node, int], *, partition_affix: str | None = None
) -> GraphModule:
    """The same, given each step's number; the parts keep the order of the steps."""
    return split_module(
        m, None, node_to_partition.__getitem__, keep_original_order=True, partition_affix=partition_affix
    )
