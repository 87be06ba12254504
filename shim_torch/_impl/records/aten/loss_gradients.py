"""Gradients and forward halves of losses that are operators of their own."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.aten_declare import aten, pulled
from shim_torch._impl.table.calls import aten as ops
from shim_torch._impl.table.calls import torch

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)


@aten("multi_margin_loss_backward")
def multi_margin_loss_backward(grad, self, target, p, margin, weight, reduction):
    """The gradient of multi_margin_loss by its input."""

    def again(x: Any) -> Any:
        return ops.multi_margin_loss(x, target, p, margin, weight, reduction)

    return pulled(again, (self,), grad)[0]


@aten("multilabel_margin_loss_forward")
def multilabel_margin_loss_forward(self, target, reduction):
    """The loss, and ones where a class is a target: targets of a row end at the first negative one."""
    counted = (target >= 0).to(_core.int64).cumprod(-1).bool()
    marks = torch.zeros_like(self).scatter_add(-1, target.clamp(min=0), counted.to(self.dtype))
    return ops.multilabel_margin_loss(self, target, reduction), (marks > 0).to(self.dtype)


@aten("multilabel_margin_loss_backward")
def multilabel_margin_loss_backward(grad, self, target, reduction, is_target):
    """The gradient of multilabel_margin_loss by its input."""

    def again(x: Any) -> Any:
        return ops.multilabel_margin_loss(x, target, reduction)

    return pulled(again, (self,), grad)[0]


@aten("nll_loss2d_forward")
def nll_loss2d_forward(self, target, weight, reduction, ignore_index):
    """Of (N, C, H, W) and (N, H, W): the loss, and the sum of the weights that counted (0 where nothing is reduced)."""
    loss = ops.nll_loss_nd(self, target, weight, reduction, ignore_index)
    if reduction == 0:
        return loss, self.new_zeros(())
    counted = target != ignore_index
    ones = self.new_ones((self.shape[1],)) if weight is None else weight
    return loss, (ones[target.where(counted, 0)] * counted).sum().to(self.dtype)


@aten("nll_loss2d_backward")
def nll_loss2d_backward(grad, self, target, weight, reduction, ignore_index, total_weight):
    """The gradient of the negative log likelihood of (N, C, H, W) by its input."""

    def again(x: Any) -> Any:
        return ops.nll_loss_nd(x, target, weight, reduction, ignore_index)

    return pulled(again, (self,), grad)[0]


@aten("_ctc_loss_backward", "_ctc_loss_backward.Tensor")
def _ctc_loss_backward(
    grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, blank, zero_infinity
):
    def again(x: Any) -> Any:
        return ops.ctc_loss(x, targets, input_lengths, target_lengths, blank, 0, zero_infinity)

    return pulled(again, (log_probs,), grad)[0]
