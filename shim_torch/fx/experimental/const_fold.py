"""``torch.fx.experimental.const_fold``: what depends on attributes alone is computed once, before the first call."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import shim_torch
from shim_torch._missing import asked_of as _asked_of
from shim_torch.fx.graph import Graph
from shim_torch.fx.graph_module import GraphModule
from shim_torch.fx.node import Node, map_arg
from shim_torch.fx.passes.split_module import split_module
from shim_torch.nn import Module, Parameter, ParameterList

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]
_CONSTANT, _REST = "submod_0", "submod_1"


class FoldedGraphModule(GraphModule):
    """A graph beside the part of it that needs no inputs, whose results the first call puts into an attribute."""

    def __init__(
        self, root: Module, graph: Graph, const_subgraph: Graph | None = None, fx_const_folded_attrs_name: str | None = None,
        device_for_folded_attrs: str = "cuda",
    ) -> None:  # fmt: skip
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args)

    def run_folding(self) -> None:
        """Computes the constant part; does nothing where there is none. AssertionError the second time."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("Folding has already been run")
        self.has_folding_been_run = True
        found = self.const_subgraph_module()
        kept = ParameterList([self._kept(v) for v in found]) if isinstance(found, tuple) else self._kept(found)
        setattr(self, self.fx_const_folded_attrs_name, kept)

    def _kept(self, value: Any) -> Parameter:
        if isinstance(value, int):
            return Parameter(shim_torch.Tensor([value]).to(self.device_for_folded_attrs), requires_grad=False)
        return Parameter(value.detach().clone(), requires_grad=value.requires_grad)


def _inline_module(gm: GraphModule, inline_mod_name: str, run_dce: bool = True) -> dict[Node, Node]:
    """The steps of a submodule in the place of its call; a dict of what became of each."""
    import operator

    inner = dict(gm.named_modules())[inline_mod_name]
    if not isinstance(inner, GraphModule):
        raise AssertionError(f"Expected GraphModule, got {type(inner)}")
    call = next((n for n in gm.graph.nodes if n.op == "call_module" and n.target == inline_mod_name), None)
    if call is None:
        raise AssertionError(f"Could not find call_module node for {inline_mod_name}")
    became: dict[Node, Any] = {}
    given = iter(call.args)
    with gm.graph.inserting_before(call):
        for node in inner.graph.nodes:
            if node.op == "placeholder":
                became[node] = call.kwargs[node.name] if node.name in call.kwargs else next(given)
            elif node.op != "output":
                became[node] = gm.graph.node_copy(node, lambda n: became[n])
    result = map_arg(inner.graph.output_node().args[0], lambda n: became[n])
    if isinstance(result, (list, tuple)):
        for user in list(call.users):
            if user.op == "call_function" and user.target is operator.getitem and isinstance(user.args[1], int):
                became[user] = result[user.args[1]]
                user.replace_all_uses_with(became[user])
                gm.graph.erase_node(user)
    call.replace_all_uses_with(result)
    gm.graph.erase_node(call)
    if run_dce:
        gm.graph.eliminate_dead_code()
    return became


def get_unique_attr_name_in_module(mod_traced: GraphModule, name: str) -> str:
    """``name`` as a Python name that the module does not have yet: with the first free number at its end."""
    name = re.sub("[^0-9a-zA-Z_]+", "_", name)
    name = f"_{name}" if name[0].isdigit() else name
    while hasattr(mod_traced, name):
        stem, _, number = name.rpartition("_")
        name = f"{stem}_{int(number) + 1}" if stem and number.isdecimal() else f"{name}_1"
    return name


def _impure(module: Any) -> bool:
    """Whether a graph, or one that it calls, has a step that is there for its effect."""
    if not isinstance(module, GraphModule):
        return False
    return any(
        n.is_impure() if n.op == "call_function" else n.op == "call_module" and _impure(module.get_submodule(n.target))
        for n in module.graph.nodes
    )


def _constant_steps(m: GraphModule, skip: Callable[[Node], bool] | None) -> set[Node]:
    found: set[Node] = set()
    for node in m.graph.nodes:
        if node.op in ("placeholder", "output") or (node.op != "get_attr" and not found.issuperset(node.all_input_nodes)):
            continue
        if (skip is not None and skip(node)) or node.is_impure():
            continue
        if node.op == "call_module" and _impure(m.get_submodule(node.target)):
            continue
        found.add(node)
    return found


def _call_of(m: GraphModule, name: str) -> Node:
    return next(n for n in m.graph.nodes if n.op == "call_module" and n.target == name)


def _attributes_for_inputs(split: GraphModule, constant: GraphModule) -> GraphModule:
    """The constant part with the outer module's attributes for the inputs that it got them as."""
    own = GraphModule(split, constant.graph)
    sources = iter(_call_of(split, _CONSTANT).args)
    for node in list(own.graph.nodes):
        if node.op == "placeholder":
            with own.graph.inserting_before(node):
                read = own.graph.get_attr(next(sources).target)
            read.meta = node.meta.copy()
            node.replace_all_uses_with(read)
            own.graph.erase_node(node)
    return own


def split_const_subgraphs(
    module: Module | GraphModule, skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: str = "cpu",
) -> FoldedGraphModule:  # fmt: skip
    """The traced module with the steps that depend on no input in a part of their own, run at the first call.

    Args:  skip_folding_node_fn tells of steps that are to stay, whatever they depend on
    """
    traced = module if isinstance(module, GraphModule) else shim_torch.fx.symbolic_trace(module)
    constant = _constant_steps(traced, skip_folding_node_fn)
    if all(n.op == "get_attr" for n in constant):
        return FoldedGraphModule(traced, traced.graph)
    split = split_module(traced, module, lambda n: 0 if n in constant else 1)
    for name in (_CONSTANT, _REST):
        part = getattr(split, name, None)
        for node in part.graph.nodes if part is not None else ():
            if node.op == "call_module":
                setattr(split, node.target, getattr(part, node.target))
    folded = _attributes_for_inputs(split, getattr(split, _CONSTANT))
    several = isinstance(folded.graph.output_node().args[0], tuple)
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    setattr(split, name, ParameterList() if several else Parameter())
    call = _call_of(split, _CONSTANT)
    with split.graph.inserting_before(call):
        read = split.graph.get_attr(name)
    read.meta = call.meta.copy()
    call.replace_all_uses_with(read)
    if hasattr(split, _REST):
        _inline_module(split, _REST)
    split.graph.eliminate_dead_code()
    return FoldedGraphModule(split, split.graph, folded.graph, name, device_for_folded_attrs)


__getattr__ = _asked_of(__name__)
