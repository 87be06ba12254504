"""Operators that draw as they go: dropouts that keep mean and variance or drop channels, random slopes, fractional pooling; SELU and CELU."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.random_fill import drops, rrelu_slopes
from shim_torch._impl.table.calls import aten, shim, torch
from shim_torch._impl.table.record import composite
from shim_torch._impl.table.refusals import refuse
from shim_torch._impl.table.rules import not_implemented, type_name

DRAWS = True  # random numbers (compile/deferral.py)

# --- random dropouts and slopes -------------------------------------------------------------------------------------


def _noise(input: Any, p: float, whole: bool) -> Any:
    """1 where a value (or a whole channel) is kept. Errors: NotImplementedError for complex, RuntimeError for integers."""
    if input.is_complex():
        raise NotImplementedError(
            f"\"bernoulli_scalar_{input.device.type}_\" not implemented for '{type_name(input.dtype)}'"
        )
    if not input.is_floating_point():
        raise RuntimeError(f"result type Float can't be cast to the desired output type {type_name(input.dtype)}")
    if whole and input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    shape = (*input.shape[:2], *[1] * (input.dim() - 2)) if whole else tuple(input.shape)
    # Of no batch, whose draws could not be the same for all of it.
    return torch.bernoulli(torch.empty(shape, dtype=input.dtype, device=input.device), 1 - p)


def _alpha_dropout(input: Any, p: float, train: bool, whole: bool, in_place: bool = False) -> Any:
    """Dropped values take SELU's lowest one; scaled and moved so that mean and variance stay."""
    if not drops(input, p, train):
        return input
    if p == 1:
        return _times(input, input.new_zeros(()), in_place)
    low = -1.7580993408473766
    a = 1.0 / math.sqrt((low * low * p + 1) * (1 - p))
    kept = _noise(input, p, whole)
    scaled, moved = _times(input, kept * a, in_place), (1 - kept) * (low * a) - low * a * p
    return scaled.add_(moved) if in_place else scaled + moved


def _feature_dropout(input: Any, p: float, train: bool, in_place: bool = False) -> Any:
    if not drops(input, p, train):
        return input
    return _times(input, input.new_zeros(()) if p == 1 else _noise(input, p, True) / (1 - p), in_place)


def _times(input: Any, factor: Any, in_place: bool) -> Any:
    return input.mul_(factor) if in_place else input * factor


# What is dropped in place is written only where something is: in evaluation autograd and versions see nothing.
for _schema, _in_place, _more in (
    ("(Tensor input, float p, bool train) -> Tensor", False, {"nested": "pointwise"}),
    ("_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", True, {}),
):
    _traits: dict[str, Any] = {"method": False, **_more}
    composite(f"alpha_dropout{_schema}", **_traits, batching="random")(
        lambda input, p, train, i=_in_place: _alpha_dropout(input, p, train, False, i)
    )
    composite(f"feature_alpha_dropout{_schema}", **_traits)(
        lambda input, p, train, i=_in_place: _alpha_dropout(input, p, train, True, i)
    )
    composite(f"feature_dropout{_schema}", **_traits, batching="random")(
        lambda input, p, train, i=_in_place: _feature_dropout(input, p, train, i)
    )


@composite(
    "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor",
    gradient_name="RreluWithNoiseBackward0",
    method=False,
    inplace=True,
    nested="pointwise",
)
def rrelu(self, lower, upper, training, generator):
    """x where positive, elsewhere times a slope drawn from U(lower, upper), or their mean when not training."""
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        refuse(self.dtype, ("bic", "leaky_relu_cpu"), meta=self.is_meta)
        return aten.leaky_relu(self, (lower + upper) / 2).contiguous()
    refuse(self.dtype, ("bic", "rrelu_with_noise_out_cpu"), meta=self.is_meta)
    if self.dtype is _core.float16 and self.is_cpu:
        raise not_implemented("rrelu_with_noise_out_cpu", self.dtype)
    if self.numel() and self.dtype.is_floating_point and _core.unseen_on_cuda(self):
        from shim_torch._impl.tensor.generator import chosen

        return shim.rrelu(self, float(lower), float(upper), *chosen(generator, self.device)._take(2 * self.numel()))[0]
    on = _core._pause_tangents(False)  # slopes have none
    try:
        slope = rrelu_slopes(self, lower, upper, generator)
    finally:
        _core._pause_tangents(on)
    return (self * slope).contiguous()


@composite("selu(Tensor self) -> Tensor", method=False, inplace=True, pointwise=True)
def selu(self):
    """scale · (x where positive, else alpha · (exp(x) - 1)), with constants that keep mean 0 and variance 1."""
    return aten.elu(self, 1.6732632423543772, 1.0507009873554805)


@composite(
    "celu(Tensor self, Scalar alpha=1.0) -> Tensor",
    gradient_name=True,
    method=False,
    inplace=True,
    pointwise=True,
    batching="along_dim",
)
def celu(self, alpha):
    """x where positive, else ``alpha`` · (exp(x / alpha) - 1). RuntimeError for an alpha of 0."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return aten.elu(self, alpha, 1.0, 1.0 / alpha)


# --- fractional pooling ---------------------------------------------------------------------------------------------


def _starts(samples: Any, size: int, out: int, kernel: int) -> Any:
    """Where the windows of a dim begin, moved by the random sample: (batch, channels, out)."""
    alpha = (size - kernel) / (out - 1) if out > 1 else 0.0
    k = torch.arange(out, device=samples.device, dtype=samples.dtype)
    base = (samples.unsqueeze(-1) * alpha).trunc()
    indices = ((k + samples.unsqueeze(-1)) * alpha).trunc() - base
    indices = torch.where(k == out - 1, float(size - kernel), indices)
    return indices.long()


def _check_fractional(self: Any, kernel: Any, output: Any, samples: Any, lead: Any, sizes: Any) -> None:
    n = len(kernel)
    if samples.dtype != self.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.dim() != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.dim()}")
    if samples.size(0) < lead[0]:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.size(1) != lead[1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.size(2) != n:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {n}; got {samples.size(2)}.")
    name = "fractional_max_pool2d()" if n == 2 else "fractional_max_pool3d_out()"
    for d in range(self.dim() - n - 1, self.dim()):
        if self.size(d) == 0:
            raise RuntimeError(
                f"{name}: Expected input to have non-zero size for non-batch dimensions, but got{list(self.shape)} with "
                f"dimension {d} being empty."
            )
    for i in range(n):
        if output[i] + kernel[i] - 1 > sizes[i]:
            dim = ("time", "height", "width")[i - n]
            raise RuntimeError(f"{name}: pool {dim} {kernel[i]} too large relative to input {dim} {sizes[i]}")


def _fractional(self: Any, kernel: Any, output: Any, samples: Any) -> Any:
    n = len(kernel)
    if self.dim() not in (n + 1, n + 2):
        name = "fractional_max_pool2d" if n == 2 else "fractional_max_pool3d_out"
        raise RuntimeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got: {list(self.shape)}")
    x = self if self.dim() == n + 2 else self.unsqueeze(0)
    lead, sizes = tuple(x.shape[:2]), tuple(x.shape[2:])
    _check_fractional(self, kernel, output, samples, lead, sizes)
    samples = samples[: lead[0]]  # of more pictures than there are
    x = _core.flat_input(x)
    flat: Any = 0
    order = list(range(n))
    for i in range(n):
        # The last sample is the first dim's in 2-D (width before height), the first in 3-D.
        starts = _starts(samples[..., n - 1 - i] if n == 2 else samples[..., i], sizes[i], output[i], kernel[i])
        within = starts.unsqueeze(-1) + torch.arange(kernel[i], device=x.device)
        shape = [*lead] + [output[i] if d == i else 1 for d in order] + [kernel[i] if d == i else 1 for d in order]
        flat = flat * sizes[i] + within.expand(*lead, -1, -1).reshape(shape)
    spread = (
        flat.reshape(*lead, math.prod(output), math.prod(kernel))
        if n == 1
        else flat.expand(*lead, *output, *kernel).reshape(*lead, math.prod(output), math.prod(kernel))
    )
    values = x.reshape(*lead, math.prod(sizes)).unsqueeze(2).expand(*lead, spread.size(2), -1).gather(3, spread)
    if not math.prod(kernel):  # windows of nothing: the lowest value, at no place
        made = values.new_full((*lead, *output), -math.inf), spread.new_full((*lead, *output), -1)
        return made if self.dim() == n + 2 else tuple(t.squeeze(0) for t in made)
    best, at = values.max(-1)
    where = spread.gather(3, at.unsqueeze(-1)).squeeze(-1)
    result = best.reshape(*lead, *output), where.reshape(*lead, *output)
    return result if self.dim() == n + 2 else tuple(t.squeeze(0) for t in result)


composite(
    "fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor, Tensor)",
    autocast="float32_cpu",
    gradient_name=True,
    function=False,
    method=False,
    refuses=(("bic", "fractional_max_pool2d_out_frame"),),
)(_fractional)
composite(
    "fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> (Tensor, Tensor)",
    autocast="float32_cpu",
    gradient_name=True,
    function=False,
    method=False,
    refuses=(("bic", "fractional_max_pool3d_out_frame"),),
)(_fractional)
