"""Sums, means and maxima of bags of embeddings."""

from __future__ import annotations

import sys
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.embedding_bags import BY_SAMPLES, end_heeded
from shim_torch._impl.records.shared.formulas import gradient_once, widened
from shim_torch._impl.table.calls import aten, shim, torch
from shim_torch._impl.table.record import composite
from shim_torch._impl.table.rules import FLOATS

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)

_TYPES = {"float32": "torch.FloatTensor", "float64": "torch.DoubleTensor", "float16": "torch.HalfTensor"}


def _check(
    weight: Any, indices: Any, offsets: Any, mode: int, per_sample_weights: Any, padding: int, known: bool
) -> None:
    for t, what, at in ((indices, "indices", 1), (offsets, "offsets", 1)):
        if t.dtype not in (_core.int32, _core.int64):
            name = _TYPES.get(str(t.dtype).removeprefix("torch."), f"torch.{_core.scalar_name(t.dtype)}Tensor")
            raise RuntimeError(
                f"Expected tensor for argument #{at} '{what}' to have one of the following scalar types: Long, Int; but got {name} "
                "instead (while checking arguments for embedding_bag)"
            )
    if weight.dtype not in FLOATS:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, Double; "
            f"but got torch.{_core.scalar_name(weight.dtype)}Tensor instead (while checking arguments for embedding_bag)"
        )
    if weight.dim() != 2:
        raise RuntimeError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if offsets.dim() != 1:
        raise RuntimeError(f"offsets has to be a 1D Tensor, but got Tensor of dimension {offsets.dim()}")
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
        names = [_TYPES.get(str(t.dtype).removeprefix("torch."), f"torch.{_core.scalar_name(t.dtype)}Tensor")
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
    if indices.dim() not in (1, 2):
        raise RuntimeError(f"input has to be a 1D or 2D Tensor, but got Tensor of dimension {indices.dim()}")
    indices = indices.reshape(-1)
    bags = offsets.numel() - 1 if last else offsets.numel()
    one_kernel = _one_kernel(weight, indices, offsets, samples, bags) and not (sparse or scale_by_freq)
    # Where a kernel checks the indices, nobody waits for their values.
    hidden = any(t.is_meta or _is_fake(t) for t in (weight, indices, offsets))
    known = not (one_kernel and weight.is_cuda or hidden)
    _check(weight, indices, offsets, mode, samples, padding, known)
    if one_kernel:
        samples = samples if samples is None else samples.reshape(-1)
        offsets = offsets if offsets.dtype == indices.dtype else offsets.to(indices.dtype)
        out, where, counts, most = shim.embedding_bags(weight, indices, offsets, samples, mode, last, padding)
        if mode == 0:
            counts = most = counts.new_zeros((bags,))
        return out, where if mode or padding >= 0 else where[:0], counts, most if mode != 1 else counts
    if hidden:
        width = weight.size(1)
        most = indices.new_empty((bags, width) if mode == 2 else (0,) if weight.is_meta else (bags,))
        where = indices.new_empty((0,) if not (weight.is_meta or mode or padding >= 0) else indices.shape)
        out = weight.sum(0).expand(bags, width) * (1 if samples is None else samples.sum())
        return out, where, offsets.new_empty(offsets.shape if weight.is_meta else (bags,)), most
    return _bags_by_steps(weight, indices.long(), offsets, scale_by_freq, mode, sparse, samples, last, padding)


def _is_fake(t: Any) -> bool:
    """Whether a tensor has no values, though its device says that it has."""
    made = sys.modules.get("shim_torch._subclasses.fake_tensor")  # without it there is none
    return made is not None and isinstance(t, made.FakeTensor)


def _places(indices: Any, offsets: Any, heeded: bool, last: bool, padding: int, bags: int) -> tuple[Any, Any]:
    """The bag of each index; and the places of those that count, which are in a bag and no padding."""
    ends = offsets[1:].long()
    if not last:
        ends = torch.cat([ends, ends.new_full((1,), indices.numel())])
    elif not heeded and bags:
        ends = torch.cat([ends[:-1], ends.new_full((1,), indices.numel())])
    place = torch.arange(indices.numel(), device=indices.device)
    bag_of = torch.searchsorted(ends, place, right=True)
    kept = (bag_of < bags) if padding < 0 else (bag_of < bags) & (indices != padding)
    return bag_of, kept.nonzero().squeeze(1) if not bool(kept.all()) else place


def _bags_by_steps(
    weight: Any, indices: Any, offsets: Any, scale_by_freq: bool, mode: int, sparse: bool, samples: Any, last: bool,
    padding: int,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """The results of ``_embedding_bag`` in tensor operations."""
    bags = offsets.numel() - 1 if last else offsets.numel()
    heeded = end_heeded(weight.dtype, last, padding, mode) and not weight.is_cuda
    bag_of, used = _places(indices, offsets, heeded and mode == 0, last, padding, bags)
    rows, bag = indices[used], bag_of[used]
    counts = bag.bincount(minlength=bags) if bag.numel() else torch.zeros(bags, dtype=_core.int64, device=weight.device)
    if not sparse:
        weight = gradient_once(weight, "_embedding_bag_backward" if samples is None else BY_SAMPLES)
    samples = samples if samples is None else gradient_once(samples, BY_SAMPLES)
    table = widened(weight)
    values = aten._embedding_sparse(table, rows, -1, False) if sparse else table.index_select(0, rows)
    if scale_by_freq and values.requires_grad:  # the same values, whose gradients are divided by how often rows occur
        if sparse:
            values.register_hook(_no_sparse_frequencies)
        often = _frequencies(rows, weight.size(0)).to(values.dtype).unsqueeze(1)
        values = values.detach() + (values - values.detach()) / often
    zeros = values.new_zeros((bags, weight.size(1)))
    if mode == 2:
        out, most = _maxima(values, rows, bag, zeros)
        return out.to(weight.dtype), bag_of, counts, most
    if samples is not None:
        values = values * samples.reshape(-1)[used].to(values.dtype).unsqueeze(1)
    out = zeros.index_add(0, bag, values)
    if mode == 1:
        if (
            heeded and bags and int(offsets[-1]) < indices.numel()
        ):  # the values of the rest do not count, their gradients do
            rest = (used >= offsets[-1]).unsqueeze(1)
            out = out - zeros.index_add(0, bag, values.detach().masked_fill(~rest, 0))
        out = out / counts.clamp(min=1).to(out.dtype).unsqueeze(1)
        return out.to(weight.dtype), bag_of, counts, counts
    none = counts.new_zeros((bags,))
    return out.to(weight.dtype), bag_of if padding >= 0 else bag_of[:0], none, none


def _no_sparse_frequencies(g: Any) -> Any:
    raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")


def _frequencies(rows: Any, count: int) -> Any:
    """For each of ``rows`` by what its gradient is divided: how often it occurs.

    On the CPU PyTorch takes the k-th distinct row's number from the k-th of all rows in order, which is another's where
    an earlier one occurs more than once.
    """
    counts = rows.bincount(minlength=count)
    if rows.is_cuda:
        return counts[rows]
    in_order = rows.sort().values
    taken = torch.zeros_like(counts)
    distinct = (counts > 0).nonzero().squeeze(1)
    taken[distinct] = counts[in_order[: distinct.numel()]]
    return taken[rows]


def _one_kernel(weight: Any, indices: Any, offsets: Any, samples: Any, bags: int) -> bool:
    given = [weight, indices, offsets, *([] if samples is None else [samples])]
    if all(t.is_cuda for t in given):
        kinds: tuple[Any, ...] = FLOATS
    elif all(t.device.type == "cpu" for t in given) and not any(map(_is_fake, given)):
        kinds = (_core.float32, _core.float64)
    else:
        return False
    whole = (
        indices.dtype in (_core.int32, _core.int64)
        and offsets.dtype in (_core.int32, _core.int64)
        and offsets.dim() == 1
    )
    fits = samples is None or (samples.dtype == weight.dtype and samples.numel() == indices.numel())
    return weight.dim() == 2 and weight.dtype in kinds and whole and fits and bags > 0 and weight.numel() > 0


def _maxima(values: Any, rows: Any, bag: Any, zeros: Any) -> tuple[Any, Any]:
    """The largest of each bag and column, and the embedding it came from; the first of equals."""
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


_REFUSED = (
    (
        "bc",
        "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, Double; but "
        "got CPU{}Type instead (while checking arguments for embedding_bag)",
    ),
)


@composite(
    f"embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> {_RESULT}",
    method=False,
    refuses=_REFUSED,
    forward_error_name="_embedding_bag",
    gradient_name="EmbeddingBagBackward0",
)
def embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset):
    """The bags' sums (mode 0), means (1) or maxima (2); where each index went, the bags' sizes, the maxima's places."""
    return _bags(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, -1
    )


@composite(
    f"embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> {_RESULT}",
    method=False,
    refuses=_REFUSED,
    forward_error_name="_embedding_bag",
    gradient_name="EmbeddingBagBackward0",
)
def embedding_bag_padded(
    weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx
):
    """``embedding_bag`` in which indices of ``padding_idx`` do not count; a negative one counts from the end."""
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
        **({"forward_error_name": _name} if _name == "_embedding_bag" else {}),
    )(lambda *given: _bags(*given))
