"""Normalisation over the batch or each sample's own values, with running statistics, and the update of those."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.autograd.grad_mode import no_grad
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import widened
from shim_torch._impl.records.shared.norm_statistics import check_one_dtype
from shim_torch._impl.records.shared.norm_statistics import statistics_dtype as _statistics_dtype
from shim_torch._impl.table.calls import shim
from shim_torch._impl.table.formats import gradient_in_format, in_plain_order
from shim_torch._impl.table.record import composite

_METHODLESS: dict[str, Any] = {"method": False}


def _check(channels: int, **given: Any) -> None:
    for name, t in given.items():
        if t is not None and t.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {t.numel()}")


def _one_kernel(input: Any, *others: Any) -> bool:
    """Whether one kernel does it: tensors of floats with elements on CUDA, or of the CPU where nobody looks on.

    Those of the CPU are contiguous, or images in channels last.
    """
    given = [t for t in others if t is not None]
    last = input.dim() == 4 and input.is_contiguous(memory_format=_core.channels_last)
    return (
        input.is_floating_point()
        and input.dim() > 1
        and input.numel() > 0
        and (input.is_cuda or _core.unseen(input, *given) and (last or in_plain_order(input)))
        and (input.dtype != _core.float64 or all(t.dtype == input.dtype for t in given))
        and all(t.dtype.is_floating_point and t.dim() == 1 for t in given)
    )


def _normalized(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float,
    asked: bool = True,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The values and, where asked for, the batch's mean and 1 / standard deviation; running statistics move toward the batch's."""
    given = (None, None) if training else (running_mean, running_var)
    if (training or (running_mean is not None and running_var is not None)) and _core.norms_channels(
        input, weight, bias, running_mean, running_var
    ):
        by_kernel, channels = True, input.size(1)
    else:
        channels = input.size(1) if input.dim() > 1 else input.size(0)
        if not input.numel() and input.dim() < 2:
            nothing = input.new_zeros((0,))
            return input.clone(), nothing, nothing
        _check(channels, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
        if not training and (running_mean is None or running_var is None):
            missing = "running_mean" if running_mean is None else "running_var"
            raise RuntimeError(f"{missing} must be defined in evaluation mode")
        check_one_dtype(input, weight, bias, running_mean, running_var)
        by_kernel = _one_kernel(input, weight, bias, running_mean, running_var)
    if by_kernel:
        y, mean, variance = shim.channel_norm(input, weight, bias, *given, training, float(eps))
        if training:
            _track(running_mean, running_var, mean, variance, input.numel() // channels, momentum)
        return y, mean, (variance + eps).rsqrt() if training and asked else None
    dims = [d for d in range(input.dim()) if d != 1]
    shape = [1, -1, *[1] * (input.dim() - 2)]
    x = widened(gradient_in_format(input))
    if training:
        mean = x.mean(dims)
        centred = x - mean.reshape(shape)
        variance = (centred * centred).mean(dims)
        if x.numel():  # a batch of nothing tells nothing
            _track(running_mean, running_var, mean, variance, x.numel() // max(channels, 1), momentum)
    else:
        mean, variance = running_mean.to(x.dtype), running_var.to(x.dtype)
        centred = x - mean.reshape(shape)
    rstd = (variance + eps).rsqrt()
    y = centred * rstd.reshape(shape)
    y = y if weight is None else y * weight.to(y.dtype).reshape(shape)
    y = y if bias is None else y + bias.to(y.dtype).reshape(shape)
    return y.to(input.dtype), mean, rstd


def _track(running_mean: Any, running_var: Any, mean: Any, variance: Any, count: int, momentum: float) -> None:
    if running_mean is not None and running_var is not None and mean.is_cuda and all(
        t.is_cuda and _core.unseen_on_cuda(t) for t in (running_mean, running_var, mean, variance)
    ) and _core.cuda_track(running_mean, running_var, mean, variance, float(momentum), count / max(count - 1, 1)):  # fmt: skip
        return
    with no_grad():
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(mean.to(running_mean.dtype), alpha=momentum)
        if running_var is not None:
            unbiased = variance * (count / max(count - 1, 1))
            running_var.mul_(1 - momentum).add_(unbiased.to(running_var.dtype), alpha=momentum)


_NORM = "Tensor input, Tensor? weight, Tensor? bias"
_RUNNING = "Tensor? running_mean, Tensor? running_var"
_SETTINGS = "bool training, float momentum, float eps"


@composite(
    f"batch_norm({_NORM}, {_RUNNING}, {_SETTINGS}, bool cudnn_enabled) -> Tensor",
    **_METHODLESS,
    gradient_name="NativeBatchNormBackward0",
    refuses=(("bic", "batch_norm"),),
)
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    """(x - mean) / √(var + eps) · weight + bias for each channel: the batch's statistics in training, else the running ones."""
    return _normalized(input, weight, bias, running_mean, running_var, training, momentum, eps, False)[0]


@composite(
    f"native_batch_norm({_NORM}, {_RUNNING}, {_SETTINGS}) -> (Tensor, Tensor, Tensor)",
    out=("out", "save_mean", "save_invstd"),
    **_METHODLESS,
    refuses=(("bic", "batch_norm"),),
)
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """``batch_norm``, and the batch's means and 1 / standard deviations (C,); these are (0,) where not training.

    In training ``running_mean`` and ``running_var`` (C,) move toward the batch's statistics, in place, by ``momentum``.
    """
    y, mean, rstd = _normalized(input, weight, bias, running_mean, running_var, training, momentum, eps)
    kept = _statistics_dtype(input, mean.dtype, weight, bias, running_mean, running_var)
    if not training:
        return y, input.new_zeros((0,)), input.new_zeros((0,))
    return y, mean.detach().to(kept), rstd.detach().to(kept)


@composite(f"_native_batch_norm_legit({_NORM}, Tensor(a!) running_mean, Tensor(b!) running_var, {_SETTINGS}) -> (Tensor, Tensor, Tensor)",
           out=("out", "save_mean", "save_invstd"), **_METHODLESS, refuses=(("bic", "batch_norm"),))  # fmt: skip
def _native_batch_norm_legit(input, weight, bias, running_mean, running_var, training, momentum, eps):
    return native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@composite(
    f"_native_batch_norm_legit.no_stats({_NORM}, {_SETTINGS}) -> (Tensor, Tensor, Tensor)",
    out=("out", "save_mean", "save_invstd"),
    **_METHODLESS,
)
def _native_batch_norm_legit_no_stats(input, weight, bias, training, momentum, eps):
    return native_batch_norm(input, weight, bias, None, None, training, momentum, eps)


@composite(f"_batch_norm_with_update({_NORM}, Tensor(a!) running_mean, Tensor(b!) running_var, float momentum, float eps)"
           " -> (Tensor, Tensor, Tensor, Tensor)", **_METHODLESS, refuses=(("bic", "batch_norm"),))  # fmt: skip
def _batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps):
    """native_batch_norm of training, and what a library would keep for backward: nothing."""
    found = native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *found, _core.empty_tensor((0,), dtype=_core.uint8, device=input.device)


@composite(f"_batch_norm_no_update({_NORM}, {_RUNNING}, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
           **_METHODLESS)  # fmt: skip
def _batch_norm_no_update(input, weight, bias, running_mean, running_var, momentum, eps):
    found = native_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)
    return *found, _core.empty_tensor((0,), dtype=_core.uint8, device=input.device)


@composite(f"_native_batch_norm_legit_no_training({_NORM}, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
           **_METHODLESS)  # fmt: skip
def _native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var, momentum, eps):
    return native_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)


@composite(f"instance_norm({_NORM}, {_RUNNING}, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
           **_METHODLESS, refuses=(("bic", "batch_norm"),), autocast="float32_cuda")  # fmt: skip
def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    """Each channel of each sample by its own statistics, or by the running ones, which are the samples' mean."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    n, c = input.shape[:2]

    def every(t: Any) -> Any:
        return None if t is None else t.repeat(n)

    means, variances = every(running_mean), every(running_var)
    y, *_ = _normalized(
        input.reshape(1, n * c, *input.shape[2:]), every(weight), every(bias), means, variances, use_input_stats,
        momentum, eps, False,
    )  # fmt: skip
    with no_grad():
        for running, moved in ((running_mean, means), (running_var, variances)):
            if running is not None and use_input_stats:
                running.copy_(moved.reshape(n, c).mean(0))
    return y.reshape(input.shape)


@composite(
    "batch_norm_update_stats(Tensor input, Tensor? running_mean, Tensor? running_var, float momentum) -> (Tensor, Tensor)",
    method=False,
)
def batch_norm_update_stats(input, running_mean, running_var, momentum):
    """The mean and the biased variance of each channel; running statistics move towards them, in place."""
    if not input.numel():
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    dims = [d for d in range(input.dim()) if d != 1]
    count = input.numel() // input.shape[1]
    mean, variance = input.mean(dims), input.var(dims, correction=0)
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(mean, alpha=momentum)
    if running_var is not None:
        running_var.mul_(1 - momentum).add_(variance, alpha=momentum * (count / max(count - 1, 1)))
    return mean, variance
