"""``torch._functorch.aot_autograd``: forward and backward of a function as graphs, each compiled by a function of yours."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from shim_torch._functorch.partitioners import default_partition
from shim_torch._impl.fx.joint_graphs import Call, Compilers, compile_call
from shim_torch._impl.native import _core
from shim_torch.nn import Module
from shim_torch.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["aot_function", "aot_module", "aot_module_simplified", "compiled_function", "compiled_module"]


def make_boxed_func(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f`` as a function of one list of arguments."""

    def boxed(args: Any) -> Any:
        return f(*args)

    boxed._boxed_call = True  # type: ignore[attr-defined]
    return boxed


def make_boxed_compiler(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """A compiler whose functions take one list of arguments."""

    def boxed(fx_g: Any, inps: Any) -> Any:
        return make_boxed_func(compiler(fx_g, inps))

    return boxed


def _kind(leaf: Any) -> Any:
    """What a graph is made for: of a tensor all but its values, of anything else the value."""
    if not isinstance(leaf, _core.TensorBase):
        try:
            hash(leaf)
        except TypeError:
            return id(leaf)
        return type(leaf), leaf
    return leaf.shape, leaf.stride(), leaf.dtype, leaf.device, leaf.requires_grad


def aot_function(
    fn: Callable[..., Any],
    fw_compiler: Callable[..., Any],
    bw_compiler: Callable[..., Any] | None = None,
    partition_fn: Callable[..., Any] = default_partition,
    decompositions: dict[Any, Callable[..., Any]] | None = None,
    num_params_buffers: int = 0,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Callable[..., Any] | None = None,
    *,
    dynamic: bool = False,
    enable_log: bool = True,
    disable_functionalization: bool = False,
    _disable_torch_fn_metadata_mode: bool = False,
) -> Callable[..., Any]:
    """``fn`` traced when it is called: the graphs of forward and backward go to the compilers, what those give is run.

    fw_compiler, bw_compiler, inference_compiler: functions of (GraphModule, example inputs) that give a function; backward's
    is asked at the first backward, inference's where no result requires grad. partition_fn: cuts the graph of both in two.
    decompositions: {operator: function}. keep_inference_input_mutations: writes into arguments stay steps of the graph.
    Sizes and numbers are those of the call: other sizes, with ``dynamic`` or without, have graphs of their own.

    Errors: NotImplementedError where ``fn`` writes into an argument that requires grad.
    """
    use = Compilers(
        forward=fw_compiler,
        backward=bw_compiler or fw_compiler,
        inference=inference_compiler or fw_compiler,
        partition=partition_fn,
        decompositions=decompositions,
        keep_mutations=keep_inference_input_mutations,
        functional=not disable_functionalization,
    )
    made: dict[Any, tuple[Call, Callable[[list[Any]], list[Any]]]] = {}

    @functools.wraps(fn)
    def returned_function(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten((args, kwargs))
        key = (_core.is_grad_enabled(), str(spec), *map(_kind, leaves))
        if key not in made:
            call = Call(fn, leaves, lambda found: tree_unflatten(found, spec))
            made[key] = call, compile_call(call, use)
            call.forget()
        call, run = made[key]
        return call.result(run([x for x in leaves if isinstance(x, _core.TensorBase)]))

    return returned_function


def _parts(mod: Module) -> tuple[list[str], list[Any]]:
    """Names and tensors of a module's parameters and buffers."""
    both = {**dict(mod.named_parameters()), **dict(mod.named_buffers())}
    return list(both), list(both.values())


def _functional_module(mod: Module) -> Callable[..., Any]:
    """The module as a function of its parameters and buffers too, the first argument."""
    from shim_torch.nn.utils.stateless import _reparametrize_module

    names = _parts(mod)[0]

    def call(parts: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        with _reparametrize_module(mod, dict(zip(names, parts, strict=True))):
            return mod(*args, **kwargs)

    return call


class AOTModule(Module):
    """A module whose calls go to compiled code, which gets its parameters and buffers before the arguments."""

    def __init__(self, module: Module, run: Callable[..., Any]) -> None:
        super().__init__()
        self.orig_module = module
        self._run = run

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result, by the compiled graphs."""
        return self._run(_parts(self.orig_module)[1], *args, **kwargs)


def aot_module(mod: Module, *args: Any, **kwargs: Any) -> Module:
    """A module that runs ``mod`` as ``aot_function`` does; its parameters are those of ``mod``."""
    return AOTModule(mod, aot_function(_functional_module(mod), *args, **kwargs))


def aot_module_simplified(
    mod: Any,
    args: Sequence[Any],
    fw_compiler: Callable[..., Any],
    bw_compiler: Callable[..., Any] | None = None,
    partition_fn: Callable[..., Any] = default_partition,
    decompositions: dict[Any, Callable[..., Any]] | None = None,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """A function of the module's arguments, compiled for ``args`` as ``aot_function`` does; ``mod``'s own tensors are read anew at each call."""
    compiled = aot_function(
        _functional_module(mod),
        fw_compiler,
        bw_compiler,
        partition_fn,
        decompositions,
        keep_inference_input_mutations=keep_inference_input_mutations,
        inference_compiler=inference_compiler,
    )

    def forward(*runtime_args: Any) -> Any:
        return compiled(_parts(mod)[1], *runtime_args)

    forward.zero_grad = mod.zero_grad  # type: ignore[attr-defined]
    forward.named_parameters = mod.named_parameters  # type: ignore[attr-defined]
    forward.named_buffers = mod.named_buffers  # type: ignore[attr-defined]
    return forward


compiled_function = aot_function
compiled_module = aot_module
