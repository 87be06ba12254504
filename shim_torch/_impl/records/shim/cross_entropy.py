"""Cross entropy of classes (``torch.ops.shim``) that is one or two kernels; bodies are their references.

Programs have those of scores for float16 and bfloat16 that is converted before its loss (native/src/program/narrow_scores.cpp).
"""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import widened
from shim_torch._impl.table.calls import shim
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import accumulation_dtype

VALUES = "ranges"  # a call may fail for a class that is out of range (compile/deferral.py)

_SHIM = {"function": False, "method": False}


def _reduced(losses, total, reduction):
    return losses if reduction == 0 else losses.sum() / total if reduction == 1 else losses.sum()


def _slope(xp, p, grad_output, target, factors, total, reduction):
    """The gradient by logits (rows, classes) whose chances are ``p``, which is overwritten."""
    p[xp.arange(len(p)), xp.where(factors != 0, target, 0)] -= 1
    scale = grad_output * factors / (total if reduction == 1 else 1)
    return p * scale[:, None]


def _entropy_grad(g0, g1, target, reduction, result1, result2, result3):
    if g1 is None and not _core.is_grad_enabled():
        return shim.cross_entropy_backward(g0, result1, target, result2, result3, reduction)
    p = widened(result1).exp()
    found: Any = 0
    if g0 is not None:
        hot = _core.empty_tensor(p.shape, p.dtype, p.device).zero_()
        hot.scatter_(1, target.unsqueeze(1).clamp(0, p.size(1) - 1), 1.0)
        scale = (g0 / result3 if reduction == 1 else g0) * result2
        found = (p - hot) * (scale.unsqueeze(1) * (result2 != 0).unsqueeze(1))
    if g1 is not None:
        found = found + (g1 - p * g1.sum(1, keepdim=True))
    return found.to(result1.dtype)


@op(
    "shim::cross_entropy(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index, bool keep) -> (Tensor, Tensor, Tensor, Tensor)",
    foreseen="any",
    gradient_name="NllLossBackward0",
    shape=lambda self, reduction, keep: [
        (self.shape[0],) if reduction == 0 else (),
        self.shape if keep else (0,),
        (self.shape[0],),
        (),
    ],
    dtype=lambda self: (
        accumulation_dtype(self.dtype),
        [self.dtype, self.dtype, *[accumulation_dtype(self.dtype)] * 2],
    ),
    keep=("target",),
    native="cross_entropy",
    differentiable=(0, 1),
    grad={"self": _entropy_grad},
    **_SHIM,
)
def cross_entropy(xp, self, target, weight, reduction, ignore_index, keep):
    """The loss of logits (rows, classes) for int64 targets (rows,); with ``keep``, which gradients need, log_softmax of the
    logits; per row the factor (the target's weight, 0 where it is ignored); the factors' sum."""
    top = self.max(axis=1, keepdims=True)
    log_p = self - top - xp.log(xp.exp(self - top).sum(axis=1, keepdims=True))
    valid = target != ignore_index
    safe = xp.where(valid, target, 0)
    factors = (xp.ones(len(safe), self.dtype) if weight is None else weight[safe]) * valid
    losses = -log_p[xp.arange(len(safe)), safe] * factors
    total = factors.sum()
    return _reduced(losses, total, reduction), log_p if keep else log_p[:0, 0], factors, total


@op(
    "shim::cross_entropy_backward(Tensor grad_output, Tensor log_p, Tensor target, Tensor factors, Tensor total, int reduction) -> Tensor",
    foreseen="any",
    shape=lambda log_p: log_p.shape,
    dtype=lambda log_p: (accumulation_dtype(log_p.dtype), log_p.dtype),
    keep=("target",),
    native="cross_entropy_backward",
    **_SHIM,
)
def cross_entropy_backward(xp, grad_output, log_p, target, factors, total, reduction):
    """The gradient of ``cross_entropy`` by its logits."""
    return _slope(xp, xp.exp(log_p), grad_output, target, factors, total, reduction)


@op(
    "shim::cross_entropy_scores(Tensor self, Tensor target, int reduction, int ignore_index) -> (Tensor, Tensor, Tensor, Tensor)",
    foreseen="any",
    shape=lambda self, target, reduction: [
        target.shape if reduction == 0 else (),
        (*target.shape, 2),
        target.shape,
        (),
    ],
    dtype=lambda self: (_core.float32, [_core.float32] * 4),
    keep=("target",),
    native="cross_entropy_scores",
    **_SHIM,
)
def cross_entropy_scores(xp, self, target, reduction, ignore_index):
    """The loss in float32 of narrower scores (*, rows, classes) for int64 targets, one a row; what log_softmax subtracts of each row
    (rows, 2); per row the factor, 0 where the target is ignored; the factors' sum.
    """
    x = self.reshape(-1, self.shape[-1])
    top = x.max(axis=1)
    rest = xp.log(xp.exp(x - top[:, None]).sum(axis=1))
    factors = (target != ignore_index).astype(x.dtype)
    named = x[xp.arange(len(x)), xp.where(factors != 0, target, 0)]
    losses, total = -(named - top - rest) * factors, factors.sum()
    return _reduced(losses, total, reduction), xp.stack((top, rest), 1), factors, total


@op(
    "shim::cross_entropy_scores_backward(Tensor grad_output, Tensor self, Tensor levels, Tensor target, Tensor factors, Tensor total, int reduction) -> Tensor",
    foreseen="any",
    shape=lambda self: self.shape,
    dtype=lambda self: (_core.float32, self.dtype),
    keep=("target",),
    native="cross_entropy_scores_backward",
    **_SHIM,
)
def cross_entropy_scores_backward(xp, grad_output, self, levels, target, factors, total, reduction):
    """The gradient of ``cross_entropy_scores`` by its scores."""
    x = self.reshape(-1, self.shape[-1])
    p = xp.exp(x - levels[:, :1] - levels[:, 1:])
    return _slope(xp, p, grad_output, target, factors, total, reduction).reshape(self.shape)


@composite(
    "shim::cross_entropy_scores_put_(Tensor(a!) self, Tensor grad_output, Tensor scores, Tensor levels, Tensor target, Tensor factors, Tensor total, int reduction) -> Tensor(a!)",
    native="cross_entropy_scores_put_",
    function=False,
)
def cross_entropy_scores_put_(self, grad_output, scores, levels, target, factors, total, reduction):
    """What ``cross_entropy_scores_backward`` gives goes to ``self``, which may be the scores' memory."""
    return self.copy_(
        shim.cross_entropy_scores_backward(grad_output, scores, levels, target, factors, total, reduction)
    )
