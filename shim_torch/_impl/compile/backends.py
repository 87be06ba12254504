"""Backends that are functions: what is deferred, as a GraphModule of operators of ATen."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from shim_torch import ops
from shim_torch._impl.compile.errors import BackendCompilerFailed
from shim_torch._impl.native import _core
from shim_torch.fx import Graph, GraphModule
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
        for differs, turn in ((has[4] != conj, ops.aten._conj), (has[5] != neg, ops.aten._neg_view)):
            if differs:
                node = self.graph.call_function(turn.default, (node,))
        if has[3] != dtype:
            node = self.graph.call_function(ops.aten.view.dtype, (node, dtype))
        return self.graph.call_function(ops.aten.as_strided.default, (node, list(sizes), list(strides), offset))

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


def lower(
    backend: Any, nodes: Any, given: list[int], wanted: list[int], tensors: tuple[Any, ...]
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
    module = GraphModule(Module(), tracer.graph)
    try:
        made = backend(module, list(tensors))
    except Exception as e:
        raise BackendCompilerFailed(backend, e) from e
    if not callable(made):
        raise BackendCompilerFailed(backend, TypeError(f"it gave {type(made).__name__}, which is no function"))
    return made  # type: ignore[no-any-return]


_SEEN_OTHERWISE = (operator.getitem, ops.aten.as_strided.default, ops.aten.view.dtype, ops.aten._conj.default)


def operators_of(graph: GraphModule) -> list[Any]:
    """Those that a graph of ``lower`` calls, but for the ones that only see memory another way."""
    calls = [node.target for node in graph.graph.nodes if node.op == "call_function"]
    return [op for op in calls if op not in (*_SEEN_OTHERWISE, ops.aten._neg_view.default)]


_core.set_trace_lowering(lower)
