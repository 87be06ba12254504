"""Sums, means and maxima of bags of embeddings."""

from __future__ import annotations

import sys
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import gradient_once, once, shim, torch_module, widened
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import FLOATS, accumulation_dtype
from shim_torch._utils import _scalar

_TYPES = {"float32": "torch.FloatTensor", "float64": "torch.DoubleTensor", "float16": "torch.HalfTensor"}


def _check(
    weight: Any, indices: Any, offsets: Any, mode: int, per_sample_weights: Any, padding: int, known: bool
) -> None:
    for t, what, at in ((indices, "indices", 1), (offsets, "offsets", 1)):
        if t.dtype not in (_core.int32, _core.int64):
            name = _TYPES.get(str(t.dtype).removeprefix("torch."), f"torch.{_scalar(t.dtype)}Tensor")
            raise RuntimeError(
                f"Expected tensor for argument #{at} '{what}' to have one of the following scalar types: Long, Int; but got {name} "
                "instead (while checking arguments for embedding_bag)"
            )
    if weight.dtype not in FLOATS:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, Double; "
            f"but got torch.{_scalar(weight.dtype)}Tensor instead (while checking arguments for embedding_bag)"
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
        out, where, counts, most = shim().embedding_bags(weight, indices, offsets, samples, mode, last, padding)
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


def _heeded(dtype: Any, last: bool, padding: int, mode: int) -> bool:
    """Whether the offset of the end ends the last bag: PyTorch's fast sums heed it, all else goes to the end of the indices."""
    return last and padding < 0 and mode < 2 and dtype not in (_core.float64, "float64")


def _places(indices: Any, offsets: Any, heeded: bool, last: bool, padding: int, bags: int) -> tuple[Any, Any]:
    """The bag of each index; and the places of those that count, which are in a bag and no padding."""
    torch = torch_module()
    ends = offsets[1:].long()
    if not last:
        ends = torch.cat([ends, ends.new_full((1,), indices.numel())])
    elif not heeded and bags:
        ends = torch.cat([ends[:-1], ends.new_full((1,), indices.numel())])
    place = torch.arange(indices.numel(), device=indices.device)
    bag_of = torch.searchsorted(ends, place, right=True)
    kept = (bag_of < bags) if padding < 0 else (bag_of < bags) & (indices != padding)
    return bag_of, kept.nonzero().squeeze(1) if not bool(kept.all()) else place


_BY_SAMPLES = "_embedding_bag_per_sample_weights_backward"


def _bags_by_steps(
    weight: Any, indices: Any, offsets: Any, scale_by_freq: bool, mode: int, sparse: bool, samples: Any, last: bool,
    padding: int,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """The results of ``_embedding_bag`` in tensor operations."""
    torch = torch_module()
    bags = offsets.numel() - 1 if last else offsets.numel()
    heeded = _heeded(weight.dtype, last, padding, mode) and not weight.is_cuda
    bag_of, used = _places(indices, offsets, heeded and mode == 0, last, padding, bags)
    rows, bag = indices[used], bag_of[used]
    counts = bag.bincount(minlength=bags) if bag.numel() else torch.zeros(bags, dtype=_core.int64, device=weight.device)
    if not sparse:
        weight = gradient_once(weight, "_embedding_bag_backward" if samples is None else _BY_SAMPLES)
    samples = samples if samples is None else gradient_once(samples, _BY_SAMPLES)
    table = widened(weight)
    values = torch.ops.aten._embedding_sparse(table, rows, -1, False) if sparse else table.index_select(0, rows)
    if (
        scale_by_freq and values.requires_grad
    ):  # the same values, whose gradient is divided by how often their row occurs
        often = rows.bincount(minlength=weight.size(0))[rows].to(values.dtype).unsqueeze(1)
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


def _weight_grad(g0, weight_shape, indices, per_sample_weights, mode, padding, result1, result2, result3):
    if mode == 2:  # as PyTorch's, in no order
        g = g0.masked_fill((result2 == 0).unsqueeze(1), 0)
        return once(g.new_zeros(weight_shape).scatter_add(0, result3, g), g0, "_embedding_bag_backward")
    if g0.is_cuda and not _core.is_grad_enabled():
        settings = (per_sample_weights, weight_shape[0], mode == 1, padding)
        return shim().embedding_bags_backward(g0, indices, result1, result2, *settings)
    used = (result1 < g0.size(0)) & (indices != padding)
    slopes, name = g0[result1[used]], "_embedding_bag_backward"
    if mode == 1:
        slopes = slopes / result2[result1[used]].to(slopes.dtype).unsqueeze(1)
    elif per_sample_weights is not None:
        slopes, name = slopes * per_sample_weights[used].unsqueeze(1), _BY_SAMPLES
    return once(g0.new_zeros(weight_shape).index_add(0, indices[used], slopes), g0, name)


def _sample_grad(g0, weight, indices, padding, result1):
    if g0.is_cuda and not _core.is_grad_enabled():
        return shim().embedding_bags_samples(g0, weight, indices, result1, padding)
    used = (result1 < g0.size(0)) & (indices != padding)
    found = (g0[result1.masked_fill(~used, 0)] * weight[indices]).sum(1)
    return once(found.masked_fill(~used, 0), weight, _BY_SAMPLES)


def _bags_shape(weight, indices, offsets, mode, closed):
    bags = offsets.shape[0] - int(closed)
    return [(bags, weight.shape[1]), indices.shape, (bags,), (bags, weight.shape[1]) if mode == 2 else (0,)]


@op(
    "shim::embedding_bags(Tensor weight, Tensor indices, Tensor offsets, Tensor? per_sample_weights, int mode, bool closed, int padding) -> (Tensor, Tensor, Tensor, Tensor)",
    shape=_bags_shape,
    dtype=lambda weight: (accumulation_dtype(weight.dtype), [weight.dtype, *[_core.int64] * 3]),
    keep=("indices", "offsets"),
    native="embedding_bags",
    differentiable=(0,),
    grad={"weight": _weight_grad, "per_sample_weights": _sample_grad},
    function=False,
    method=False,
)
def embedding_bags(xp, weight, indices, offsets, per_sample_weights, mode, closed, padding):
    """Sums (mode 0), means (1) or maxima (2) of bags; the bag of each index, how many each bag has, the rows that maxima came from.

    Shapes:  weight (rows, width), indices (n,), offsets (bags,), or with ``closed`` (bags + 1,), the last one the end of the last bag
    """
    n, bags = len(indices), len(offsets) - int(closed)
    heeded = _heeded(str(weight.dtype), closed, padding, mode)
    out, bag_of = xp.zeros((bags, weight.shape[1]), weight.dtype), xp.full((n,), bags, "int64")
    counts, most = xp.zeros((bags,), "int64"), xp.zeros(out.shape if mode == 2 else (0,), "int64")
    for b in range(bags):
        end = n if b + 1 == bags and not (heeded and mode == 0) else int(offsets[b + 1])
        bag_of[int(offsets[b]) : end] = b
        places = xp.arange(int(offsets[b]), end)
        places = places[indices[places] != padding]
        counts[b] = len(places)
        if not len(places):
            continue
        values = weight[indices[places]]
        if mode == 2:
            out[b], most[b] = values.max(axis=0), indices[places][values.argmax(axis=0)]
        elif mode == 1:
            taken = values[: int(offsets[b + 1]) - int(offsets[b])] if heeded and b + 1 == bags else values
            out[b] = taken.sum(axis=0) / len(values)
        else:
            out[b] = (values if per_sample_weights is None else values * per_sample_weights[places][:, None]).sum(
                axis=0
            )
    return out, bag_of, counts, most


@op(
    "shim::embedding_bags_backward(Tensor grad_output, Tensor indices, Tensor bag_of, Tensor counts, Tensor? per_sample_weights, int rows, bool mean, int padding) -> Tensor",
    shape=lambda grad_output, rows: (rows, grad_output.shape[1]),
    dtype=lambda grad_output: (accumulation_dtype(grad_output.dtype), grad_output.dtype),
    keep=("indices", "bag_of", "counts"),
    native="embedding_bags_backward",
    function=False,
    method=False,
)
def embedding_bags_backward(xp, grad_output, indices, bag_of, counts, per_sample_weights, rows, mean, padding):
    """The gradient of ``embedding_bags`` by the table, of sums or means: the same sums in every run."""
    used = (bag_of < len(counts)) & (indices != padding)
    slopes = grad_output[bag_of[used]]
    if mean:
        slopes = slopes / counts[bag_of[used]][:, None]
    elif per_sample_weights is not None:
        slopes = slopes * per_sample_weights[used][:, None]
    found = xp.zeros((rows, grad_output.shape[1]), grad_output.dtype)
    xp.add.at(found, indices[used], slopes.astype(found.dtype))
    return found


@op(
    "shim::embedding_bags_samples(Tensor grad_output, Tensor weight, Tensor indices, Tensor bag_of, int padding) -> Tensor",
    shape=lambda indices: indices.shape,
    dtype=lambda grad_output: (accumulation_dtype(grad_output.dtype), grad_output.dtype),
    keep=("indices", "bag_of"),
    native="embedding_bags_samples",
    function=False,
    method=False,
)
def embedding_bags_samples(xp, grad_output, weight, indices, bag_of, padding):
    """The gradient of sums by the samples' weights."""
    used = (bag_of < len(grad_output)) & (indices != padding)
    found = (grad_output[xp.minimum(bag_of, len(grad_output) - 1)] * weight[indices]).sum(axis=1)
    return xp.where(used, found, 0).astype(found.dtype)


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
    forward_error_name="_embedding_bag",
)
def embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset):
    """The bags' sums (mode 0), means (1) or maxima (2); where each index went, the bags' sizes, the maxima's places."""
    return _bags(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, -1
    )


@composite(
    f"embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> {_RESULT}",
    method=False,
    forward_error_name="_embedding_bag",
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
        **({"forward_error_name": _name} if _name == "_embedding_bag" else {}),
    )(lambda *given: _bags(*given))
