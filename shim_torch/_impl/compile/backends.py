"""Backends that are functions: what is deferred, as a GraphModule of operators of ATen."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

from shim_torch import ops
from shim_torch._impl.compile.errors import BackendCompilerFailed
from shim_torch._impl.native import _core
from shim_torch.fx import Graph, GraphModule, Node
from shim_torch.nn import Module


class _Tracer:
    """Builds a graph of what the core recorded: tensors are memories, seen through geometries."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.known: dict[int, tuple[Any, Any]] = {}  # memory: a node over it, and that one's geometry

    def tensor(self, described: Any) -> Any:
        """The node of a tensor."""
        _, slot, sizes, strides, offset, dtype, _, _, conj, neg = described
        node, has = self.known[slot]
        if has == (tuple(sizes), tuple(strides), offset, dtype, conj, neg):
            return node
        bits, call = [*has[4:]], self.graph.call_function
        turns = ops.aten._conj, ops.aten._neg_view

        def turn(wanted: Any) -> None:
            nonlocal node
            for i, by in enumerate(turns):
                if bits[i] != wanted[i]:
                    node, bits[i] = call(by.default, (node,)), wanted[i]

        if has[3] != dtype:
            turn((0, 0))  # bytes have no such bits
            size = offset + 1 + sum((n - 1) * by for n, by in zip(sizes, strides, strict=True)) if 0 not in sizes else 0
            length = -(-size * dtype.itemsize // has[3].itemsize)
            if has[:3] != ((length,), (1,), 0):
                node = call(ops.aten.as_strided.default, (node, [length], [1], 0))
            node = call(ops.aten.view.dtype, (node, dtype))
        node = call(ops.aten.as_strided.default, (node, list(sizes), list(strides), offset))
        turn((conj, neg))
        return node

    def meet(self, described: Any, node: Any) -> None:
        """The node's tensor is what its memory is known by, if none was before."""
        _, slot, sizes, strides, offset, dtype, _, _, conj, neg = described
        self.known.setdefault(slot, (node, (tuple(sizes), tuple(strides), offset, dtype, conj, neg)))

    def argument(self, described: Any) -> Any:
        """What stands for an argument."""
        if described is None:
            return None
        if isinstance(described, list):
            return [self.argument(item) for item in described]
        if described[0] == "tensor":
            return self.tensor(described)
        value = described[1]
        return list(value) if isinstance(value, tuple) else value

    def step(self, name: str, arguments: list[Any], results: list[Any]) -> None:
        """An operator's call."""
        space, _, rest = name.partition("::")
        plain, _, overload = rest.partition(".")
        target = getattr(getattr(getattr(ops, space), plain), overload or "default")
        args, kwargs = [], {}
        for argument, told in zip(target._schema.arguments, arguments, strict=True):
            value = self.argument(told)
            if argument.kwarg_only:
                kwargs[argument.name] = value
            else:
                args.append(value)
        node = self.graph.call_function(target, tuple(args), kwargs)
        if len(results) == 1 and len(target._schema.returns) == 1 and "[]" not in str(target._schema.returns[0].type):
            self.meet(results[0], node)
        else:
            for i, result in enumerate(results):
                self.meet(result, self.graph.call_function(operator.getitem, (node, i)))


class _Known:
    """A graph that the backend was given: what it made of it, and which of its integers are arguments."""

    def __init__(self, numbers: list[int], places: dict[tuple[int, ...], int]) -> None:
        self.numbers = numbers  # of the calls until now, the last one's
        self.places = places  # those of one argument, and where its value is found
        self.variable = {i for of in places for i in of}
        self.made: Callable[..., Any]

    def fits(self, numbers: list[int]) -> bool:
        """Whether the graph is right for such integers: constants are the same, and those of an argument are equal."""
        fixed = (i for i in range(len(numbers)) if i not in self.variable)
        return all(numbers[i] == self.numbers[i] for i in fixed) and all(
            numbers[i] == numbers[at] for of, at in self.places.items() for i in of
        )

    def generalized(self, numbers: list[int]) -> _Known:
        """What is right for both: integers that differ are arguments, one for those that were equal each time."""
        together: dict[tuple[Any, ...], list[int]] = {}
        argument = {i: at for of, at in self.places.items() for i in of}
        for i, (had, has) in enumerate(zip(self.numbers, numbers, strict=True)):
            if had != has or i in argument:
                together.setdefault((argument.get(i), had, has), []).append(i)
        return _Known(numbers, {tuple(of): of[0] for of in together.values()})

    def arguments(self, numbers: list[int]) -> list[int]:
        """The values of the integers that are arguments."""
        return [numbers[at] for at in self.places.values()]


class Backend:
    """A function that makes functions of graphs, and what it made."""

    def __init__(self, function: Callable[..., Any], dynamic: bool) -> None:
        self.function = function
        self.dynamic = dynamic  # else all integers are constants
        self.known: dict[Any, list[_Known]] = {}  # by graphs without their integers

    def made_of(self, graph: Graph, tensors: list[Any]) -> Callable[..., Any]:
        """The function of the tensors that ``graph`` is. Where integers alone differ from a graph before, they are arguments."""
        numbers: list[int] = []
        structure = tuple(_structure(node, numbers) for node in graph.nodes)
        known = self.known.setdefault(structure, [])
        found = next((k for k in known if k.fits(numbers)), None)
        if found is None:
            found = known[-1].generalized(numbers) if known and self.dynamic else _Known(numbers, {})
            integers = found.arguments(numbers)
            _put_arguments(graph, found, integers)
            found.made = self._ask(GraphModule(Module(), graph), [*integers, *tensors])
            known.append(found)
        return functools.partial(found.made, *found.arguments(numbers))

    def _ask(self, module: GraphModule, examples: list[Any]) -> Callable[..., Any]:
        try:
            made = self.function(module, examples)
        except Exception as e:
            raise BackendCompilerFailed(self.function, e) from e
        if not callable(made):
            raise BackendCompilerFailed(
                self.function, TypeError(f"it gave {type(made).__name__}, which is no function")
            )
        return made


def _structure(node: Any, numbers: list[int]) -> Any:
    """What a node is, its integers left out, which are appended to ``numbers``."""

    def of(value: Any) -> Any:
        if type(value) is int:
            numbers.append(value)
            return int
        if isinstance(value, (list, tuple)):
            return (type(value), *map(of, value))
        if isinstance(value, float):
            return (float, value.hex())
        return (type(value), value.name if isinstance(value, Node) else value)

    if node.op == "placeholder":
        val = node.meta["val"]
        numbers.extend((*val.shape, *val.stride(), val.storage_offset()))
        return (node.name, val.dtype, val.device, val.dim(), val.requires_grad, val.is_conj(), val.is_neg())
    return (node.name, node.op, node.target, of(node.args), of(tuple(node.kwargs.items())))


def _put_arguments(graph: Graph, known: _Known, values: list[int]) -> None:
    """Integers of the graph become what new placeholders stand for, which come first."""
    if not values:
        return
    nodes = list(graph.nodes)
    by_place: dict[int, Any] = {}
    with graph.inserting_before(nodes[0]):
        for k, (places, value) in enumerate(zip(known.places, values, strict=True)):
            node = graph.placeholder(f"s{k}")
            node.meta["val"] = node.meta["example_value"] = value
            by_place.update(dict.fromkeys(places, node))
    count = itertools.count()

    def put(value: Any) -> Any:
        if type(value) is int:
            return by_place.get(next(count), value)
        if isinstance(value, (list, tuple)):
            return type(value)([put(item) for item in value])
        return value

    for node in nodes:
        if node.op == "placeholder":
            put([0] * (2 * node.meta["val"].dim() + 1))
        else:
            node.args = put(node.args)
            node.kwargs = {name: put(value) for name, value in node.kwargs.items()}


def lower(
    backend: Backend, nodes: Any, given: list[int], wanted: list[int], tensors: tuple[Any, ...]
) -> Callable[..., Any]:
    """What ``backend`` makes of ``nodes``: a function of tensors over the memories ``given``, of those over ``wanted``.

    Errors: torch._dynamo.exc.BackendCompilerFailed of what the backend raises, or where it gives no function
    """
    tracer = _Tracer()
    for i, (slot, tensor) in enumerate(zip(given, tensors, strict=True)):
        node = tracer.graph.placeholder(f"arg{i}_1")
        node.meta["val"] = node.meta["example_value"] = tensor
        lies = (tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.dtype)
        tracer.meet((None, slot, *lies, None, True, int(tensor.is_conj()), int(tensor.is_neg())), node)
    for name, arguments, results, _file, _line in nodes:
        tracer.step(name, arguments, results)
    tracer.graph.output(tuple(tracer.known[slot][0] for slot in wanted))
    return backend.made_of(tracer.graph, list(tensors))


_SEEN_OTHERWISE = (operator.getitem, ops.aten.as_strided.default, ops.aten.view.dtype, ops.aten._conj.default)


def operators_of(graph: GraphModule) -> list[Any]:
    """Those that a graph of ``lower`` calls, but for the ones that only see memory another way."""
    calls = [node.target for node in graph.graph.nodes if node.op == "call_function"]
    return [op for op in calls if op not in (*_SEEN_OTHERWISE, ops.aten._neg_view.default)]


_core.set_trace_lowering(lower)
