"""Losses with PyTorch's Python signatures over the table's operators."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nn.calls import _overridden, _override, expanded, operators
from shim_torch.nn import _reduction


def _number(reduction: str, size_average: Any, reduce: Any) -> int:
    return _reduction.get_enum(old_reduction(reduction, size_average, reduce))


def _check_sizes(input: Any, target: Any) -> None:
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely lead to "
            "incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def old_reduction(reduction: str, size_average: Any, reduce: Any) -> str:
    """The reduction, as PyTorch's two old arguments may ask for it."""
    return reduction if size_average is None and reduce is None else _reduction.legacy_get_string(size_average, reduce)


def reduced(each: Any, reduction: str, mean: Callable[[Any], Any] | None = None) -> Any:
    """Losses of elements as a reduction that is known to be valid wants them."""
    if reduction == "none":
        return each
    if reduction == "sum":
        return each.sum()
    return each.mean() if mean is None else mean(each)


def _weighted(each: Any, weight: Any, input: Any, reduction: str, mean: Callable[[Any], Any] | None = None) -> Any:
    """Losses of elements times their weights, reduced; what a mean is divided by differs between losses."""
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    return reduced(each * weight, reduction, mean)


def _need_size(input: Any, target: Any, words: str) -> None:
    """ValueError, with both sizes in it, for a target of another size."""
    if target.size() != input.size():
        raise ValueError(words.format(target.size(), input.size()))


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Log softmax and negative log likelihood; targets are class indices or probabilities."""
    if _overridden(input, target, weight):
        return _override(cross_entropy, 2, input, target, weight)
    return operators.cross_entropy_loss(
        input, target, weight, _number(reduction, size_average, reduce), ignore_index, label_smoothing
    )


def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """Negative log likelihood of class indices."""
    if _overridden(input, target, weight):
        return _override(nll_loss, 2, input, target, weight)
    return operators.nll_loss_nd(input, target, weight, _number(reduction, size_average, reduce), ignore_index)


def kl_div(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """Kullback-Leibler divergence; input in log space."""
    if _overridden(input, target):
        return _override(kl_div, 2, input, target)
    if reduction == "batchmean":
        total = operators.kl_div(input, target, 2, log_target=log_target)
        return total / input.size(0) if input.dim() else total
    if reduction == "mean" and size_average is None and reduce is None:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by the "
            "batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    return operators.kl_div(input, target, _number(reduction, size_average, reduce), log_target=log_target)


def mse_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Any:
    """Mean squared error."""
    if _overridden(input, target, weight):
        return _override(mse_loss, 2, input, target, weight)
    _check_sizes(input, target)
    if weight is not None:
        reduction = old_reduction(reduction, size_average, reduce)
        return _weighted((input - target) ** 2, weight, input, reduction, mean=lambda d: d.sum() / weight.sum())
    return operators.mse_loss(*expanded(input, target), _number(reduction, size_average, reduce))


def l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Any:
    """Mean absolute error; with ``weight``, the mean is over the weights."""
    if _overridden(input, target, weight):
        named = {
            "size_average": size_average,
            "reduce": reduce,
            "reduction": reduction,
        }  # the weight is not told, as in PyTorch
        return _core._handle_torch_function(l1_loss, (input, target, weight), input, target, **named)
    _check_sizes(input, target)
    if weight is not None:
        reduction = old_reduction(reduction, size_average, reduce)
        return _weighted((input - target).abs(), weight, input, reduction, mean=lambda d: d.sum() / weight.sum())
    return operators.l1_loss(*expanded(input, target), _number(reduction, size_average, reduce))


def smooth_l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
) -> Any:
    """Squared below beta, absolute above."""
    if _overridden(input, target):
        return _override(smooth_l1_loss, 2, input, target)
    _check_sizes(input, target)
    return operators.smooth_l1_loss(*expanded(input, target), _number(reduction, size_average, reduce), beta)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Any:
    """Squared below delta, linear above; with ``weight``, the mean is over the elements."""
    if _overridden(input, target, weight):
        return _override(huber_loss, 2, input, target, weight)
    _check_sizes(input, target)
    if weight is not None:
        each = operators.huber_loss(input, target, _reduction.get_enum("none"), delta)
        return _weighted(each, weight, input, reduction)
    return operators.huber_loss(input, target, _reduction.get_enum(reduction), delta)


def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """Binary cross entropy of probabilities."""
    if _overridden(input, target, weight):
        return _override(binary_cross_entropy, 2, input, target, weight)
    words = "Using a target size ({}) that is different to the input size ({}) is deprecated. Please ensure they have the same size."
    _need_size(input, target, words)
    return operators.binary_cross_entropy(input, target, weight, _number(reduction, size_average, reduce))


def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    """Binary cross entropy of logits."""
    if _overridden(input, target, weight, pos_weight):
        return _override(binary_cross_entropy_with_logits, 2, input, target, weight, pos_weight)
    _need_size(input, target, "Target size ({}) must be the same as input size ({})")
    rest = (weight, pos_weight, _number(reduction, size_average, reduce))
    return operators.binary_cross_entropy_with_logits(input, target, *rest)


def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """Negative log likelihood of Poisson rates."""
    if _overridden(input, target):
        return _override(poisson_nll_loss, 2, input, target)
    return operators.poisson_nll_loss(input, target, log_input, full, eps, _number(reduction, size_average, reduce))


def _variance(var: Any, input: Any) -> Any:
    """One variance for each element, each row or along one dim, in a shape that goes with the input's; not below zero."""
    if isinstance(var, float):
        var = input.new_full(input.shape, var)
    if bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.shape == input.shape[:-1] and input.dim():
        return var.unsqueeze(-1)
    other = [own for size, own in zip(input.shape, var.shape, strict=False) if size != own]
    if var.dim() != input.dim() or other not in ([], [1]):
        raise ValueError("var is of incorrect size")
    return var


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Negative log likelihood of normal targets; variances below ``eps`` count as ``eps``, with the gradient of their own."""
    if _overridden(input, target, var):
        return _override(gaussian_nll_loss, 3, input, target, var)
    spread = _variance(var, input).clone()
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    if not spread.is_floating_point():
        from shim_torch._impl.records.shared.convolution_rules import c_type_name

        raise RuntimeError(f"result type Float can't be cast to the desired output type {c_type_name(spread.dtype)}")
    spread.detach().clamp_(min=eps)
    loss = (spread.log() + (input - target).square() / spread) * 0.5
    return reduced(loss + math.log(2 * math.pi) / 2 if full else loss, reduction)


def _plain(name: str, tensors: tuple[str, ...], *settings: tuple[str, Any]) -> Any:
    """A loss of tensors and settings, then size_average, reduce, reduction: all by place or by name."""
    rest = (*settings, ("size_average", None), ("reduce", None), ("reduction", "mean"))
    names = (*tensors, *(n for n, _ in rest))

    def loss(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(names):
            raise TypeError(
                f"{name}() takes from {len(tensors)} to {len(names)} positional arguments but {len(args)} were given"
            )
        values: dict[str, Any] = dict(zip(names, args, strict=False))
        for key, value in kwargs.items():
            if key not in names:
                raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
            if key in values:
                raise TypeError(f"{name}() got multiple values for argument '{key}'")
            values[key] = value
        missing = [f"'{n}'" for n in tensors if n not in values]
        if missing:
            listed = " and ".join(missing) if len(missing) < 3 else f"{', '.join(missing[:-1])}, and {missing[-1]}"
            raise TypeError(
                f"{name}() missing {len(missing)} required positional argument{'s'[: len(missing) > 1]}: {listed}"
            )
        filled: list[Any] = [values.get(n, default) for n, default in rest]
        given = [values[n] for n in tensors]
        if _overridden(*given):
            return _core._handle_torch_function(
                loss, given, *given, **dict(zip((n for n, _ in rest), filled, strict=True))
            )
        *chosen, size_average, reduce, reduction = filled
        if name == "triplet_margin_loss" and chosen[0] <= 0:
            raise ValueError(f"margin must be greater than 0, got {chosen[0]}")
        return getattr(operators, name)(*given, *chosen, _number(reduction, size_average, reduce))

    loss.__name__ = loss.__qualname__ = name
    return loss


_PAIR, _TWO = ("input", "target"), ("input1", "input2", "target")
soft_margin_loss = _plain("soft_margin_loss", _PAIR)
hinge_embedding_loss = _plain("hinge_embedding_loss", _PAIR, ("margin", 1.0))
margin_ranking_loss = _plain("margin_ranking_loss", _TWO, ("margin", 0.0))
cosine_embedding_loss = _plain("cosine_embedding_loss", _TWO, ("margin", 0.0))
triplet_margin_loss = _plain(
    "triplet_margin_loss",
    ("anchor", "positive", "negative"),
    ("margin", 1.0),
    ("p", 2.0),
    ("eps", 1e-6),
    ("swap", False),
)

_NO_LOSSES = ("functions", "Any", "Callable", "need", "old_reduction", "reduced")


def functions() -> dict[str, Any]:
    """What torch.nn.functional takes from here."""
    return {n: f for n, f in globals().items() if callable(f) and not n.startswith("_") and n not in _NO_LOSSES}
