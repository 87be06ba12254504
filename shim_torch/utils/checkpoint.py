"""``torch.utils.checkpoint``: saves memory by running a part of the forward pass again in backward."""

from __future__ import annotations

import contextlib
import functools
import typing
from collections.abc import Callable, Generator, Iterator
from typing import Any

from shim_torch import autograd as _autograd
from shim_torch._impl.native import _core
from shim_torch._impl.surface.missing import module_getattr as _module_getattr
from shim_torch._impl.utils.checkpoint_inputs import (  # noqa: F401
    DefaultDeviceType,
    _infer_device_type,
    check_backward_validity,
    detach_variable,
    is_reentrant,
    preserve_rng_state_of,
)
from shim_torch._impl.utils.recompute import CheckpointError as CheckpointError
from shim_torch._impl.utils.recompute import Frame as _Frame
from shim_torch._impl.utils.recompute import GraphExecGroup as GraphExecGroup
from shim_torch._impl.utils.recompute import describe as _describe
from shim_torch._impl.utils.selective_checkpoint import SAC_IGNORED_OPS as SAC_IGNORED_OPS
from shim_torch._impl.utils.selective_checkpoint import CheckpointPolicy as CheckpointPolicy
from shim_torch._impl.utils.selective_checkpoint import (
    SelectiveCheckpointContext as SelectiveCheckpointContext,
)
from shim_torch._impl.utils.selective_checkpoint import _CachedTorchDispatchMode as _CachedTorchDispatchMode
from shim_torch._impl.utils.selective_checkpoint import _CachingTorchDispatchMode as _CachingTorchDispatchMode
from shim_torch._impl.utils.selective_checkpoint import (
    create_selective_checkpoint_contexts as create_selective_checkpoint_contexts,
)
from shim_torch.autograd.grad_mode import enable_grad as _enable_grad
from shim_torch.autograd.grad_mode import no_grad as _no_grad

__all__ = [
    "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType", "GraphExecGroup",
    "SAC_IGNORED_OPS", "SelectiveCheckpointContext", "check_backward_validity", "checkpoint", "checkpoint_sequential",
    "create_selective_checkpoint_contexts", "detach_variable", "get_device_states", "noop_context_fn",
    "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states",
]  # fmt: skip
_early_stop: bool | None = None  # set_checkpoint_early_stop(), which goes before the argument
_debug: bool | None = None
_DEFAULT_DETERMINISM_MODE = "default"


def _get_device_module(device: str = "cuda") -> Any:
    """``torch.cuda`` of ``"cuda"``; for ``"meta"`` its device."""
    from shim_torch import _utils

    return _core.device("meta") if device == "meta" else _utils.get_device_module(device)


def _get_autocast_kwargs(device_type: str = "cuda") -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """How autocast stands for a device (None where it has none) and for the CPU, as ``torch.autocast`` takes it."""
    from shim_torch import amp
    from shim_torch.amp.autocast_mode import get_autocast_dtype, is_autocast_enabled

    def state(device: str) -> dict[str, Any]:
        return {
            "enabled": is_autocast_enabled(device),
            "dtype": get_autocast_dtype(device),
            "cache_enabled": _core.is_autocast_cache_enabled(),
        }

    return state(device_type) if amp.is_autocast_available(device_type) else None, state("cpu")


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The GPUs that the arguments are on, and the states of their random generators."""
    from shim_torch.utils._pytree import tree_leaves

    found = sorted({x.get_device() for x in tree_leaves(args) if isinstance(x, _core.TensorBase) and x.is_cuda})
    return found, _device_states(found)


def _device_states(devices: list[int]) -> list[Any]:
    from shim_torch import cuda

    return [cuda.get_rng_state(i) for i in devices]


def set_device_states(devices: list[int], states: list[Any], *, device_type: str | None = None) -> None:
    """Sets the states that ``get_device_states`` gave."""
    from shim_torch import cuda

    for device, state in zip(devices, states, strict=True):
        cuda.set_rng_state(state, device)


class _Surroundings:
    """The random state and autocast settings of the first pass, for the second."""

    def __init__(self, args: Any, preserve_rng_state: bool) -> None:
        from shim_torch.random import get_rng_state

        self.rng = get_rng_state() if preserve_rng_state else None
        self.devices, self.states = get_device_states(args) if preserve_rng_state else ([], [])
        self.autocast = [
            (kind, _core.is_autocast_enabled(kind), _core.get_autocast_dtype(kind), _core.is_autocast_cache_enabled())
            for kind in ("cpu", "cuda")
        ]

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        from shim_torch.random import get_rng_state, set_rng_state

        current = get_rng_state() if self.rng is not None else None
        here = self.devices, _device_states(self.devices)
        with contextlib.ExitStack() as stack:
            for kind, enabled, dtype, cache in self.autocast:
                if enabled or _core.is_autocast_enabled(kind):
                    from shim_torch import amp

                    stack.enter_context(amp.autocast(kind, dtype=dtype, enabled=enabled, cache_enabled=cache))
            if self.rng is not None:
                set_rng_state(self.rng)
                set_device_states(self.devices, self.states)
            try:
                yield
            finally:
                if current is not None:
                    set_rng_state(current)
                    set_device_states(*here)


class CheckpointFunction(_autograd.Function):
    """The reentrant kind: a function whose backward runs the forward again and calls ``backward`` on it."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        """Runs the function without history, keeping its arguments."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _Surroundings(args, preserve_rng_state)
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, _core.TensorBase)]
        ctx.inputs = [None if i in set(ctx.places) else a for i, a in enumerate(args)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with _no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Runs the function again with history, and backward on it; RuntimeError under ``autograd.grad``."""
        if not _core._is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() "
                "without passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for i, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[i] = tensor
        with ctx.surroundings.again():
            detached = detach_variable(tuple(inputs))
            with _enable_grad():
                outputs = ctx.run_function(*detached)
        if isinstance(outputs, _core.TensorBase):
            outputs = (outputs,)
        wanted = [
            (out, g)
            for out, g in zip(outputs, grads, strict=True)
            if isinstance(out, _core.TensorBase) and out.requires_grad
        ]
        if not wanted:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        _autograd.backward([out for out, _ in wanted], [g for _, g in wanted])
        return None, None, *(x.grad if isinstance(x, _core.TensorBase) else None for x in detached)


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that do nothing: for the first and the second forward pass."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn, determinism_check: str = "default",
    debug: bool = False, early_stop: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """``function(*args, **kwargs)``, of which backward keeps the arguments only and computes the rest again.

    use_reentrant=False (recommended) works with ``autograd.grad``, keyword arguments and inputs without gradients;
    CheckpointError when the second pass saves other tensors than the first.
    """
    reentrant = is_reentrant(use_reentrant)
    preserve = preserve_rng_state_of(kwargs, others=not reentrant)
    if not reentrant:
        with contextlib.contextmanager(_checkpoint_without_reentrant_generator)(
            function, preserve, context_fn, determinism_check, debug, early_stop, *args, **kwargs
        ):
            return function(*args, **kwargs)
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def _checkpoint_without_reentrant_generator(
    fn: Callable[..., Any], preserve_rng_state: bool = True,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = _DEFAULT_DETERMINISM_MODE, debug: bool = False, early_stop: bool = True, *args: Any,
    **kwargs: Any,
) -> Generator[None, None, None]:  # fmt: skip
    """``checkpoint`` without reentrance as two steps: its caller runs ``fn`` between the first and the second."""
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    on_error = None
    if debug if _debug is None else _debug:
        from shim_torch._impl.utils.checkpoint_debug import debug_contexts

        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        context_fn, on_error = debug_contexts()
    first, second = context_fn()
    if not _core.is_grad_enabled():
        yield
        return
    frame = _Frame(
        _second_pass(fn, args, kwargs, second, preserve_rng_state),
        args,
        early_stop if _early_stop is None else _early_stop,
        _describe if determinism_check == "default" else None,
    )
    failed = False
    with frame.saving(on_error), first:
        try:
            yield
        except BaseException:
            failed = True
            raise
    if failed:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during the "
            "checkpointed forward. This is not supported because checkpoint cannot return a value for a failed forward."
        )
    frame.complete = True


def _second_pass(function: Any, args: Any, kwargs: Any, context: Any, preserve: bool) -> Callable[..., None]:
    """Runs the function as it ran first: random state, autocast, default device."""
    from shim_torch._impl.tensor.torch_function import _get_current_function_mode_stack
    from shim_torch.utils._device import DeviceContext

    surroundings = _Surroundings((args, kwargs), preserve)
    devices = [mode for mode in _get_current_function_mode_stack() if isinstance(mode, DeviceContext)]

    def again(*inputs: Any) -> None:
        with surroundings.again(), context, devices[-1] if devices else contextlib.nullcontext():
            function(*inputs, **kwargs)

    return again


def _in_turn(layers: list[Any]) -> Callable[[Any], Any]:
    return functools.partial(functools.reduce, lambda x, layer: layer(x), layers)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Runs a sequence of layers in ``segments`` parts, all but the last checkpointed."""
    preserve = preserve_rng_state_of(kwargs, others=False)
    layers = list(functions.children() if hasattr(functions, "children") else functions)
    size = len(layers) // segments
    last = size * (segments - 1)
    run = functools.partial(checkpoint, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    parts = [functools.partial(run, _in_turn(layers[start : start + size])) for start in range(0, last, size)]
    return _in_turn([*parts, *layers[last:]])(input)


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether the second pass stops once every saved tensor is back."""
    global _early_stop
    old, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = old


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Whether checkpoints log their operators, for the text of their errors; None leaves it to their ``debug`` argument."""
    global _debug
    old, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = old


def __getattr__(name: str) -> Any:
    """``typing``'s names are names of this module, as of PyTorch's, which takes them all (unsloth_zoo asks for one)."""
    if name in typing.__all__:
        return getattr(typing, name)
    return _module_getattr(__name__)(name)
