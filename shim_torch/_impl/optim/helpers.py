"""Helpers of ``torch.optim.optimizer`` that optimizers outside of PyTorch import from there."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch
from shim_torch.autograd.grad_mode import set_grad_enabled
from shim_torch.utils._foreach_utils import (
    _get_foreach_kernels_supported_devices as _get_foreach_kernels_supported_devices,
)
from shim_torch.utils._foreach_utils import (
    _get_fused_kernels_supported_devices as _get_fused_kernels_supported_devices,
)
from shim_torch.utils._foreach_utils import _group_tensors_by_device_and_dtype as _group_tensors_by_device_and_dtype

_T = TypeVar("_T")
_P = Any
Args = tuple[Any, ...]
Kwargs = dict[str, Any]
StateDict = dict[str, Any]
DeviceDict = dict[Any, Any]
DeviceDtypeDict = dict[Any, Any]
TensorListList = list[Any]
Indices = list[int]
ParamsT = Iterable[Any]
R = T = _T

_params_doc = """params (iterable): tensors, (name, tensor) pairs, or dicts that define parameter groups"""
_foreach_doc = """foreach (bool, optional): whether whole lists of parameters are updated at once (default: None)"""
_fused_doc = """fused (bool, optional): whether one kernel makes the whole update (default: None)"""
_capturable_doc = """capturable (bool, optional): whether a CUDA graph may capture the step (default: False)"""
_differentiable_doc = """differentiable (bool, optional): whether gradients flow through the step (default: False)"""
_maximize_doc = """maximize (bool, optional): maximize the objective instead of minimizing it (default: False)"""


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    return ["cuda", "xpu", "hpu", "privateuseone"] + (["xla"] if supports_xla else [])


def _foreach_supported_types() -> list[type]:
    from shim_torch.nn.parameter import Parameter

    return [_core.Tensor, Parameter]


def _default_to_fused_or_foreach(params: Any, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """The defaults of (fused, foreach) for an optimizer that was given neither."""
    if differentiable:
        return False, False
    kinds = {(type(p), p.device.type, p.is_floating_point()) for p in params if p is not None}

    def suit(devices: list[str], floats: tuple[bool, ...]) -> bool:
        known = _foreach_supported_types()
        return all(kind in known and device in devices and floating in floats for kind, device, floating in kinds)

    fused = use_fused and suit(_get_fused_kernels_supported_devices(), floats=(True,))
    return fused, not fused and suit(_get_foreach_kernels_supported_devices(), floats=(True, False))


def _device_dtype_check_for_fused(p: Any, cuda_unsupported: bool = False) -> None:
    devices = [d for d in _get_fused_kernels_supported_devices() if not (cuda_unsupported and d == "cuda")]
    if not (p.device.type in devices and p.is_floating_point()):
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of "
            f"supported devices: {devices} but {p.dtype} and {p.device.type}"
        )


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """The dtype of step counts."""
    if is_fused or _core.get_default_dtype() != _core.float64:
        return _core.float32
    return _core.float64


def _get_value(x: Any) -> Any:
    """The number in a tensor of one element; a number as it is."""
    return x.item() if isinstance(x, _core.TensorBase) else x


def _to_scalar(x: Any) -> Any:
    """A tensor of one element as a 0-d tensor; anything else as it is."""
    return x.squeeze() if isinstance(x, _core.TensorBase) and x.dim() != 0 else x


def _stack_if_compiling(x: Any) -> Any:
    return x


def _dispatch_sqrt(x: Any) -> Any:
    """The square root of a number or a tensor."""
    return x.sqrt() if isinstance(x, _core.TensorBase) else x**0.5


def _view_as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Replaces complex tensors in every list by ``view_as_real``, in place."""
    for i, p in enumerate(params):
        if p.is_complex():
            params[i] = torch.view_as_real(p)
            for values in state_and_grads:
                values[i] = torch.view_as_real(values[i])


def _use_grad_for_differentiable(func: Callable[..., _T]) -> Callable[..., _T]:
    """Decorates ``step``: gradients are recorded only where the optimizer is differentiable."""

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> _T:
        with set_grad_enabled(bool(args[0].defaults["differentiable"])):
            return func(*args, **kwargs)

    return run


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[_T], _T]:
    """The function itself: nothing is compiled."""
    return lambda function: function
