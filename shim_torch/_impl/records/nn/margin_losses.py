"""Margins between classes: multi-class and multi-label losses."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import gradient_once, without_slope
from shim_torch._impl.records.shared.losses import reduced_loss
from shim_torch._impl.table.calls import shim, torch
from shim_torch._impl.table.record import composite
from shim_torch._impl.table.rules import FLOATS

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)


def _check_rows(x: Any) -> None:
    if x.dim() > 2 or (x.dim() and not x.size(-1)):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(x.shape)}"
        )


@composite("multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor", gradient_name=True,
           function=False, method=False, refuses=(("bicl", "multi_margin_loss_cpu_kernel"),), autocast="float32", forward_error_name="multi_margin_loss")  # fmt: skip
def multi_margin_loss(self, target, p, margin, weight, reduction):
    """Σ max(0, margin - x[y] + x[i])^p / C over the other classes."""
    if p not in (1, 2):
        raise RuntimeError("only p == 1 and p == 2 supported")
    _check_rows(self)
    without_slope("multi_margin_loss", weight=weight)
    self = gradient_once(self, "multi_margin_loss_backward")
    x = self if self.dim() == 2 else self.reshape(1, -1)
    y = target.reshape(-1)
    n, c = x.shape
    if y.numel() != n or target.dim() > 1:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size [{n}], but got {list(target.shape)}. Input has shape {list(self.shape)}."
        )
    if weight is not None and (weight.dim() != 1 or weight.numel() != c):
        raise RuntimeError(f"inconsistent weight size, expected {c} but got {list(weight.shape)}")
    if target.dtype is not _core.int64:
        raise RuntimeError(f"expected scalar type Long but found {_core.scalar_name(target.dtype)}")
    if x.is_cuda and y.is_cuda and x.dtype in FLOATS and n and (weight is None or weight.dtype == x.dtype):
        loss = shim.multi_margin_loss(
            x, y, weight, int(p), float(margin), reduction
        )  # a target out of range ends the program
        return loss.squeeze(0) if reduction == 0 and not target.dim() else loss
    if not y.is_meta and bool(((y < 0) | (y >= c)).any()):
        raise RuntimeError("target out of range")
    gap = (margin - x.gather(1, y.unsqueeze(1)) + x).relu()  # without a slope at 0
    gap = gap if p == 1 else gap * gap
    gap = gap if weight is None else gap * weight[y].unsqueeze(1)
    own = torch.arange(c, device=x.device) == y.unsqueeze(1)
    loss = gap.masked_fill(own, 0).sum(1) / c
    return reduced_loss(loss if target.dim() else loss.squeeze(0), reduction)


_MOST_MARKED = 32 * 1024  # classes of a row in one kernel


@composite(
    "multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    autocast="float32_cpu",
    gradient_name=True,
    function=False,
    method=False,
    refuses=(("bicl", "multilabel_margin_loss_forward_out_frame"),),
    forward_error_name="multilabel_margin_loss_forward",
)
def multilabel_margin_loss(self, target, reduction):
    """Σ max(0, 1 - (x[j] - x[i])) / C over target classes j (up to the first -1) and the others i."""
    _check_rows(self)
    if self.shape != target.shape and not (self.dim() <= 1 and target.dim() <= 1 and self.numel() == target.numel()):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}")
    if target.dtype != _core.int64:
        raise RuntimeError(f"expected scalar type Long but found {_core.scalar_name(target.dtype)}")
    scores = gradient_once(self, "multilabel_margin_loss_backward")
    x, y = (t if t.dim() == 2 else t.reshape(1, -1) for t in (scores, target))
    c = x.size(1)
    if x.is_cuda and y.is_cuda and x.dtype in FLOATS and x.size(0) and c <= _MOST_MARKED:
        loss = shim.multilabel_margin_loss(x, y, reduction)  # a target out of range ends the program
        return loss if reduction or self.dim() == 2 else loss.squeeze(0)
    named = (y >= 0).cumprod(1).bool()
    places = y.clamp(min=0)
    is_target = torch.zeros(x.shape, dtype=_core.int64, device=x.device).scatter_add(1, places, named.long()) > 0
    gap = (1 - (x.gather(1, places).unsqueeze(2) - x.unsqueeze(1))).relu()
    keep = named.unsqueeze(2) & ~is_target.unsqueeze(1)
    loss = gap.masked_fill(~keep, 0).sum((1, 2)) / c
    return reduced_loss(loss if self.dim() == 2 else loss.squeeze(0), reduction)
