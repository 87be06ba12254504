"""Sums, means and maxima of bags of embeddings."""

from __future__ import annotations

from typing import Any

from native import _core
from shim_torch._utils import _scalar

from ._formulas import torch_module
from ._record import composite

_TYPES = {"float32": "torch.FloatTensor", "float64": "torch.DoubleTensor", "float16": "torch.HalfTensor"}


def _check(weight: Any, indices: Any, offsets: Any, mode: int, per_sample_weights: Any, padding: int) -> None:
    for t, what, at in ((indices, "indices", 1), (offsets, "offsets", 1)):
        if t.dtype not in (_core.int32, _core.int64):
            name = _TYPES.get(str(t.dtype).removeprefix("torch."), f"torch.{_scalar(t.dtype)}Tensor")
            raise RuntimeError(
                f"Expected tensor for argument #{at} '{what}' to have one of the following scalar types: Long, Int; but got {name} "
                "instead (while checking arguments for embedding_bag)"
            )
    if weight.dtype not in (_core.float16, _core.bfloat16, _core.float32, _core.float64):
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, Double; "
            f"but got torch.{_scalar(weight.dtype)}Tensor instead (while checking arguments for embedding_bag)"
        )
    if weight.dim() != 2:
        raise RuntimeError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if offsets.dim() != 1:
        raise RuntimeError(f"offsets has to be a 1D Tensor, but got Tensor of dimension {offsets.dim()}")
    known = not (weight.is_meta or indices.is_meta or offsets.is_meta)
    if known and offsets.numel() and int(offsets[0]) != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got "
            f"{int(offsets[0])}"
        )
    if known and offsets.numel() and int(offsets[-1]) > indices.numel():
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {indices.numel()} but got offsets[-1] of {int(offsets[-1])}"
        )
    if mode != 0 and per_sample_weights is not None:
        raise RuntimeError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum'"
        )
    if per_sample_weights is not None and per_sample_weights.dtype != weight.dtype:
        names = [_TYPES.get(str(t.dtype).removeprefix("torch."), f"torch.{_scalar(t.dtype)}Tensor")
                 for t in (weight, per_sample_weights)]  # fmt: skip
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; but "
            f"type {names[0]} does not equal {names[1]} (while checking arguments for embedding_bag)"
        )
    if known:
        _check_indices(weight.size(0), indices, mode == 2 or padding >= 0)


def _check_indices(rows: int, indices: Any, every_bag: bool) -> None:
    wrong = (indices < 0) | (indices >= rows)
    if indices.numel() and bool(wrong.any()):
        at = int(wrong.nonzero()[0])
        if every_bag:
            raise RuntimeError(
                f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {int(indices[at])}"
            )
        raise RuntimeError(
            f"Index {at} of input takes value {int(indices[at])} which is not in the valid range [0, {rows})"
        )


def _bags(
    weight: Any, indices: Any, offsets: Any, scale_by_freq: bool, mode: int, sparse: bool, samples: Any, last: bool,
    padding: int,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    torch = torch_module()
    if indices.dim() not in (1, 2):
        raise RuntimeError(f"input has to be a 1D or 2D Tensor, but got Tensor of dimension {indices.dim()}")
    indices = indices.reshape(-1)
    _check(weight, indices, offsets, mode, samples, padding)
    bags = offsets.numel() - 1 if last else offsets.numel()
    if weight.is_meta:
        width = weight.size(1)
        most = indices.new_empty((bags, width)) if mode == 2 else offsets.new_empty(offsets.shape)
        out = weight.sum(0).expand(bags, width) * (1 if samples is None else samples.sum())
        return out, indices.new_empty(indices.shape), offsets.new_empty(offsets.shape), most
    indices = indices.long()
    ends = (
        torch.cat([offsets[1:].long(), offsets.new_full((1,), indices.numel()).long()])
        if not last
        else offsets[1:].long()
    )
    if last and padding >= 0 and bags:  # the last bag goes to the end of the indices, whatever the last offset says
        ends = torch.cat([ends[:-1], ends.new_full((1,), indices.numel())])
    place = torch.arange(indices.numel(), device=indices.device)
    bag_of = torch.searchsorted(ends, place, right=True)
    kept = (bag_of < bags) if padding < 0 else (bag_of < bags) & (indices != padding)
    used = kept.nonzero().squeeze(1) if not bool(kept.all()) else place
    rows, bag = indices[used], bag_of[used]
    counts = bag.bincount(minlength=bags) if bag.numel() else torch.zeros(bags, dtype=_core.int64, device=weight.device)
    narrow = weight.dtype in (_core.float16, _core.bfloat16)
    table = weight.float() if narrow else weight
    values = torch.ops.aten._embedding_sparse(table, rows, -1, False) if sparse else table.index_select(0, rows)
    if scale_by_freq and values.requires_grad:  # the same values, whose gradient is divided by how often their row occurs
        often = rows.bincount(minlength=weight.size(0))[rows].to(values.dtype).unsqueeze(1)
        values = values.detach() + (values - values.detach()) / often
    width = weight.size(1)
    zeros = values.new_zeros((bags, width))
    most = counts.new_zeros((bags,))
    if mode == 2:
        out, most = _maxima(values, rows, bag, zeros)
    else:
        if samples is not None:
            values = values * samples.reshape(-1)[used].to(values.dtype).unsqueeze(1)
        out = zeros.index_add(0, bag, values)
        if mode == 1:
            out = out / counts.clamp(min=1).to(out.dtype).unsqueeze(1)
    if mode == 1:
        most = counts
    where = bag_of if mode != 0 or padding >= 0 else bag_of[:0]
    return out.to(weight.dtype) if narrow else out, where, counts if mode else most, most


def _maxima(values: Any, rows: Any, bag: Any, zeros: Any) -> tuple[Any, Any]:
    """The largest of each bag and column, and the embedding it came from; the first of equals."""
    torch = torch_module()
    index = bag.unsqueeze(1).expand(values.shape)
    best = zeros.scatter_reduce(0, index, values.detach(), "amax", include_self=False)
    count = values.size(0)
    place = torch.arange(count, device=values.device).unsqueeze(1).expand(values.shape)
    candidates = place.masked_fill(values.detach() != best[bag], count)
    first = torch.full(zeros.shape, count, dtype=_core.int64, device=zeros.device)
    first = first.scatter_reduce(0, index, candidates, "amin")
    empty = first == count
    at = first.masked_fill(empty, 0)
    taken = values.gather(0, at).masked_fill(empty, 0) if count else zeros.index_add(0, bag, values)
    from_row = rows[at].masked_fill(empty, 0) if count else at
    return taken, from_row


_RESULT = "(Tensor, Tensor, Tensor, Tensor)"


@composite(
    f"embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> {_RESULT}",
    method=False,
)
def embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset):
    """The bags' sums (mode 0), means (1) or maxima (2); where each index went, the bags' sizes, the maxima's places."""
    return _bags(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, -1
    )


@composite(
    f"embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> {_RESULT}",
    method=False,
)
def embedding_bag_padded(
    weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx
):
    rows = weight.size(0)
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got {padding_idx}"
        )
    padding = -1 if padding_idx is None else padding_idx % rows
    return _bags(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding
    )


for _name in ("_embedding_bag", "_embedding_bag_forward_only"):
    composite(
        f"{_name}(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> {_RESULT}",
        method=False,
    )(lambda *given: _bags(*given))
