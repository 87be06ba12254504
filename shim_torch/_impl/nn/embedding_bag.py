"""``torch.nn.functional.embedding_bag``."""

from __future__ import annotations

import warnings
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nn.calls import _overridden, _override, operators
from shim_torch._impl.table.calls import torch

_MODES = {"sum": 0, "mean": 1, "max": 2}
_SWAPPED = (
    "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is deprecated, and "
    "should now be `embedding_bag(input, weight, ...)`."
)


def _mode_number(mode: str, weighted: bool, unsupported: dict[str, bool]) -> int:
    """The operator's number for a mode; ValueError or NotImplementedError for settings that it does not support."""
    if mode not in _MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    for what in (what for what, wanted in unsupported.items() if wanted and mode == "max"):
        raise ValueError(f"max mode does not support {what}")
    if weighted and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    return _MODES[mode]


def _bags(input: Any, offsets: Any) -> tuple[Any, Any]:
    """(indices flattened, start of each bag); the rows of a 2-D input are bags of equal length."""
    if input.dim() not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if input.dim() == 1:
        if offsets is None or offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor" + (" but got None" if offsets is None else ""))
        return input, offsets
    if offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. "
            f"However, found offsets of type {type(offsets)}"
        )
    starts = torch.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
    return input.reshape(-1), starts


def _flat_weights(weights: Any, input: Any) -> Any:
    """The per-sample weights, flattened like the indices."""
    if weights is None:
        return None
    if input.size() != weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({weights.shape}) is not None, then it must have the same shape as the "
            f"input ({input.shape})"
        )
    return weights.reshape(-1)


def embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """Sums, means or maxima of bags of embeddings: rows of a 2-D input, or a 1-D one cut at ``offsets``."""
    if _overridden(input, weight, offsets, per_sample_weights):
        return _override(embedding_bag, 2, input, weight, offsets, per_sample_weights)
    if weight.dtype == _core.int64 and input.is_floating_point():
        warnings.warn(_SWAPPED, UserWarning, stacklevel=2)
        weight, input = input, weight
    weights = _flat_weights(per_sample_weights, input)
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    indices, starts = _bags(input, offsets)
    if include_last_offset and input.dim() == 2:
        starts = torch.cat([starts, starts.new_full((1,), input.numel())])
    not_of_max = {"scaling the gradient by the frequency": scale_grad_by_freq, "sparse weights": sparse}
    number = _mode_number(mode, weights is not None, not_of_max)
    if max_norm is not None:
        operators.embedding_renorm_(weight.detach(), indices, max_norm, norm_type)
    settings = (scale_grad_by_freq, number, sparse, weights, include_last_offset, padding_idx)
    return operators.embedding_bag(weight, indices, starts, *settings)[0]
