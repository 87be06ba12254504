"""``torch.fx.proxy``: values of a function that is being traced; what is done to them becomes nodes."""

from __future__ import annotations

import dis
import enum
import inspect
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import shim_torch as torch
from shim_torch._ops import OpOverload, OpOverloadPacket
from shim_torch.fx.graph import Graph
from shim_torch.fx.node import Argument, Node, Target, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """What the function does depends on a value that tracing does not have."""

    __module__ = "torch.fx.proxy"


class TracerBase:
    """Makes nodes and the values that stand for them."""

    graph: Graph
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False

    def create_node(
        self, kind: str, target: Target, args: Any, kwargs: Any, name: str | None = None, type_expr: Any = None
    ) -> Node:
        """Adds a node to the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """The value of a node."""
        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Target, args: Any, kwargs: Any, name: str | None = None, type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Any:  # fmt: skip
        """Adds a node whose arguments may hold values of nodes; its value."""
        args_, kwargs_ = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, tuple(args_), dict(kwargs_), name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Argument:
        """An argument of a node. Errors: NotImplementedError for what cannot stand in a graph."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            made = [self.create_arg(x) for x in a]
            return type(a)(*made) if hasattr(a, "_fields") else tuple(made)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            for key in a:
                if isinstance(key, (Proxy, Node)):
                    raise RuntimeError(
                        f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}"
                    )
            return {k: self.create_arg(v) for k, v in a.items()}
        if isinstance(a, slice):
            return slice(*(self.create_arg(x) for x in (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(*(self.create_arg(x) for x in (a.start, a.stop, a.step)))
        plain = (str, int, float, bool, complex, bytes, Node, torch.dtype, torch.device, torch.layout, torch.memory_format,
                 torch.Tensor, enum.Enum, type(None), type(...))  # fmt: skip
        if isinstance(a, plain) or callable(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """What a value is as a condition. Errors: TraceError, for it is not known."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """The parts of a value: where a fixed number is wanted (``a, b = x``) they are items, else TraceError."""
        frame = inspect.currentframe()
        frame = frame.f_back.f_back if frame is not None and frame.f_back is not None else None
        if frame is not None:
            at = frame.f_lasti
            for step in dis.get_instructions(frame.f_code):
                if step.offset >= at and step.opname == "UNPACK_SEQUENCE":
                    return (obj[i] for i in range(step.argval))  # type: ignore[index]
                if step.offset > at and step.opname not in ("CACHE", "EXTENDED_ARG"):
                    break
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs "
            "function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control "
            "flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """``**x``: the keys of a value."""
        return Attribute(obj, "keys")()


def unused_name(module: Any, start: str) -> str:
    """``start`` with the first number that no attribute of ``module`` has."""
    return next(name for name in map(f"{start}{{}}".format, itertools.count()) if not hasattr(module, name))


class GraphAppendingTracer(TracerBase):
    """Adds to a graph that exists already."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Proxy:
    """A value that is not known yet. Operators, methods, attributes and torch's functions give further ones."""

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        if k == "node":  # not set yet: being copied or unpickled
            raise AttributeError(k)
        return Attribute(self, k)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """What ``**proxy`` unpacks; TraceError unless the tracer knows the keys."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    def __index__(self) -> int:
        raise RuntimeError(
            "'index' is not supported in symbolic tracing by default. Convert the value to a Python number outside of the traced "
            "function"
        )

    def __contains__(self, _: Any) -> bool:
        raise RuntimeError("'in' is not supported in symbolic tracing")

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = tuple(args), dict(kwargs or {})
        tracer = _only_tracer(given, orig_method)
        kind, target = (
            ("call_method", orig_method.__name__)
            if _is_method(orig_method)
            else ("call_function", _public(orig_method))
        )
        return tracer.create_proxy(kind, target, *given)


def _only_tracer(given: Any, what: Any) -> TracerBase:
    """The tracer of all values in nested arguments. Errors: RuntimeError where they have several."""
    tracers: list[TracerBase] = []

    def note(x: Any) -> Any:
        if isinstance(x, Proxy) and x.tracer not in tracers:
            tracers.append(x.tracer)
        return x

    map_aggregate(given, note)
    if len(tracers) > 1:
        raise RuntimeError(f"Found multiple different tracers {tracers} while trying to trace operations {what}")
    return tracers[0]


def _is_method(function: Any) -> bool:
    if isinstance(function, (type(str.join), type(object.__repr__))):
        return True
    name = getattr(function, "__name__", "")
    return bool(name) and getattr(torch.Tensor, name, None) is function


def _public(function: Any) -> Any:
    """The function of ``torch`` or ``nn.functional`` that a table function was called as."""
    name = getattr(function, "__name__", "")
    if getattr(function, "__module__", None) is None and name.startswith("__"):
        return getattr(operator, name.strip("_"), function)
    if getattr(function, "__module__", "") != "torch._ops.aten" or isinstance(function, (OpOverload, OpOverloadPacket)):
        return function
    functional = torch.nn.functional
    return getattr(functional if hasattr(functional, name) else torch, name, function)


class Attribute(Proxy):
    """``x.name``: a node only if it is not called; the call is a method's."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node of the ``getattr`` call, made when first asked for."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter, whose shape is known while tracing."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        self.param, self.name = param, name

    shape = property(lambda self: self.param.shape)
    ndim = property(lambda self: self.param.ndim)

    def size(self) -> Any:
        """The parameter's sizes."""
        return self.param.size()

    def dim(self) -> int:
        """The parameter's number of dims."""
        return int(self.param.dim())

    def numel(self) -> int:
        """The parameter's number of elements."""
        return int(self.param.numel())

    def nelement(self) -> int:
        """The parameter's number of elements."""
        return int(self.param.nelement())


def _operator(name: str) -> Callable[..., Any]:
    target = getattr(operator, name)

    def method(self: Proxy, *args: Any) -> Any:
        return self.tracer.create_proxy("call_function", target, (self, *args), {})

    return method


def _reflected(name: str) -> Callable[..., Any]:
    target = getattr(operator, name)

    def method(self: Proxy, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", target, (other, self), {})

    return method


for _name in "add sub mul floordiv truediv mod pow lshift rshift and_ or_ xor matmul".split():
    setattr(Proxy, f"__{_name.rstrip('_')}__", _operator(_name))
    setattr(Proxy, f"__r{_name.rstrip('_')}__", _reflected(_name))
for _name in "eq ne lt gt le ge getitem neg pos invert abs".split():
    setattr(Proxy, f"__{_name}__", _operator(_name))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]
Proxy.__round__ = lambda self, *n: self.tracer.create_proxy("call_function", round, (self, *n), {})  # type: ignore[attr-defined]
