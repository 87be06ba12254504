"""Further functions of ``torch.nn.functional``: losses over sequences and margins, embedding bags, dropouts."""

from __future__ import annotations

from typing import Any

from shim_torch.nn._calls import operators
from shim_torch.nn._reduction import get_enum as _enum


def _torch() -> Any:
    import shim_torch

    return shim_torch


def _aten() -> Any:
    return operators


def _name(reduction: str, size_average: Any, reduce: Any) -> str:
    """The reduction that PyTorch's two old arguments ask for."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is not None and not reduce:
        return "none"
    return "mean" if size_average is None or size_average else "sum"


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """Connectionist temporal classification: log_probs (T, N, C), targets (N, S) or all in one list."""
    return _aten().ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _enum(reduction), zero_infinity)


def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Σ max(0, margin - x[y] + x[i])^p / C over the other classes."""
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    number = _enum(_name(reduction, size_average, reduce))
    return _aten().multi_margin_loss(input, target, p, margin, weight, number)


def multilabel_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """Σ max(0, 1 - (x[j] - x[i])) / C over target classes j and the others i."""
    return _aten().multilabel_margin_loss(input, target, _enum(_name(reduction, size_average, reduce)))


def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """The mean over classes of the binary cross entropy of each."""
    F = _torch().nn.functional
    loss = -(target * F.logsigmoid(input) + (1 - target) * F.logsigmoid(-input))
    loss = loss if weight is None else loss * weight
    loss = loss.sum(input.dim() - 1) / input.size(input.dim() - 1)
    reduction = _name(reduction, size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *, distance_function: Any = None, margin: float = 1.0, swap: bool = False,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
    torch = _torch()
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
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    loss = torch.clamp_min(margin + near - far, 0)
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """Sums, means or maxima of bags of embeddings: rows of a 2-D input, or a 1-D one cut at ``offsets``."""
    torch = _torch()
    if weight.dtype == torch.int64 and input.is_floating_point():
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same "
            f"shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. "
                f"However, found offsets of type {type(offsets)}"
            )
        offsets = torch.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    modes = {"sum": 0, "mean": 1, "max": 2}
    if mode not in modes:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and (scale_grad_by_freq or sparse):
        what = "scaling the gradient by the frequency" if scale_grad_by_freq else "sparse weights"
        raise ValueError(f"max mode does not support {what}")
    if max_norm is not None:
        _aten().embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    return _aten().embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        modes[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]


def _alpha(name: str) -> Any:
    def run(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
        if p < 0.0 or p > 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        return getattr(_aten(), name + "_" if inplace else name)(input, p, training)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"torch.nn.functional.{name}."
    return run


alpha_dropout, feature_alpha_dropout = _alpha("alpha_dropout"), _alpha("feature_alpha_dropout")


def rrelu(input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False) -> Any:
    """x where positive, elsewhere times a slope drawn from U(lower, upper), or their mean when not training."""
    return (_aten().rrelu_ if inplace else _aten().rrelu)(input, lower, upper, training)


def _fractional(n: int) -> dict[str, Any]:
    def with_indices(
        input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Any = None,
    ) -> Any:  # fmt: skip
        if output_size is None and output_ratio is None:
            raise ValueError(f"fractional_max_pool{n}d requires specifying either an output_size or an output_ratio")
        kernel = (kernel_size,) * n if isinstance(kernel_size, int) else tuple(kernel_size)
        ints = "Ints" if n == 2 else "three Ints"
        if len(kernel) != n:
            raise RuntimeError(f"fractional_max_pool{n}d: kernel_size must either be a single Int or tuple of {ints}")
        if output_size is None:
            ratio = (output_ratio,) * n if isinstance(output_ratio, float) else tuple(output_ratio)
            output_size = [int(s * r) for s, r in zip(input.shape[-n:], ratio, strict=True)]
        size = (output_size,) * n if isinstance(output_size, int) else tuple(output_size)
        if len(size) != n:
            raise RuntimeError(f"fractional_max_pool{n}d: output_size must either be a single Int or tuple of {ints}")
        if _random_samples is None:
            batch = 1 if input.dim() == n + 1 else input.size(0)
            _random_samples = _torch().rand(batch, input.size(-n - 1), n, dtype=input.dtype, device=input.device)
        return getattr(_aten(), f"fractional_max_pool{n}d")(input, kernel, size, _random_samples)

    def pool(*args: Any, return_indices: bool = False, **kwargs: Any) -> Any:
        if len(args) > 4:
            return_indices = args[4]
            args = args[:4] + args[5:]
        pair = with_indices(*args, **kwargs)
        return pair if return_indices else pair[0]

    names = {f"fractional_max_pool{n}d_with_indices": with_indices, f"fractional_max_pool{n}d": pool}
    for name, function in names.items():
        function.__name__ = function.__qualname__ = name
        function.__doc__ = "Maxima over windows at places drawn at random."
    return names


def _in_place(name: str, *settings: Any) -> Any:
    """relu_ and its like: the activation with ``inplace``."""

    def run(input: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(_torch().nn.functional, name)(input, *args, inplace=True, **kwargs)

    run.__name__ = run.__qualname__ = name + "_"
    run.__doc__ = f"{name} in place."
    return run


_IN_PLACE = {f"{n}_": _in_place(n) for n in "relu elu selu celu leaky_relu hardtanh threshold rrelu".split()}


def functions() -> dict[str, Any]:
    """What nn.functional takes from here."""
    names = (
        "ctc_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss triplet_margin_with_distance_loss "
        "embedding_bag alpha_dropout feature_alpha_dropout rrelu"
    ).split()
    return {**{n: globals()[n] for n in names}, **_IN_PLACE, **_fractional(2), **_fractional(3)}
