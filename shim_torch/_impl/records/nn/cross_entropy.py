"""Cross entropies: of chances, logits and classes."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import binary_cross_entropies, logit_cross_entropies, without_slope
from shim_torch._impl.records.shared.losses import pointwise_loss, reduced_loss
from shim_torch._impl.table.calls import aten, shim
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import FLOATS, broadcast, int_to_float, not_implemented, type_name

VALUES = "ranges"  # a call may fail for a class or a chance that is out of range (compile/deferral.py)

_NN = {"module": "_C", "method": False, "function": False}


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


@composite(
    "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor",
    gradient_name=True,
    **_NN,
    autocast="float32_cpu",
)
def binary_cross_entropy(self, target, weight, reduction):
    """-(t · log x + (1 - t) · log(1 - x)) of chances x and targets t, each logarithm at least -100; times ``weight``.

    ``reduction``: 0 none, 1 mean, 2 sum.
    Errors:  RuntimeError where the dtypes differ and, on the CPU, for values that are not between 0 and 1
    """
    if target.dtype != self.dtype:
        raise RuntimeError(f"Found dtype {type_name(target.dtype)} but expected {type_name(self.dtype)}")
    if not self.is_floating_point():
        raise not_implemented("binary_cross_entropy", self.dtype)
    without_slope("binary_cross_entropy", weight=weight)
    found = pointwise_loss(self, target, reduction, "bce") if weight is None else None
    if found is not None:
        return found
    loss = aten._binary_cross_entropy_each(self, target)
    return reduced_loss(loss if weight is None else loss * weight, reduction)


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
    gradient_name=True,
    **_NN,
    also="torch",
    refuses=(("bic", "log_sigmoid_cpu"),),
    autocast="float32",
)
def binary_cross_entropy_with_logits(self, target, weight, pos_weight, reduction):
    """The binary cross entropy of sigmoid(input) with the targets, computed so that no logarithm of zero comes up.

    ``pos_weight`` multiplies the term of the target, ``weight`` the whole. ``reduction``: 0 none, 1 mean, 2 sum.
    """
    without_slope("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    found = (
        pointwise_loss(self, target, reduction, "bce_with_logits") if weight is None and pos_weight is None else None
    )
    if found is not None:
        return found
    if pos_weight is None and self.is_cuda and self.dtype in FLOATS and target.dtype == self.dtype:
        loss = shim.bce_logits_each(self, target)
        return reduced_loss(loss if weight is None else loss * weight, reduction)
    log_sigmoid = aten.log_sigmoid(self)
    if pos_weight is None:
        loss = (1 - target) * self - log_sigmoid
    else:
        loss = (1 - target) * self - ((pos_weight - 1) * target + 1) * log_sigmoid
    return reduced_loss(loss if weight is None else loss * weight, reduction)


@composite(
    "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor",
    gradient_name="NllLossBackward0",
    native="nll_loss_whole",
    **_NN,
    refuses=(("bic", "nll_loss_out_frame"),),
    autocast="float32",
)
def nll_loss_nd(self, target, weight, reduction, ignore_index):
    """Minus the log chances of the target classes, times their ``weight``; targets of ``ignore_index`` give 0.

    Shapes:  input (N, C, *) or (C,), target (N, *) or (), weight (C,) -> as target with ``reduction=0``, else ()
    ``reduction``: 0 none, 1 the mean weighted by ``weight``, 2 sum
    Errors:  RuntimeError or ValueError for shapes and dtypes, IndexError on the CPU for a target that is no class
    """

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
        raise RuntimeError(
            f"expected scalar type {_core.scalar_name(x.dtype)} but found {_core.scalar_name(weight.dtype)}"
        )
    without_slope("nll_loss_forward" if self.dim() <= 2 else "nll_loss2d_forward", weight=weight)
    t = t.long()
    own = type(x) is _core.Tensor  # a class of Python sees the operators that the loss is made of
    if own and x.is_cuda and t.is_cuda and x.dtype in FLOATS and (weight is None or weight.dtype == x.dtype):
        loss = shim.nll_loss(x, t, weight, reduction, ignore_index)[0]
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
    loss = (picked if weight is None else picked * w).masked_fill(~keep, 0.0)
    if reduction == 0:
        return loss if batched else loss.squeeze(0)
    return loss.sum() / w.sum() if reduction == 1 else loss.sum()


def _check_target_dtype(target: Any) -> None:
    """PyTorch's CPU takes int64 and uint8; int32 too are taken elsewhere."""
    if target.dtype not in (_core.int64, _core.uint8) and (target.device.type == "cpu" or target.dtype != _core.int32):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {_core.scalar_name(target.dtype)}")


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
    loss = shim.cross_entropy(x.contiguous(), *arguments)[0]
    return loss if reduction or loss.shape == target.shape else loss.reshape(target.shape)


@composite(
    "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor",
    native="cross_entropy_loss",
    **_NN,
    autocast="float32",
)
def cross_entropy_loss(self, target, weight, reduction, ignore_index, label_smoothing):
    """The cross entropy of softmax(input) with the targets: classes, or the chances of all classes.

    Shapes:  input (N, C, *) or (C,); target (N, *) or () for class indices, that of input for chances; weight (C,)
    ``label_smoothing``: this share of each target is spread evenly over all classes.
    ``ignore_index``: a class index whose losses are 0 and do not count in the mean.
    ``reduction``: 0 none, 1 mean (of class indices weighted by ``weight``), 2 sum
    """
    channel = 0 if self.dim() == 1 else 1
    if label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if not label_smoothing and _one_kernel(self, target, weight):
        without_slope("nll_loss_forward" if self.dim() <= 2 else "nll_loss2d_forward", weight=weight)
        return _cross_entropy(self, target, weight, reduction, ignore_index)
    log_p = self.log_softmax(channel)
    if self.shape == target.shape:  # probabilities
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
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
        loss = -_weighted(log_p * t, weight, channel).sum(channel)
        if reduction:
            loss = loss.sum() if reduction == 2 else loss.sum() / (self.numel() // n if n else loss.new_zeros(()))
        return loss
    seen = _core._len_torch_dispatch_stack() > 0  # by a mode, which sees the operator whole
    nll = (aten.nll_loss_nd if seen else nll_loss_nd)(log_p, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return nll
    keep = target != ignore_index
    smooth = -_weighted(log_p, weight, channel).sum(channel).masked_fill(~keep, 0.0)
    if reduction == 1:
        count = keep.sum() if weight is None else (weight[target.masked_fill(~keep, 0)] * keep).sum()
        smooth = smooth.sum() / count
    elif reduction == 2:
        smooth = smooth.sum()
    return nll * (1 - label_smoothing) + smooth * (label_smoothing / self.size(channel))


def _weighted(x: Any, weight: Any, channel: int) -> Any:
    return x if weight is None else x * weight.reshape([-1 if i == channel else 1 for i in range(x.dim())])
