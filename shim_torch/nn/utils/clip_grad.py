"""Gradient clipping."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.optim.local_parts import local_parts
from shim_torch._impl.records.pointwise.foreach import norms_on_cuda
from shim_torch.autograd.grad_mode import no_grad

_tensor_or_tensors = _core.Tensor | Iterable[_core.Tensor]
_no_grad = no_grad()  # libraries decorate their own clipping with it


def _grads(parameters: Any) -> list[Any]:
    if isinstance(parameters, _core.Tensor):
        parameters = [parameters]
    return [p.grad for p in parameters if p.grad is not None]


@no_grad()
def get_total_norm(
    tensors: Iterable[Any], norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Any:
    """The norm of all tensors taken together."""
    import shim_torch

    tensors = [tensors] if isinstance(tensors, _core.Tensor) else list(tensors)
    if not tensors:
        return shim_torch.tensor(0.0)
    first = tensors[0].device
    if all(hasattr(t, "_spec") for t in tensors):
        from shim_torch._impl.distributed.spread_norms import total_norm as spread_norm

        total = spread_norm(tensors, float(norm_type))
        return _finite(total, norm_type) if error_if_nonfinite else total
    stacked = norms_on_cuda(tensors, float(norm_type))
    if stacked is None:
        norm, order = _core.function("aten::linalg_vector_norm"), float(norm_type)
        norms = [norm(t, order) for t in tensors]
        norms = [n if n.device == first else n.to(first) for n in norms]
        stacked = shim_torch.stack(norms)
    total = shim_torch.ops.aten.linalg_vector_norm(stacked, float(norm_type))
    return _finite(total, norm_type) if error_if_nonfinite else total


def _finite(total: Any, norm_type: float) -> Any:
    """The norm. Errors: RuntimeError where it is not finite."""
    if not math.isfinite(float(total)):
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """Scales gradients in place so that their total norm is at most ``max_norm``; returns the norm before."""
    max_norm = float(max_norm)
    with no_grad():
        grads = _grads(parameters)
        total = get_total_norm(grads, norm_type, error_if_nonfinite)
        factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
        _scale(grads, factor)
        return total


def _scale(grads: list[Any], factor: Any) -> None:
    if hasattr(factor, "_spec") and grads and all(hasattr(g, "_spec") for g in grads):
        grads, factor = local_parts(grads)[0], factor.full_tensor()
        if hasattr(grads[0], "_spec"):
            raise NotImplementedError(
                "torch.nn.utils.clip_grad_norm_: gradients that are parts of a sum are not supported by shim-torch"
            )
    if grads and grads[0].is_cuda and _core.cuda_each("mul", True, grads, (factor,), None) is not None:
        return
    for g in grads:
        g.mul_(factor if g.device == factor.device else factor.to(g.device))


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Any, foreach: bool | None = None) -> None:
    """Scales gradients in place by max_norm / total_norm where that is less than one."""
    max_norm = float(max_norm)
    with no_grad():
        grads = _grads(parameters)
        if grads:
            factor = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
            _scale(grads, factor)


_clip_grads_with_norm_, _get_total_norm = clip_grads_with_norm_, get_total_norm
clip_grad_norm = clip_grad_norm_


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Limits every gradient element to [-clip_value, clip_value], in place."""
    with no_grad():
        grads, limit = list(_grads(parameters)), float(clip_value)
        if foreach is not False and len(grads) > 1 and all(g.is_cuda and g.layout is _core.strided for g in grads):
            import shim_torch as torch

            torch._foreach_clamp_min_(grads, -limit)
            torch._foreach_clamp_max_(grads, limit)
            return
        for g in grads:
            g.clamp_(min=-limit, max=limit)
