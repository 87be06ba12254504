"""Losses of two or three tensors, element by element or row by row."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.records.shared.formulas import no_tangent_behind, without_slope
from shim_torch._impl.records.shared.losses import pointwise_loss, reduced_loss
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite
from shim_torch._impl.table.rules import not_implemented, promote, type_name

_NN = {"module": "_C", "method": False, "function": False}


def _difference(kernel: str, self: Any, target: Any) -> Any:
    """self - target in the dtype they meet in, which must be a floating one."""
    dtype = promote(self, target)
    if not dtype.is_floating_point:
        raise not_implemented(kernel, dtype)
    return (self if self.dtype == dtype else self.to(dtype)) - (target if target.dtype == dtype else target.to(dtype))


@composite(
    "mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    gradient_name=True,
    native="squared_error_loss",
    **_NN,
    autocast="float32",
)
def mse_loss(self, target, reduction):
    """(x - y)² in the dtype that both meet in, which is a floating one. ``reduction``: 0 none, 1 mean, 2 sum."""
    found = pointwise_loss(self, target, reduction, "mse")
    if found is not None:
        return found
    d = _difference("mse_cpu", self, target)
    return reduced_loss(d * d, reduction)


@composite(
    "l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    native="absolute_error_loss",
    **_NN,
    autocast="float32",
)
def l1_loss(self, target, reduction):
    """|x - y|. ``reduction``: 0 none, 1 mean, 2 sum."""
    found = pointwise_loss(self, target, reduction, "l1")
    return reduced_loss((self - target).abs(), reduction) if found is None else found


@composite(
    "smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0) -> Tensor",
    gradient_name=True,
    native="smooth_l1_loss",
    **_NN,
    autocast="float32",
)
def smooth_l1_loss(self, target, reduction, beta):
    """d = |x - y|: d² / (2 · beta) where d < ``beta``, else d - beta / 2. ``reduction``: 0 none, 1 mean, 2 sum."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(self, target, reduction)
    found = pointwise_loss(self, target, reduction, "smooth_l1", beta)
    if found is not None:
        return found
    d = _difference("smooth_l1_cpu", self, target).abs()
    far = d >= beta
    near = d.masked_fill(far, 0)  # an infinite d would make the gradient of what is not chosen NaN
    return reduced_loss(torch.where(far, d - 0.5 * beta, 0.5 * near * near / beta), reduction)


@composite(
    "huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0) -> Tensor",
    gradient_name=True,
    native="huber_loss",
    **_NN,
    autocast="float32",
)
def huber_loss(self, target, reduction, delta):
    """d = |x - y|: d² / 2 where d <= ``delta``, else delta · (d - delta / 2), in the dtype of x.

    ``reduction``: 0 none, 1 mean, 2 sum.
    """
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    found = pointwise_loss(self, target, reduction, "huber", delta)
    if found is not None:
        return found
    self = no_tangent_behind(self, "huber_loss_backward")
    d = _difference("huber_cpu", self, target).abs()
    if not self.dtype.is_floating_point:
        raise RuntimeError(
            f"result type {type_name(d.dtype)} can't be cast to the desired output type {type_name(self.dtype)}"
        )
    far = d > delta
    near = d.masked_fill(far, 0)  # an infinite d would make the gradient of what is not chosen NaN
    each = torch.where(far, delta * (d - 0.5 * delta), 0.5 * near * near)
    return reduced_loss(each if each.dtype == self.dtype else each.to(self.dtype), reduction)


@composite(
    "kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
    **_NN,
    also="torch",
    refuses=(("bi", "kl_div: Integral inputs not supported."), ("c", "kl_div: Complex inputs not supported.")),
    autocast="float32",
)
def kl_div(self, target, reduction, log_target):
    """t · (log t - x) for log chances x and targets t.

    Dtypes:  floats, of both (RuntimeError)

    ``log_target``: ``target`` has log t. ``reduction``: 0 none, 1 mean, 2 sum.
    """
    if not target.is_floating_point():
        raise RuntimeError(f"kl_div: {'Complex' if target.is_complex() else 'Integral'} inputs not supported.")
    if log_target:
        return reduced_loss(target.exp() * (target - self), reduction)
    return reduced_loss(torch.xlogy(target, target) - target * self, reduction)


@composite(
    "soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    gradient_name=True,
    **_NN,
    no_complex_gradient="soft_margin_loss",
    refuses=(("i", "result type Float can't be cast to the desired output type {}"),),
    autocast="float32",
)
def soft_margin_loss(self, target, reduction):
    """log(1 + exp(-y · x)) for targets y of 1 and -1, which get no gradient. ``reduction``: 0 none, 1 mean, 2 sum."""
    without_slope("soft_margin_loss", target=target)
    return reduced_loss((no_tangent_behind(self, "soft_margin_loss_backward") * -target).exp().log1p(), reduction)


@composite(
    "hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=1) -> Tensor",
    **_NN,
    also="torch",
    autocast="float32",
)
def hinge_embedding_loss(self, target, margin, reduction):
    """x where the target is 1, max(0, ``margin`` - x) where it is -1. ``reduction``: 0 none, 1 mean, 2 sum."""
    zero = torch.zeros_like(self)
    margin = torch.full(
        (), margin, dtype=self.dtype, device=self.device
    )  # in the dtype of the input, as PyTorch has it
    return reduced_loss(
        torch.where(target != 1, margin.sub(self).clamp_min(0), zero) + torch.where(target != -1, self, zero),
        reduction,
    )


@composite(
    "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1) -> Tensor",
    **_NN,
    also="torch",
    autocast="float32",
)
def margin_ranking_loss(input1, input2, target, margin, reduction):
    """max(0, -y · (x1 - x2) + ``margin``) for targets y of 1 and -1. ``reduction``: 0 none, 1 mean, 2 sum."""
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    further = input1 - input2
    return reduced_loss((-target * further + margin).clamp_min(0), reduction)


@composite(
    "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1) -> Tensor",
    **_NN,
    also="torch",
    autocast="float32",
)
def cosine_embedding_loss(input1, input2, target, margin, reduction):
    """1 - cos(x1, x2) where the target is 1, max(0, cos(x1, x2) - ``margin``) where it is -1.

    Shapes:  inputs (N, D) and target (N,), or inputs (D,) and target ()
    ``reduction``: 0 none, 1 mean, 2 sum
    """
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
    zero = torch.zeros_like(cos)
    return reduced_loss(
        torch.where(target == 1, 1 - cos, zero) + torch.where(target == -1, (cos - margin).clamp_min(0), zero),
        reduction,
    )


@composite(
    "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, bool swap=False, int reduction=1) -> Tensor",
    **_NN,
    also="torch",
    autocast="float32",
)
def triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction):
    """max(0, ``margin`` + near - far): ``p``-norm distances over the last dim of anchor to positive and to negative.

    ``swap``: far is the distance of positive to negative where that is smaller. ``eps`` is added to differences.
    ``reduction``: 0 none, 1 mean, 2 sum
    """
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
            f"{anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )
    near, far = (
        torch.pairwise_distance(anchor, positive, p, eps),
        torch.pairwise_distance(anchor, negative, p, eps),
    )
    if swap:
        far = far.minimum(torch.pairwise_distance(positive, negative, p, eps))
    return reduced_loss((margin + near - far).clamp_min(0), reduction)


@composite(
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor",
    **_NN,
    also="torch",
    autocast="float32",
)
def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """exp(x) - t · x for log rates x; without ``log_input`` x - t · log(x + ``eps``) for rates x.

    ``full`` adds Stirling's approximation of log(t!). ``reduction``: 0 none, 1 mean, 2 sum.
    """
    import math

    rate, log_rate = (input.exp(), input) if log_input else (input, (input + eps).log())
    losses = [rate - target * log_rate]
    if full:  # Stirling's formula for log(target!), which is 0 for 0 and 1
        log_factorial = (target + 0.5) * target.log() - target + 0.5 * math.log(2 * math.pi)
        losses.append(log_factorial.masked_fill(target <= 1, 0.0))
    return reduced_loss(sum(losses), reduction)
