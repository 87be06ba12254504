"""``torch.fx._symbolic_trace``: graphs of functions and modules, by running them on values that are not known."""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import math
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType, ModuleType
from typing import Any

import shim_torch as torch
from shim_torch._impl.fx.concrete_args import PH as PH
from shim_torch._impl.fx.concrete_args import PHBase as PHBase
from shim_torch._impl.fx.concrete_args import PHWithMeta as PHWithMeta
from shim_torch._impl.fx.concrete_args import _assert_is_none as _assert_is_none
from shim_torch._impl.fx.concrete_args import _transfer_attrs as _transfer_attrs
from shim_torch._impl.fx.concrete_args import flattened, input_of
from shim_torch._impl.fx.leaf_functions import WRAPPED, _find_proxy, patched
from shim_torch._impl.fx.leaf_functions import _wrapped_methods_to_patch as _wrapped_methods_to_patch
from shim_torch.fx.graph import Graph
from shim_torch.fx.graph_module import GraphModule
from shim_torch.fx.node import Argument, Node
from shim_torch.fx.proxy import ParameterProxy, TracerBase, unused_name
from shim_torch.nn.modules.module import Module

__all__ = ["PH", "Tracer", "is_fx_symbolic_tracing", "is_fx_tracing", "symbolic_trace", "wrap"]


_tracing = 0


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
    WRAPPED[id(space), name] = space
    return fn_or_name


def _names_of_module(frame: FrameType) -> dict[str, Any]:
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    return frame.f_globals


def _return_type(function: Any) -> Any:
    found = getattr(function, "__annotations__", {}).get("return")
    return None if found == "Any" else found  # what our layers say


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
            value = input_of(self, name, parameters[name], concrete)
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
        return flattened(self, whole, args, names, int(is_module)) if concrete else (whole, args)

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
            with patched(self, function):
                result = run(*args)
                plain = run is function  # one that was made of it has no annotations
                self.create_node("output", "output", (self.create_arg(result),), {},
                                 type_expr=_return_type(function) if plain else None)  # fmt: skip
        finally:
            _tracing -= 1
        return self.graph

    @staticmethod
    def _plain_tensors(root: Module) -> Iterator[tuple[str, Any]]:
        for prefix, module in root.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, torch.Tensor):
                    yield (f"{prefix}.{name}" if prefix else name), value


class _LeafTracer(Tracer):
    """Adds to a graph of ``root``: every module is a leaf."""

    def __init__(self, root: Module, graph: Graph) -> None:
        super().__init__()
        self.root, self.graph = root, graph

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True


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
