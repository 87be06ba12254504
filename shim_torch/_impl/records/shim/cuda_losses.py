"""Losses of scores over classes (``torch.ops.shim``) that are one or two CUDA kernels; bodies are their references.

What they serve calls them on CUDA only. A gradient of theirs that is to be differentiated itself is computed in tensor operations.
"""

from __future__ import annotations

from shim_torch._impl.autograd.grad_mode import no_grad
from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import shim, torch
from shim_torch._impl.table.record import op
from shim_torch._impl.table.rules import accumulation_dtype

VALUES = "ranges"  # a call may fail for a class or a chance that is out of range (compile/deferral.py)

_SHIM = {"function": False, "method": False}


# --- negative logarithms of chances -------------------------------------------------------------------------------------


def _nll_grad(g0, self_shape, target, weight, reduction, ignore_index, result1):
    if not _core.is_grad_enabled():
        return shim.nll_loss_backward(g0, target, weight, result1, self_shape, reduction, ignore_index)
    keep = target != ignore_index
    named = target.masked_fill(~keep, 0)
    factors = keep.to(g0.dtype) if weight is None else weight[named] * keep
    slopes = -(g0 * factors / result1.to(g0.dtype) if reduction == 1 else g0 * factors)
    return g0.new_zeros(self_shape).scatter(1, named.unsqueeze(1), slopes.masked_fill(~keep, 0.0).unsqueeze(1))


@op(
    "shim::nll_loss(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor, Tensor)",
    foreseen="any",
    gradient_name="NllLossBackward0",
    shape=lambda target, reduction: [() if reduction else target.shape, ()],
    dtype=lambda self: (accumulation_dtype(self.dtype), [self.dtype, accumulation_dtype(self.dtype)]),
    keep=("target",),
    native="nll_loss",
    differentiable=(0,),
    grad={"self": _nll_grad},
    **_SHIM,
    autocast="float32",
)
def nll_loss(xp, self, target, weight, reduction, ignore_index):
    """-weight[t] * self[:, t] for the targets t, and their mean (1) or sum (2); the weights' sum.

    Shapes:  self (N, C, *), target (N, *) int64, weight (C,) -> (N, *) or (), and ()
    """
    keep = target != ignore_index
    named = xp.where(keep, target, 0)
    factors = (xp.ones(target.shape, self.dtype) if weight is None else weight[named]) * keep
    losses = -xp.take_along_axis(self, xp.expand_dims(named, 1), 1).reshape(target.shape) * factors
    losses = xp.where(keep, losses, 0)
    total = factors.sum()
    return losses if reduction == 0 else losses.sum() / total if reduction == 1 else losses.sum(), total


@op(
    "shim::nll_loss_backward(Tensor grad_output, Tensor target, Tensor? weight, Tensor total_weight, int[] sizes, int reduction, int ignore_index) -> Tensor",
    foreseen="any",
    shape=lambda sizes: tuple(sizes),
    dtype=lambda grad_output: (accumulation_dtype(grad_output.dtype), grad_output.dtype),
    keep=("target",),
    native="nll_loss_class_backward",
    **_SHIM,
)
def nll_loss_backward(xp, grad_output, target, weight, total_weight, sizes, reduction, ignore_index):
    """The gradient of ``nll_loss`` by its scores, of these sizes."""
    keep = target != ignore_index
    named = xp.where(keep, target, 0)
    factors = (xp.ones(target.shape, grad_output.dtype) if weight is None else weight[named]) * keep
    slopes = xp.where(keep, -grad_output * factors / (total_weight if reduction == 1 else 1), 0)
    found = xp.zeros(tuple(sizes), grad_output.dtype)
    xp.put_along_axis(found, xp.expand_dims(named, 1), xp.expand_dims(slopes, 1).astype(found.dtype), 1)
    return found


# --- margins between classes --------------------------------------------------------------------------------------------


def _margin_slopes(xp, g, self, target, weight, p, margin, reduction):
    """In operations that tensors and arrays have alike."""
    n, c = self.shape
    hot = xp.arange(c) == target[:, None] if xp is not torch else xp.arange(c, device=self.device) == target[:, None]
    own = (self * hot).sum(1)[:, None]
    gap = margin - own + self
    slope = (gap > 0) * (1 if p == 1 else 2 * gap) * ~hot
    if weight is not None:
        slope = slope * weight[target][:, None]
    slope = slope / c / (n if reduction == 1 else 1) * (g[:, None] if reduction == 0 else g)
    return slope - slope.sum(1)[:, None] * hot


def _margin_grad(g, self, target, weight, p, margin, reduction):
    if not _core.is_grad_enabled():
        return shim.multi_margin_loss_backward(g, self, target, weight, p, margin, reduction)
    return _margin_slopes(torch, g, self, target, weight, p, margin, reduction)


@op(
    "shim::multi_margin_loss(Tensor self, Tensor target, Tensor? weight, int p, float margin, int reduction) -> Tensor",
    shape=lambda target, reduction: () if reduction else target.shape,
    dtype=lambda self: (accumulation_dtype(self.dtype), self.dtype),
    keep=("target",),
    native="multi_margin_loss_class",
    grad={"self": _margin_grad},
    **_SHIM,
    refuses=(("bicl", "multi_margin_loss_cpu_kernel"),),
    autocast="float32",
    forward_error_name="multi_margin_loss",
)
def multi_margin_loss(xp, self, target, weight, p, margin, reduction):
    """The sum over the classes but the target of max(0, margin - self[target] + self)^p, times the target's weight, by the number of classes."""
    rows = xp.arange(len(target))
    gap = xp.maximum(margin - self[rows, target][:, None] + self, 0) ** p
    gap[rows, target] = 0
    loss = gap.sum(1) / self.shape[1] * (1 if weight is None else weight[target])
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()


@op(
    "shim::multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int p, float margin, int reduction) -> Tensor",
    shape=lambda self: self.shape,
    dtype=lambda self: (accumulation_dtype(self.dtype), self.dtype),
    keep=("target",),
    native="multi_margin_loss_class_backward",
    **_SHIM,
)
def multi_margin_loss_backward(xp, grad_output, self, target, weight, p, margin, reduction):
    """The gradient of ``multi_margin_loss`` by its scores."""
    return _margin_slopes(xp, grad_output, self, target, weight, p, margin, reduction)


# --- margins between a row's targets and its other classes ----------------------------------------------------------------


def _multilabel_gaps(xp, self, target):
    """1 - self[target] + self of (row, target, class), where it counts: the targets up to the first negative one, and the others."""
    named = xp.cumprod(target >= 0, 1) > 0
    places = target * named
    hot = (xp.arange(self.shape[1]) == places[:, :, None]) & named[:, :, None]
    keep = named[:, :, None] & ~hot.any(1)[:, None, :]
    gap = 1 - xp.take_along_axis(self, places, 1)[:, :, None] + self[:, None, :]
    return xp.where(keep, xp.maximum(gap, 0), 0), hot


def _multilabel_grad(g, self, target, reduction):
    if not _core.is_grad_enabled():
        return shim.multilabel_margin_loss_backward(g, self, target, reduction)
    # the slopes do not depend on the scores
    rows, classes = self.shape
    with no_grad():
        each = shim.multilabel_margin_loss_backward(self.new_ones((rows,)), self, target, 0)
    return each * (g.unsqueeze(1) if reduction == 0 else g / rows if reduction == 1 else g)


@op(
    "shim::multilabel_margin_loss(Tensor self, Tensor target, int reduction) -> Tensor",
    shape=lambda self, reduction: () if reduction else self.shape[:1],
    dtype=lambda self: (accumulation_dtype(self.dtype), self.dtype),
    keep=("target",),
    native="multilabel_margin_loss_class",
    grad={"self": _multilabel_grad},
    **_SHIM,
    refuses=(("bicl", "multilabel_margin_loss_forward_out_frame"),),
    forward_error_name="multilabel_margin_loss_forward",
)
def multilabel_margin_loss(xp, self, target, reduction):
    """The sum over a row's targets and its other classes of max(0, 1 - self[target] + self[class]), by the number of classes."""
    loss = _multilabel_gaps(xp, self, target)[0].sum((1, 2)) / self.shape[1]
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()


@op(
    "shim::multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor",
    shape=lambda self: self.shape,
    dtype=lambda self: (accumulation_dtype(self.dtype), self.dtype),
    keep=("target",),
    native="multilabel_margin_loss_class_backward",
    **_SHIM,
)
def multilabel_margin_loss_backward(xp, grad_output, self, target, reduction):
    """The gradient of ``multilabel_margin_loss`` by its scores."""
    gaps, hot = _multilabel_gaps(xp, self, target)
    active = gaps > 0
    slopes = active.sum(1) - (hot * active.sum(2)[:, :, None]).sum(1)
    g = grad_output[:, None] if reduction == 0 else grad_output / (len(self) if reduction == 1 else 1)
    return slopes * g / self.shape[1]
