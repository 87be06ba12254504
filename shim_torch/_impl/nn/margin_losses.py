"""Losses of ``torch.nn.functional`` over sequences and margins."""

from __future__ import annotations

import functools
from typing import Any

from shim_torch._impl.nn.calls import _overridden, _override, operators
from shim_torch._impl.nn.losses import _number, old_reduction, reduced
from shim_torch._impl.table.calls import aten, torch
from shim_torch.nn._reduction import get_enum as _enum


def _need(holds: bool, words: str) -> None:
    if not holds:
        raise ValueError(words)


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """Connectionist temporal classification (Graves and others, 2006): log_probs (T, N, C), targets (N, S) or 1-d."""
    if _overridden(log_probs, targets, input_lengths, target_lengths):
        return _override(ctc_loss, 4, log_probs, targets, input_lengths, target_lengths)
    return operators.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _enum(reduction), zero_infinity)


def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Σ max(0, margin - x[y] + x[i])^p / C over the other classes."""
    if _overridden(input, target, weight):
        return _override(multi_margin_loss, 2, input, target, weight)
    _need(p in (1, 2), "only p == 1 and p == 2 supported")
    _need(weight is None or weight.dim() == 1, "weight must be one-dimensional")
    return operators.multi_margin_loss(input, target, p, margin, weight, _number(reduction, size_average, reduce))


def multilabel_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """Σ max(0, 1 - (x[j] - x[i])) / C over target classes j and the others i."""
    if _overridden(input, target):
        return _override(multilabel_margin_loss, 2, input, target)
    return operators.multilabel_margin_loss(input, target, _enum(old_reduction(reduction, size_average, reduce)))


def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """The mean over classes of the binary cross entropy of each."""
    if _overridden(input, target, weight):
        return _override(multilabel_soft_margin_loss, 2, input, target, weight)
    loss = -(target * aten.log_sigmoid(input) + (1 - target) * aten.log_sigmoid(-input))
    loss = loss if weight is None else loss * weight
    loss = loss.sum(input.dim() - 1) / input.size(input.dim() - 1)
    reduction = old_reduction(reduction, size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    return reduced(loss, reduction)


def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *, distance_function: Any = None, margin: float = 1.0, swap: bool = False,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
    if _overridden(anchor, positive, negative):
        return _override(triplet_margin_with_distance_loss, 3, anchor, positive, negative)
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = torch.pairwise_distance if distance_function is None else distance_function
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            f"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
            f"{anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )
    from_negative = [distance(other, negative) for other in ((anchor, positive) if swap else (anchor,))]
    far = functools.reduce(torch.minimum, from_negative)
    return reduced((margin + distance(anchor, positive) - far).clamp_min(0), reduction)


def functions() -> dict[str, Any]:
    """The functions that nn.functional takes from here, by name."""
    losses = (
        ctc_loss,
        multi_margin_loss,
        multilabel_margin_loss,
        multilabel_soft_margin_loss,
        triplet_margin_with_distance_loss,
    )
    return {f.__name__: f for f in losses}
