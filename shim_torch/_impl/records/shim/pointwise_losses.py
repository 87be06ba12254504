"""Losses of two tensors (``torch.ops.shim``) that are one CUDA kernel; bodies are their references."""

from __future__ import annotations

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import binary_cross_entropies, logit_cross_entropies
from shim_torch._impl.table.calls import shim, torch
from shim_torch._impl.table.record import op

_SHIM = {"function": False}


def _unreduced_loss(xp, self, target, name, setting):
    if name == "bce":
        return binary_cross_entropies(xp, self, target)
    if name == "bce_with_logits":
        return logit_cross_entropies(xp, self, target)
    d = self - target
    m = abs(d)
    if name == "mse":
        return d * d
    if name == "l1":
        return m
    if name == "smooth_l1":
        return xp.where(m < setting, 0.5 * m * m / setting, m - 0.5 * setting)
    return xp.where(m <= setting, 0.5 * m * m, setting * (m - 0.5 * setting))


def _loss_slope(xp, self, target, name, setting):
    if name == "bce_with_logits":
        return 1 / (1 + xp.exp(-self)) - target
    d = self - target
    if name == "bce":  # at 0 and 1, where there is no slope, PyTorch divides by 1e-12
        spread = (1 - self) * self
        return d / (spread + (1e-12 - spread) * (spread < 1e-12))
    if name == "mse":
        return 2 * d
    unknown = d != d  # no number: of magnitudes there is no slope there, of the others none is known
    sign = xp.sign(xp.where(unknown, 0.0, d))
    if name == "l1":
        return sign
    if name == "smooth_l1":
        return xp.where((abs(d) < setting) | unknown, d / setting, sign)
    return xp.where((abs(d) <= setting) | unknown, d, setting * sign)


def _loss_grad(g, self, target, name, mean, setting):
    if not _core.is_grad_enabled():
        return shim.pointwise_loss_backward(g, self, target, name, mean, setting)
    return _loss_slope(torch, self, target, name, setting) * (g / self.numel() if mean else g)


def _loss_target_grad(g, self, target, name, mean, setting):
    if name not in ("bce", "bce_with_logits"):
        return -_loss_grad(g, self, target, name, mean, setting)
    slope = -self if name == "bce_with_logits" else (-self).log1p().clamp(min=-100) - self.log().clamp(min=-100)
    return slope * (g / self.numel() if mean else g)


@op(
    "shim::pointwise_loss(Tensor self, Tensor target, str name, bool mean, float setting) -> Tensor",
    foreseen="floats",
    shape=lambda: (),
    dtype=lambda self: self.dtype,
    native="pointwise_loss",
    grad={"self": _loss_grad, "target": _loss_target_grad},
    **_SHIM,
)
def pointwise_loss(xp, self, target, name, mean, setting):
    """The sum or the mean of what "mse", "l1", "smooth_l1" or "huber" makes of the differences of two tensors of one shape; or of the
    binary cross entropies of a "bce" or its "bce_with_logits" with the target."""
    each = _unreduced_loss(xp, self, target, name, setting)
    return each.mean() if mean else each.sum()


@op(
    "shim::pointwise_loss_backward(Tensor grad_output, Tensor self, Tensor target, str name, bool mean, float setting) -> Tensor",
    foreseen="floats",
    shape=lambda self: self.shape,
    dtype=lambda self: self.dtype,
    native="pointwise_loss_backward",
    **_SHIM,
)
def pointwise_loss_backward(xp, grad_output, self, target, name, mean, setting):
    """The gradient of ``pointwise_loss`` by self."""
    return _loss_slope(xp, self, target, name, setting) * (grad_output / self.size if mean else grad_output)
