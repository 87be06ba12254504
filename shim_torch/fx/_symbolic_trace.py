"""``torch.fx._symbolic_trace``: graphs of functions and modules, by running them on values that are not known."""

from __future__ import annotations

import builtins
import copy
import functools
import inspect
import itertools
import math
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, FunctionType, ModuleType
from typing import Any

import shim_torch as torch
from shim_torch._impl.fx.pytree_codegen import PyTreeInfo, _PyTreeCodeGen
from shim_torch.fx.graph import Graph
from shim_torch.fx.graph_module import GraphModule
from shim_torch.fx.node import Argument, Node, map_aggregate
from shim_torch.fx.proxy import ParameterProxy, Proxy, TracerBase, unused_name
from shim_torch.nn.modules.module import Module
from shim_torch.utils import _pytree

__all__ = ["PH", "Tracer", "is_fx_symbolic_tracing", "is_fx_tracing", "symbolic_trace", "wrap"]


class PHBase:
    """In ``concrete_args``: what stays an input. Its attributes become those of the input's node."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A PH whose input's node has the attribute ``ph_key``."""

    def __init__(self, ph_key: str | None = None) -> None:
        super().__init__()
        self.ph_key = ph_key


_wrapped: dict[tuple[int, str], dict[str, Any]] = {}
_wrapped_methods_to_patch: list[tuple[type, str]] = []  # methods that become nodes too
_tracing = 0


@functools.cache
def _factories() -> list[str]:
    """torch's functions that make tensors of no others."""
    from shim_torch._impl.table.operators import records

    makes = (
        r for r in records().values() if r.ns == "aten" and r.function and not r.module and "device" in r.arguments
    )
    names = {r.name for r in makes if "Tensor" not in r.schema.partition("->")[0]}
    return sorted(name for name in names if name in vars(torch))


def is_fx_tracing() -> bool:
    """Whether a function is being traced."""
    return _tracing > 0


is_fx_symbolic_tracing = is_fx_tracing


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """At module level: calls of that function of the module become single nodes. Errors: RuntimeError elsewhere."""
    name = fn_or_name if isinstance(fn_or_name, str) else callable(fn_or_name) and fn_or_name.__name__
    if not name:
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    space = _names_of_module(sys._getframe(1))
    _wrapped[id(space), name] = space
    return fn_or_name


def _names_of_module(frame: FrameType) -> dict[str, Any]:
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    return frame.f_globals


def _assert_is_none(value: Any, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


def _find_proxy(*values: Any) -> Proxy | None:
    found: list[Proxy] = []
    map_aggregate(values, lambda x: found.append(x) if isinstance(x, Proxy) else x)
    return found[0] if found else None


def _leaf(function: Callable[..., Any], fill: bool = False) -> Callable[..., Any]:
    """``function``, which becomes a node when it is called with a value that is not known.

    ``fill``: what has a default is given by name, as torch's own functions in Python do it.
    """
    signature = inspect.signature(function) if fill else None
    if signature is not None and any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()):
        signature = None

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        if signature is not None:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            needed = [
                n for n, p in signature.parameters.items() if p.default is p.empty and p.kind is not p.KEYWORD_ONLY
            ]
            args = tuple(bound.arguments[n] for n in needed)
            kwargs = {n: v for n, v in bound.arguments.items() if n not in needed}
        return proxy.tracer.create_proxy("call_function", function, args, kwargs)

    wrapper.__fx_leaf__ = True  # type: ignore[attr-defined]
    return wrapper


def _method_leaf(method: Any, name: str) -> Callable[..., Any]:
    """A method that becomes a node when an argument of it is not known."""

    @functools.wraps(method)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        return (
            method(*args, **kwargs) if proxy is None else proxy.tracer.create_proxy("call_method", name, args, kwargs)
        )

    return wrapper


def _replace(
    stack: list[tuple[dict[str, Any], str, Any]], space: dict[str, Any], name: str, found: Any, fill: bool = False
) -> None:
    # einsum asks its operands itself, once they are out of their list.
    if callable(found) and found is not torch.functional.einsum and not getattr(found, "__fx_leaf__", False):
        stack.append((space, name, space.get(name, PH)))
        space[name] = _leaf(found, fill)


class Tracer(TracerBase):
    """Traces modules: those of ``torch.nn`` are leaves, which become ``call_module``; others are looked into."""

    def __init__(
        self, autowrap_modules: tuple[ModuleType, ...] = (math,), autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:  # fmt: skip
        self._autowrap_modules, self._autowrap_functions = tuple(autowrap_modules), tuple(autowrap_functions)
        self.param_shapes_constant = param_shapes_constant
        self.root: Module = Module()
        self.tensor_attrs: dict[int, str] = {}
        self._paths: dict[int, str] = {}
        self._calls: dict[str, int] = {}
        self.module_stack: dict[str, tuple[str, Any]] = {}
        self._made: dict[str, Any] = {}

    def create_arg(self, a: Any) -> Argument:
        """As the base does; tensors and modules become attributes of the root."""
        path = self._path_of(a)
        return super().create_arg(a) if path is None else self.create_node("get_attr", path, (), {})

    def _path_of(self, a: Any) -> str | None:
        """The attribute of the root that a tensor, a module or a constant of a class is; None for all else."""
        if isinstance(a, torch.Tensor):
            named = itertools.chain(self.root.named_parameters(), self.root.named_buffers())
            path = self.tensor_attrs.get(id(a)) or next((str(name) for name, own in named if own is a), None)
            if path is None:
                path = self.tensor_attrs[id(a)] = self._keep(a, "_tensor_constant")
            return path
        if isinstance(a, Module):
            for name, own in self.root.named_modules():
                if own is a:
                    return name
            raise NotImplementedError(f"argument of type: {type(a)}")
        # made out of known values: a constant of the root
        return self._keep(a, f"_{type(a).__name__}_constant_") if isinstance(type(a), ProxyableClassMeta) else None

    def _keep(self, a: Any, start: str) -> str:
        name = unused_name(self.root, start)
        setattr(self.root, name, a)
        return name

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module becomes one node."""
        return m.__module__.startswith(("torch.nn", "torch.ao.nn", "shim_torch.nn")) and not isinstance(
            m, torch.nn.Sequential
        )

    def path_of_module(self, mod: Module) -> str:
        """The name of a module within the root. Errors: NameError when it is not there."""
        path = self._paths.get(id(mod))
        if path is None:
            path = next((n for n, m in self.root.named_modules() if m is mod), None)
        if not isinstance(path, str):
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(self, m: Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What calling a module gives: a node for leaves, the value of its forward for others."""
        path = self.path_of_module(m)
        times = self._calls[path] = self._calls.get(path, -1) + 1
        key = f"{path}@{times}" if times else path
        self.module_stack[key] = (path, type(m))
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            del self.module_stack[key]

    def create_node(
        self, kind: str, target: Any, args: Any, kwargs: Any, name: str | None = None, type_expr: Any = None
    ) -> Node:
        """Adds a node; it notes which modules were being called."""
        made = super().create_node(kind, target, args, kwargs, name, type_expr)
        if self.module_stack:
            made.meta["nn_module_stack"] = OrderedDict(self.module_stack)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        made = memo[id(self)] = copy.copy(self)
        made._made = {}  # values that stand for steps of a trace: they cannot be copied
        own = {name: value for name, value in vars(self).items() if not name.startswith(("_autowrap", "_made"))}
        made.__dict__.update(copy.deepcopy(own, memo))
        return made

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What reading an attribute of a module gives: a node for parameters, the value itself for all else."""
        if not isinstance(attr_val, torch.nn.Parameter) and not (
            self.proxy_buffer_attributes and isinstance(attr_val, torch.Tensor)
        ):
            return attr_val
        source = self.root.named_parameters() if isinstance(attr_val, torch.nn.Parameter) else self.root.named_buffers()
        for name, own in source:
            if own is attr_val:
                if name not in parameter_proxy_cache:
                    extra: dict[str, Any] = {}  # create_proxy may be overridden without this argument
                    if self.param_shapes_constant:
                        extra["proxy_factory_fn"] = lambda node, n=name: ParameterProxy(self, node, n, attr_val)
                    parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {}, **extra)
                return parameter_proxy_cache[name]
        return attr_val

    def create_args_for_root(self, root_fn: Any, is_module: bool, concrete_args: Any = None) -> tuple[Any, list[Any]]:
        """The function to run and its arguments: a placeholder each, ``*args`` and ``**kwargs`` one each."""
        function = inspect.unwrap(root_fn)
        code = function.__code__
        names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        rest = list(code.co_varnames[len(names) :])
        parameters = inspect.signature(function).parameters
        args: list[Any] = [self.root] if is_module else []
        if is_module and not names:
            raise RuntimeError("``self`` argument cannot be part of *args expansion!")
        concrete = concrete_args if isinstance(concrete_args, dict) else {}
        if isinstance(concrete_args, tuple):
            concrete = dict(zip(names[len(args) :], concrete_args, strict=False))
        keywords: dict[str, Any] = {}
        for i, name in enumerate(names[len(args) :], len(args)):
            value = self._input(name, parameters[name].default, concrete)
            if i < code.co_argcount:
                args.append(value)
            else:
                keywords[name] = value
        if code.co_flags & inspect.CO_VARARGS:
            args.append(self.create_proxy("placeholder", f"*{rest.pop(0)}", (), {}))
        if code.co_flags & inspect.CO_VARKEYWORDS:
            keywords[""] = self.create_proxy("placeholder", f"**{rest.pop(0)}", (), {})
        if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            # The rest comes as one value, not as a tuple or dict: the function is given it as a plain argument.
            flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
            total = len(args) + len(keywords)
            plain = FunctionType(
                code.replace(co_argcount=total, co_kwonlyargcount=0, co_flags=flags), function.__globals__, function.__name__, None,
                function.__closure__
            )  # fmt: skip
            positional = code.co_argcount
            return plain, [*args[:positional], *(v for k, v in keywords.items() if k), *args[positional:],
                           *([keywords[""]] if "" in keywords else [])]  # fmt: skip
        whole = functools.partial(function, **keywords) if keywords else function
        return self._flattened(whole, args, names, int(is_module)) if concrete else (whole, args)

    def _flattened(self, function: Any, args: list[Any], names: list[str], first: int) -> tuple[Any, list[Any]]:
        """The function of the leaves of nested concrete arguments; the graph's code then flattens what it is given."""
        flat, spec = _pytree.tree_flatten(tuple(args[first:]))
        if all(child.is_leaf() for child in spec.children()):
            return function, args
        codegen = self.graph._codegen = _PyTreeCodeGen(PyTreeInfo(names[first:], spec, None))

        def run(*leaves: Any) -> Any:
            found, out_spec = _pytree.tree_flatten(function(*args[:first], *_pytree.tree_unflatten(list(leaves), spec)))
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return found

        return run, flat

    def _input(self, name: str, default: Any, concrete: dict[str, Any]) -> Any:
        given = () if default is inspect.Parameter.empty else (default,)
        if name not in concrete:
            return self.create_proxy("placeholder", name, given, {})
        count = itertools.count(1)
        return _pytree.tree_map(lambda leaf: self._concrete(name, f"{name}_{next(count)}", given, leaf), concrete[name])

    def _concrete(self, name: str, numbered: str, given: tuple[Any, ...], concrete: Any) -> Any:
        proxy = self.create_proxy("placeholder", numbered, given, {})
        if isinstance(concrete, PHBase):
            if concrete is not PH:
                _transfer_attrs(concrete, proxy.node)
            return proxy
        text = f"{name} has been specialized to have value {concrete} but got another value"
        if isinstance(concrete, (bool, int, float, str)):
            self.create_proxy("call_function", torch._assert, (proxy == concrete, text), {})
        elif concrete is None:
            self.create_proxy("call_function", _assert_is_none, (proxy, text), {})
        return concrete

    def trace(self, root: Module | Callable[..., Any], concrete_args: Any = None) -> Graph:
        """The graph of a module's forward or of a function. ``concrete_args`` are inputs with fixed values."""
        global _tracing
        if isinstance(root, Module):
            self.root = root
            function = type(root).forward
            if "forward" in vars(root):
                function = vars(root)["forward"].__func__ if inspect.ismethod(vars(root)["forward"]) else function
        else:
            self.root, function = Module(), root
        if not isinstance(function, FunctionType):
            raise AssertionError(f"Expected FunctionType, got {type(function)}")
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = {id(v): k for k, v in self._plain_tensors(self.root)}
        self._paths = {id(m): n for n, m in reversed(list(self.root.named_modules()))}
        self._made, self._calls, self.module_stack = {}, {}, {}
        run, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        _tracing += 1
        try:
            with self._patched(function):
                result = run(*args)
                self.create_node("output", "output", (self.create_arg(result),), {},
                                 type_expr=getattr(function, "__annotations__", {}).get("return"))  # fmt: skip
        finally:
            _tracing -= 1
        return self.graph

    @staticmethod
    def _plain_tensors(root: Module) -> Iterator[tuple[str, Any]]:
        for prefix, module in root.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, torch.Tensor):
                    yield (f"{prefix}.{name}" if prefix else name), value

    @contextmanager
    def _patched(self, function: Any) -> Iterator[None]:
        """Within, modules and their attributes are asked through this tracer, and leaf functions become nodes."""
        call, get = Module.__call__, Module.__getattr__
        tracer = self
        undo: list[tuple[dict[str, Any], str, Any]] = []

        def traced_call(mod: Any, *args: Any, **kwargs: Any) -> Any:
            return tracer.call_module(mod, lambda *a, **k: call(mod, *a, **k), args, kwargs)

        def traced_get(mod: Any, name: str) -> Any:
            return tracer.getattr(name, get(mod, name), tracer._made)

        for space in _namespaces():
            for name, found in list(space.items()):
                if name[:1] != "_" and isinstance(found, FunctionType):
                    _replace(undo, space, name, found, True)
        for name in _factories():  # their arguments may be values that are not known
            _replace(undo, vars(torch), name, getattr(torch, name))
        for module in self._autowrap_modules:
            for name, found in list(vars(module).items()):
                if name[:1] != "_":
                    _replace(undo, vars(module), name, found)
        own = getattr(inspect.unwrap(function), "__globals__", {})
        for target in self._autowrap_functions:
            for name, found in list(own.items()):
                if found is target:
                    _replace(undo, own, name, found)
        for (_, name), space in list(_wrapped.items()):
            _replace(undo, space, name, space.get(name, getattr(builtins, name, None)))
        methods = [(cls, name, getattr(cls, name)) for cls, name in _wrapped_methods_to_patch]
        Module.__call__, Module.__getattr__ = traced_call, traced_get  # type: ignore[method-assign, assignment]
        for cls, name, found in methods:
            setattr(cls, name, _method_leaf(found, name))
        try:
            yield
        finally:
            Module.__call__, Module.__getattr__ = call, get  # type: ignore[method-assign, assignment]
            for cls, name, found in methods:
                setattr(cls, name, found)
            for space, name, before in reversed(undo):
                if before is PH:
                    space.pop(name, None)
                else:
                    space[name] = before


class _LeafTracer(Tracer):
    """Adds to a graph of ``root``: every module is a leaf."""

    def __init__(self, root: Module, graph: Graph) -> None:
        super().__init__()
        self.root, self.graph = root, graph

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True


def _transfer_attrs(fr: Any, to: Any) -> None:
    """Gives ``to`` the plain attributes of ``fr`` that it does not have."""
    for name in dir(fr):
        value = getattr(fr, name)
        if not callable(value) and not name.startswith("__") and not hasattr(to, name):
            setattr(to, name, value)


def _namespaces() -> list[dict[str, Any]]:
    """Where torch's own functions in Python stand: called with values not known, each is one node."""
    return [vars(torch.nn.functional), vars(sys.modules.get("shim_torch.functional") or torch.functional), vars(torch)]


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: Any = None) -> GraphModule:
    """A module that does what ``root`` does, with its graph. Errors: TraceError where a condition depends on an input."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


class ProxyableClassMeta(type):
    """The metaclass of classes that tracing takes as they are: making one of values not known becomes a node.

    Instances may hold such values: only the call of the class within a traced function is one step.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return super().__call__(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
