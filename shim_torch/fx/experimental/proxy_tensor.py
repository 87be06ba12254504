"""``torch.fx.experimental.proxy_tensor``: the graph of the operators below autograd that a function runs on its arguments."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from shim_torch._impl.fx.proxy_mode import (
    ProxyTorchDispatchMode,
    PythonKeyTracer,
    disable_proxy_modes_tracing,
    get_innermost_proxy_mode,
    get_proxy_slot,
    has_proxy_slot,
    set_proxy_slot,
    track_tensor_tree,
)
from shim_torch._impl.native import _core
from shim_torch.fx.experimental.symbolic_shapes import ShapeEnv
from shim_torch.fx.graph_module import GraphModule
from shim_torch.fx.interpreter import Interpreter
from shim_torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

__all__ = [
    "DecompositionInterpreter",
    "ProxyTorchDispatchMode",
    "PythonKeyTracer",
    "ShapeEnv",
    "decompose",
    "disable_proxy_modes_tracing",
    "get_innermost_proxy_mode",
    "get_isolated_graphmodule",
    "get_proxy_mode",
    "get_proxy_slot",
    "has_proxy_slot",
    "make_fx",
    "maybe_disable_fake_tensor_mode",
    "set_proxy_slot",
    "track_tensor_tree",
]


def get_proxy_mode() -> Any:
    """The mode that traces now, or None."""
    return get_innermost_proxy_mode()


def maybe_disable_fake_tensor_mode() -> Any:
    """A context without fake tensors."""
    from shim_torch._subclasses.fake_tensor import unset_fake_temporarily

    return unset_fake_temporarily()


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Any = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
    **_: Any,
) -> Callable[..., GraphModule]:
    """A function that runs ``f`` on arguments and gives the graph of the operators it ran, those of backwards included.

    decomposition_table: {operator: function} that stand for operators. tracing_mode: "real" runs on the values, "fake" on
    shapes alone. Errors: RuntimeError where ``f`` asks for a value of its arguments; NotImplementedError for "symbolic".
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"Unexpected tracing_mode: {tracing_mode}")

    def wrapped(*args: Any) -> GraphModule:
        if tracing_mode == "symbolic":
            raise NotImplementedError(
                "torch.fx.experimental.proxy_tensor.make_fx(tracing_mode='symbolic') is not supported by shim-torch: sizes are "
                "plain numbers; use 'fake'"
            )
        if pre_dispatch:
            raise NotImplementedError(
                "torch.fx.experimental.proxy_tensor.make_fx(pre_dispatch=True) is not supported by shim-torch"
            )
        tracing = _Tracing(f, dict(decomposition_table or {}), tracing_mode, _allow_non_fake_inputs)
        tracing.error_on_data = _error_on_data_dependent_ops
        return tracing.run(args)

    return wrapped


class _Tracing:
    """One trace."""

    error_on_data = True

    def __init__(self, f: Any, table: dict[Any, Any], mode: str, allow_non_fake_inputs: bool) -> None:
        self.f, self.table = f, table
        self.fake_mode: Any = None
        if mode == "fake":
            from shim_torch._guards import detect_fake_mode
            from shim_torch._subclasses.fake_tensor import FakeTensorMode

            self.make_fake = lambda args: (
                detect_fake_mode(args) or FakeTensorMode(allow_non_fake_inputs=allow_non_fake_inputs)
            )
        else:
            self.make_fake = lambda args: None
        self.tracer = PythonKeyTracer()

    def names(self, count: int) -> list[str]:
        """What the parameters are called; ``arg0`` and so on where there is no telling."""
        plain = inspect.unwrap(self.f)
        code = getattr(plain, "__code__", None)
        if code is None or code.co_flags & inspect.CO_VARARGS:
            return [f"arg{i}" for i in range(count)]
        start = 1 if inspect.ismethod(plain) else 0
        found = list(code.co_varnames[start : code.co_argcount])
        return found if len(found) >= count else [f"arg{i}" for i in range(count)]

    def run(self, args: tuple[Any, ...]) -> GraphModule:
        from shim_torch._impl.fx.pytree_codegen import PyTreeInfo, _PyTreeCodeGen

        tracer, names = self.tracer, self.names(len(args))
        self.fake_mode = self.make_fake(args)
        nested = any(not tree_flatten(a)[1].is_leaf() for a in args)
        values = [self._inputs(name, a) for name, a in zip(names, args, strict=False)]
        fake: Any = self.fake_mode if self.fake_mode is not None else contextlib.nullcontext()
        with fake, ProxyTorchDispatchMode(tracer, "fake" if self.fake_mode else "real", self.table, self.error_on_data):
            result = self.f(*values)
        graph = tracer.graph
        noted = _evaluated(getattr(self.f, "__annotations__", {}).get("return"))
        out_leaves, out_spec = tree_flatten(result)
        if nested:
            graph.output(tracer.create_arg([tracer.proxy_of(x) for x in out_leaves]), noted)
            in_spec = tree_flatten(tuple(args))[1]
            graph.set_codegen(_PyTreeCodeGen(PyTreeInfo(names[: len(args)], in_spec, out_spec)))
        else:
            graph.output(tracer.create_arg(tree_map(tracer.proxy_of, result)), noted)
        name = type(self.f).__name__ if isinstance(self.f, _module()) else getattr(self.f, "__name__", "GraphModule")
        return GraphModule(tracer.root, graph, name)

    def _inputs(self, name: str, arg: Any) -> Any:
        """The argument as the function gets it, a placeholder for each leaf."""
        leaves, spec = tree_flatten(arg)
        made = []
        for i, leaf in enumerate(leaves, 1):
            proxy = self.tracer.create_proxy("placeholder", f"{name}_{i}", (), {})
            if isinstance(leaf, _core.TensorBase):
                if self.fake_mode is not None:
                    leaf = self.fake_mode.from_tensor(leaf)
                self.tracer.track(leaf, proxy)
            else:
                proxy.node.meta["val"] = leaf
            made.append(leaf)
        return tree_unflatten(made, spec)


def _evaluated(annotation: Any) -> Any:
    """What a function says it returns; None for what is only a text."""
    return None if isinstance(annotation, str) else annotation


def _module() -> Any:
    from shim_torch.nn.modules.module import Module

    return Module


def get_isolated_graphmodule(
    func: Any, args: Any, kwargs: Any, tracing_mode: str = "real", decomposition_table: Any = None
) -> GraphModule:
    """The graph of a call, without the modes that are on now."""
    all_args, spec = tree_flatten((args, kwargs))

    def wrapped(args: Any) -> Any:
        fn_args, fn_kwargs = tree_unflatten(list(args), spec)
        return func(*fn_args, **fn_kwargs)

    with disable_proxy_modes_tracing():
        return make_fx(wrapped, decomposition_table=decomposition_table, tracing_mode=tracing_mode)(all_args)


class DecompositionInterpreter(Interpreter):
    """Runs a graph and writes the operators that ran into ``new_graph``, those of the table by their decompositions."""

    def __init__(self, module: Any, new_graph: Any, decomposition_table: Any = None, **kwargs: Any) -> None:
        super().__init__(module, **kwargs)
        self.new_graph, self.decomposition_table = new_graph, dict(decomposition_table or {})
        self.tracer = PythonKeyTracer()
        self.tracer.graph = new_graph
        self.mode = ProxyTorchDispatchMode(self.tracer, "real", self.decomposition_table)

    def _noted(self, kind: str, target: Any, value: Any) -> Any:
        return track_tensor_tree(value, self.tracer.create_proxy(kind, target, (), {}), tracer=self.tracer)

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        """An input, one of the new graph too."""
        return self._noted("placeholder", target, super().placeholder(target, args, kwargs))

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """An attribute of the module, by its name in the new graph too."""
        return self._noted("get_attr", target, super().get_attr(target, args, kwargs))

    def output(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result, of the new graph too."""
        found = super().output(target, args, kwargs)
        self.new_graph.output(self.tracer.create_arg(tree_map(self.tracer.proxy_of, found)))
        return found

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result."""
        with self.mode:
            return super().run(*args, **kwargs)


@contextlib.contextmanager
def decompose(decomposition_table: Any) -> Iterator[Any]:
    """Within it the tracing mode stands operators by those functions."""
    mode = get_innermost_proxy_mode()
    if mode is None:
        yield decomposition_table
        return
    before, mode.table = mode.table, decomposition_table or {}
    try:
        yield decomposition_table
    finally:
        mode.table = before
