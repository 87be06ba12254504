"""Losses."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import (
    aten,
    binary_cross_entropies,
    logit_cross_entropies,
    no_tangent_behind,
    shim,
    without_slope,
)
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import FLOATS, broadcast, int_to_float, not_implemented, promote, type_name

_NN = {"module": "_C", "method": False, "function": False}


def _reduce(x: Any, reduction: int) -> Any:
    return x.mean() if reduction == 1 else x.sum() if reduction == 2 else x


def _difference(kernel: str, self: Any, target: Any) -> Any:
    """self - target in the dtype they meet in, which must be a floating one."""
    dtype = promote(self, target)
    if not dtype.is_floating_point:
        raise not_implemented(kernel, dtype)
    return (self if self.dtype == dtype else self.to(dtype)) - (target if target.dtype == dtype else target.to(dtype))


def _in_one_pass(self: Any, target: Any, reduction: int, name: str, setting: float = 0.0) -> Any:
    """The sum or mean on CUDA, without the differences in between; None where that is not the case."""
    if not self.is_cuda or reduction not in (1, 2) or self.dtype not in FLOATS or self.shape != target.shape:
        return None
    if target.dtype != self.dtype or target.device != self.device or not self.numel():
        return None

    return shim().pointwise_loss(self, target, name, reduction == 1, float(setting))


@composite("mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", native="squared_error_loss", **_NN)
def mse_loss(self, target, reduction):
    found = _in_one_pass(self, target, reduction, "mse")
    if found is not None:
        return found
    d = _difference("mse_cpu", self, target)
    return _reduce(d * d, reduction)


@composite("l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", native="absolute_error_loss", **_NN)
def l1_loss(self, target, reduction):
    found = _in_one_pass(self, target, reduction, "l1")
    return _reduce((self - target).abs(), reduction) if found is None else found


@composite(
    "smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0) -> Tensor",
    native="smooth_l1_loss",
    **_NN,
)
def smooth_l1_loss(self, target, reduction, beta):
    import shim_torch

    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(self, target, reduction)
    found = _in_one_pass(self, target, reduction, "smooth_l1", beta)
    if found is not None:
        return found
    d = _difference("smooth_l1_cpu", self, target).abs()
    return _reduce(shim_torch.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta), reduction)


@composite(
    "huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0) -> Tensor", native="huber_loss", **_NN
)
def huber_loss(self, target, reduction, delta):
    import shim_torch

    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    found = _in_one_pass(self, target, reduction, "huber", delta)
    if found is not None:
        return found
    self = no_tangent_behind(self, "huber_loss_backward")
    d = _difference("huber_cpu", self, target).abs()
    return _reduce(shim_torch.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)


@composite("kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor", **_NN)
def kl_div(self, target, reduction, log_target):
    import shim_torch

    if log_target:
        return _reduce(target.exp() * (target - self), reduction)
    return _reduce(shim_torch.xlogy(target, target) - target * self, reduction)


@op(
    "_binary_cross_entropy_each(Tensor self, Tensor target) -> Tensor",
    native="bce_each",
    shape=broadcast,
    dtype=int_to_float,
    function=False,
    method=False,
    grad={
        # At 0 and 1 the logarithms' own gradients are infinite; PyTorch divides by 1e-12 there.
        "self": lambda g, self, target: g * (self - target) / ((1 - self) * self).clamp(min=1e-12),
        "target": lambda g, self: g * ((1 - self).log().clamp(min=-100) - self.log().clamp(min=-100)),
    },
)
def _binary_cross_entropy_each(xp, self, target):
    if type(self).__module__ == "numpy":  # on CUDA nobody waits for the values
        for name, values in (("input", self), ("target", target)):
            if not bool(((values >= 0) & (values <= 1)).all()):
                raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    return binary_cross_entropies(xp, self, target)


@composite("binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor", **_NN)
def binary_cross_entropy(self, target, weight, reduction):
    import shim_torch

    if target.dtype != self.dtype:
        raise RuntimeError(f"Found dtype {type_name(target.dtype)} but expected {type_name(self.dtype)}")
    if not self.is_floating_point():
        raise not_implemented("binary_cross_entropy", self.dtype)
    without_slope("binary_cross_entropy", weight=weight)
    found = _in_one_pass(self, target, reduction, "bce") if weight is None else None
    if found is not None:
        return found
    loss = shim_torch.ops.aten._binary_cross_entropy_each(self, target)
    return _reduce(loss if weight is None else loss * weight, reduction)


@op(
    "shim::bce_logits_each(Tensor self, Tensor target) -> Tensor",
    native="bce_logits_each",
    shape=broadcast,
    dtype=int_to_float,
    function=False,
    method=False,
    grad={"self": lambda g, self, target: g * (self.sigmoid() - target), "target": lambda g, self: -g * self},
)
def bce_logits_each(xp, self, target):
    """The binary cross entropies of the logits' chances with the targets."""
    return logit_cross_entropies(xp, self, target)


@composite(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor",
    **_NN,
)
def binary_cross_entropy_with_logits(self, target, weight, pos_weight, reduction):
    import shim_torch

    without_slope("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    found = _in_one_pass(self, target, reduction, "bce_with_logits") if weight is None and pos_weight is None else None
    if found is not None:
        return found
    if pos_weight is None and self.is_cuda and self.dtype in FLOATS and target.dtype == self.dtype:
        loss = shim().bce_logits_each(self, target)
        return _reduce(loss if weight is None else loss * weight, reduction)
    log_sigmoid = shim_torch.ops.aten.log_sigmoid(self)
    if pos_weight is None:
        loss = (1 - target) * self - log_sigmoid
    else:
        loss = (1 - target) * self - ((pos_weight - 1) * target + 1) * log_sigmoid
    return _reduce(loss if weight is None else loss * weight, reduction)


@composite(
    "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor",
    native="nll_loss_whole",
    **_NN,
)
def nll_loss_nd(self, target, weight, reduction, ignore_index):

    if self.dim() == 0:
        raise ValueError(f"Expected 1 or more dimensions (got {self.dim()})")
    batched = self.dim() > 1
    given = target.size(0) if target.dim() else 0
    if batched and self.size(0) != given:
        raise ValueError(f"Expected input batch_size ({self.size(0)}) to match target batch_size ({given}).")
    x = _core.flat_input(self if batched else self.unsqueeze(0))
    t = target if batched or target.dim() == 1 else target.unsqueeze(0)
    if self.dim() != 2:
        _check_target_dtype(t)
    _check_target(self, target)
    _check_target_dtype(t)
    if self.dim() > 2 and t.dtype == _core.uint8 and t.device.type == "cpu":
        raise RuntimeError("expected scalar type Long but found Byte")
    if weight is not None and (weight.dim() != 1 or weight.numel() != x.size(1)):
        if self.dim() == 4:
            raise RuntimeError("weight tensor should be defined either for all or no classes")
        raise RuntimeError(
            f"weight tensor should be defined either for all {x.size(1)} classes or no classes but got weight tensor of shape: "
            f"{list(weight.shape)}"
        )
    if weight is not None and weight.dtype != x.dtype and not x.is_meta:
        from shim_torch._utils import _scalar

        raise RuntimeError(f"expected scalar type {_scalar(x.dtype)} but found {_scalar(weight.dtype)}")
    without_slope("nll_loss_forward" if self.dim() <= 2 else "nll_loss2d_forward", weight=weight)
    t = t.long()
    if x.is_cuda and t.is_cuda and x.dtype in FLOATS and (weight is None or weight.dtype == x.dtype):
        loss = shim().nll_loss(x, t, weight, reduction, ignore_index)[0]
        return loss.squeeze(0) if reduction == 0 and not batched else loss
    keep = t != ignore_index
    if (
        t.numel() and t.device.type == "cpu" and type(t) is _core.Tensor
    ):  # what a class of Python holds may have no values
        bad = keep & ((t < 0) | (t >= x.size(1)))
        if bool(bad.any()):
            raise IndexError(f"Target {int(t[bad][0])} is out of bounds.")
    safe = t.masked_fill(~keep, 0)
    picked = -x.gather(1, safe.unsqueeze(1)).squeeze(1)
    w = keep.to(x.dtype) if weight is None else weight[safe] * keep
    loss = (picked * w).masked_fill(~keep, 0.0)
    if reduction == 0:
        return loss if batched else loss.squeeze(0)
    return loss.sum() / w.sum() if reduction == 1 else loss.sum()


def _check_target_dtype(target: Any) -> None:
    """PyTorch's CPU takes int64 and uint8; int32 too are taken elsewhere."""
    if target.dtype not in (_core.int64, _core.uint8) and (target.device.type == "cpu" or target.dtype != _core.int32):
        from shim_torch._utils import _scalar

        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {_scalar(target.dtype)}")


def _check_target(self: Any, target: Any) -> None:
    """PyTorch's errors for targets that do not have the input's sizes without its classes."""
    n = self.dim()
    if n == 1:
        if target.dim() == 1 and target.size(0) != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.size(0)}")
    if n <= 2:
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        return
    if n == 4 and target.dim() != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.dim()}"
        )
    wanted = [self.size(0), *self.shape[2:]]
    if list(target.shape) != wanted:
        if n == 4:
            raise RuntimeError(f"size mismatch (got input: {list(self.shape)} , target: {list(target.shape)}")
        raise RuntimeError(f"Expected target size {wanted}, got {list(target.shape)}")


def _one_kernel(self, target, weight):
    return (
        self.dim() > 1
        and target.dtype == _core.int64
        and (target.is_cuda or _core.unseen(self, target))
        and tuple(target.shape) == (self.size(0), *self.shape[2:])
        and self.numel() > 0
        and self.dtype in FLOATS
        and (weight is None or (weight.dtype == self.dtype and tuple(weight.shape) == (self.size(1),)))
    )


def _cross_entropy(self, target, weight, reduction, ignore_index):
    """Without the probabilities in between."""

    x = self if self.dim() == 2 else self.movedim(1, -1).reshape(-1, self.size(1))
    weight = weight if weight is None else weight.contiguous()
    keep = self.requires_grad and _core.is_grad_enabled()
    arguments = (target.reshape(-1).contiguous(), weight, reduction, ignore_index, keep)
    loss = shim().cross_entropy(x.contiguous(), *arguments)[0]
    return loss.reshape(target.shape) if reduction == 0 else loss


@composite(
    "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor",
    native="cross_entropy_loss",
    **_NN,
)
def cross_entropy_loss(self, target, weight, reduction, ignore_index, label_smoothing):
    channel = 0 if self.dim() == 1 else 1
    if label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if not label_smoothing and _one_kernel(self, target, weight):
        without_slope("nll_loss_forward" if self.dim() <= 2 else "nll_loss2d_forward", weight=weight)
        return _cross_entropy(self, target, weight, reduction, ignore_index)
    log_p = self.log_softmax(channel)
    if self.shape == target.shape:  # probabilities
        if not target.dtype.is_floating_point:
            raise RuntimeError(
                f"Expected floating point type for target with class probabilities, got {type_name(target.dtype)}"
            )
        n = self.size(channel)
        if weight is not None and (weight.dim() != 1 or weight.numel() != n):
            raise RuntimeError(
                f"cross_entropy: weight tensor should be defined either for all {n} classes or no classes but got weight tensor "
                f"of shape: {list(weight.shape)}"
            )
        t = target * (1 - label_smoothing) + label_smoothing / n if label_smoothing else target
        loss = -(log_p * t * _along(weight, self, channel)).sum(channel)
        if reduction:
            loss = loss.sum() if reduction == 2 else loss.sum() / (self.numel() // n if n else loss.new_zeros(()))
        return loss
    seen = _core._len_torch_dispatch_stack() > 0  # by a mode, which sees the operator whole
    nll = (aten().nll_loss_nd if seen else nll_loss_nd)(log_p, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return nll
    keep = target != ignore_index
    smooth = -(log_p * _along(weight, self, channel)).sum(channel).masked_fill(~keep, 0.0)
    if reduction == 1:
        count = keep.sum() if weight is None else (weight[target.masked_fill(~keep, 0)] * keep).sum()
        smooth = smooth.sum() / count
    elif reduction == 2:
        smooth = smooth.sum()
    return nll * (1 - label_smoothing) + smooth * (label_smoothing / self.size(channel))


def _along(weight: Any, x: Any, channel: int) -> Any:
    return 1 if weight is None else weight.reshape([-1 if i == channel else 1 for i in range(x.dim())])


@composite("soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", **_NN)
def soft_margin_loss(self, target, reduction):
    return _reduce((no_tangent_behind(self, "soft_margin_loss_backward") * -target).exp().log1p(), reduction)


@composite("hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=1) -> Tensor", **_NN)
def hinge_embedding_loss(self, target, margin, reduction):
    import shim_torch

    zero = shim_torch.zeros_like(self)
    margin = shim_torch.full(
        (), margin, dtype=self.dtype, device=self.device
    )  # in the dtype of the input, as PyTorch has it
    return _reduce(
        shim_torch.where(target != 1, margin.sub(self).clamp(min=0), zero) + shim_torch.where(target != -1, self, zero),
        reduction,
    )


@composite(
    "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1) -> Tensor",
    **_NN,
)
def margin_ranking_loss(input1, input2, target, margin, reduction):
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    further = input1 - input2
    return _reduce((-target * further + margin).clamp(min=0), reduction)


@composite(
    "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1) -> Tensor",
    **_NN,
)
def cosine_embedding_loss(input1, input2, target, margin, reduction):
    import shim_torch

    eps = 1e-12
    dim = target.dim()
    sizes = f"tensors, but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
    if dim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if dim == 1 and not input1.dim() == input2.dim() == 2:
        raise RuntimeError(f"1D target tensor expects 2D input {sizes}")
    if dim == 0 and not input1.dim() == input2.dim() == 1:
        raise RuntimeError(f"0D target tensor expects 1D input {sizes}")
    a, b = (input1 * input1).sum(dim) + eps, (input2 * input2).sum(dim) + eps
    cos = (input1 * input2).sum(dim) / (a * b).sqrt()
    zero = shim_torch.zeros_like(cos)
    return _reduce(
        shim_torch.where(target == 1, 1 - cos, zero)
        + shim_torch.where(target == -1, (cos - margin).clamp(min=0), zero),
        reduction,
    )


@composite(
    "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, bool swap=False, int reduction=1) -> Tensor",
    **_NN,
)
def triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction):
    import shim_torch

    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
            f"{anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )
    near, far = (
        shim_torch.pairwise_distance(anchor, positive, p, eps),
        shim_torch.pairwise_distance(anchor, negative, p, eps),
    )
    if swap:
        far = far.minimum(shim_torch.pairwise_distance(positive, negative, p, eps))
    return _reduce((margin + near - far).clamp(min=0), reduction)


@composite(
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor",
    **_NN,
)
def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    import math

    rate, log_rate = (input.exp(), input) if log_input else (input, (input + eps).log())
    losses = [rate - target * log_rate]
    if full:  # Stirling's formula for log(target!), which is 0 for 0 and 1
        log_factorial = (target + 0.5) * target.log() - target + 0.5 * math.log(2 * math.pi)
        losses.append(log_factorial.masked_fill(target <= 1, 0.0))
    return _reduce(sum(losses), reduction)
