"""``linear_cross_entropy``: a linear layer and its cross entropy, whole or in chunks of the batch."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nn.calls import _overridden, _override
from shim_torch._impl.table.calls import torch


def _functions() -> Any:
    from shim_torch.nn import functional

    return functional


def _check(input: Any, linear_weight: Any, target: Any, linear_bias: Any, ignore_index: Any) -> tuple[int, ...]:
    """Checks shapes with PyTorch's errors; returns the logits' shape."""
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {linear_weight.shape[-1]}, respectively"
        )
    outputs = tuple(linear_weight.shape[:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != outputs:
        raise RuntimeError(f"expected linear_bias shape {outputs}, got {tuple(linear_bias.shape)}")
    if len(outputs) > 1 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {input.shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )
    shape = (*input.shape[:-1], *outputs)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    return shape


def linear_cross_entropy(
    input: Any, linear_weight: Any, target: Any, *, linear_bias: Any = None, weight: Any = None, reduction: str = "mean",
    ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None,
) -> Any:  # fmt: skip
    """Cross entropy of input · linear_weightᵀ + linear_bias.

    Shapes:  input (N, K) or (K), linear_weight (C, *, K), target (N, *) of classes or (N, C, *) of probabilities
    Memory:  with ``options`` the logits of one chunk of rows at a time, forward and backward
    Errors:  RuntimeError for shapes that don't match
    """
    if _overridden(input, linear_weight, target, linear_bias, weight):
        return _override(linear_cross_entropy, 3, input, linear_weight, target, linear_bias, weight)
    F: Any = _functions()

    shape = _check(input, linear_weight, target, linear_bias, ignore_index)
    ignored = -100 if ignore_index is None else ignore_index
    if options is not None:
        known = reduction in ("mean", "sum", "none") and label_smoothing == 0.0 and target.dtype == _core.int64
        if known and linear_weight.dim() == 2:
            return _chunked(input, linear_weight, target, linear_bias, weight, reduction, ignored, options)
        _warn_ignored(reduction, label_smoothing, target, linear_weight, linear_bias)
    rows = linear_weight.reshape(-1, linear_weight.size(-1))
    logits = F.linear(input, rows, None if linear_bias is None else linear_bias.reshape(-1)).reshape(shape)
    return F.cross_entropy(
        logits, target, weight=weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


def _warn_ignored(reduction: str, label_smoothing: float, target: Any, linear_weight: Any, linear_bias: Any) -> None:
    import warnings

    warnings.warn(
        "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, label_smoothing == 0, "
        f"target.dtype == int64, out_features == (). Got reduction={reduction!r}, label_smoothing={label_smoothing}, "
        f"target.dtype={target.dtype}, out_features={tuple(linear_weight.shape[1:-1])}, tracing=False, linear_bias.shape="
        f"{None if linear_bias is None else tuple(linear_bias.shape)}.",
        stacklevel=3,
    )


def _chunked(
    input: Any, linear_weight: Any, target: Any, bias: Any, weight: Any, reduction: str, ignored: int, options: Any
) -> Any:
    """The losses of chunks of rows; the backward computes a chunk's logits again instead of keeping them."""
    F: Any = _functions()
    from shim_torch.utils.checkpoint import checkpoint

    x, classes = (input, target) if input.dim() == 2 else (input.unsqueeze(0), target.unsqueeze(0))
    rows = options.rows(x.size(0), x.size(1), linear_weight.size(0), x.device, x.dtype)
    dtype = options.acc_dtype
    if dtype is None:
        dtype = _core.float32 if x.dtype in (_core.float16, _core.bfloat16) else x.dtype
    kind = "none" if reduction == "none" else "sum"

    def part(x: Any, classes: Any, linear_weight: Any, bias: Any) -> Any:
        logits = F.linear(x, linear_weight, bias).to(dtype)
        given = None if weight is None else weight.to(dtype)
        return F.cross_entropy(logits, classes, weight=given, ignore_index=ignored, reduction=kind)

    found = [
        checkpoint(part, x[i : i + rows], classes[i : i + rows], linear_weight, bias, use_reentrant=False)
        for i in range(0, max(x.size(0), 1), rows)
    ]
    if reduction == "none":
        result = torch.cat(found).to(input.dtype)
        return result if input.dim() == 2 else result.squeeze(0)
    total = found[0]
    for loss in found[1:]:
        total = total + loss
    if reduction == "mean":
        used = classes != ignored
        total = total / (used.sum() if weight is None else weight.to(dtype)[classes[used]].sum())
    return total.to(input.dtype)
