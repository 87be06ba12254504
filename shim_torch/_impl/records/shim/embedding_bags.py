"""Sums, means and maxima of bags of embeddings (``torch.ops.shim``), one kernel each; bodies are their references."""

from __future__ import annotations

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.embedding_bags import BY_SAMPLES, end_heeded
from shim_torch._impl.records.shared.formulas import once
from shim_torch._impl.table.calls import shim
from shim_torch._impl.table.record import op
from shim_torch._impl.table.rules import accumulation_dtype

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)


def _weight_grad(g0, weight_shape, indices, per_sample_weights, mode, padding, result1, result2, result3):
    if mode == 2:  # as PyTorch's, in no order
        g = g0.masked_fill((result2 == 0).unsqueeze(1), 0)
        return once(g.new_zeros(weight_shape).scatter_add(0, result3, g), g0, "_embedding_bag_backward")
    if g0.is_cuda and not _core.is_grad_enabled():
        settings = (per_sample_weights, weight_shape[0], mode == 1, padding)
        return shim.embedding_bags_backward(g0, indices, result1, result2, *settings)
    rest = (result1 >= g0.size(0)) | (indices == padding)  # these add zeros: how many there are nobody needs to know
    bag, name = result1.masked_fill(rest, 0), "_embedding_bag_backward"
    slopes = g0.index_select(0, bag)
    if mode == 1:
        slopes = slopes / result2.index_select(0, bag).to(slopes.dtype).unsqueeze(1)
    elif per_sample_weights is not None:
        slopes, name = slopes * per_sample_weights.unsqueeze(1), BY_SAMPLES
    slopes = slopes.masked_fill(rest.unsqueeze(1), 0)
    return once(g0.new_zeros(weight_shape).index_add(0, indices.masked_fill(rest, 0), slopes), g0, name)


def _sample_grad(g0, weight, indices, padding, result1):
    if g0.is_cuda and not _core.is_grad_enabled():
        return shim.embedding_bags_samples(g0, weight, indices, result1, padding)
    used = (result1 < g0.size(0)) & (indices != padding)
    found = (g0[result1.masked_fill(~used, 0)] * weight[indices]).sum(1)
    return once(found.masked_fill(~used, 0), weight, BY_SAMPLES)


def _bags_shape(weight, indices, offsets, mode, closed):
    bags = offsets.shape[0] - int(closed)
    return [(bags, weight.shape[1]), indices.shape, (bags,), (bags, weight.shape[1]) if mode == 2 else (0,)]


@op(
    "shim::embedding_bags(Tensor weight, Tensor indices, Tensor offsets, Tensor? per_sample_weights, int mode, bool closed, int padding) -> (Tensor, Tensor, Tensor, Tensor)",
    gradient_name="EmbeddingBagBackward0",
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
    heeded = end_heeded(str(weight.dtype), closed, padding, mode)
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
