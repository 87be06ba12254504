"""Batching of indexing: the batch is one more index in front."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.transforms.batching.along_dim import moved
from shim_torch._impl.transforms.batching.fallback import loop
from shim_torch._impl.transforms.batching.registry import Call, rule, wrap

Tensor = _core.Tensor


@rule("index_fill.int_Scalar", "index_fill.int_Tensor")
def _index_filled(call: Call, args: Any, kwargs: Any) -> Any:
    x, dim, index, value = args
    if not call.mine(x) or not x.dim() or call.mine(index) or call.mine(value):
        return loop(call, args, kwargs)
    return wrap(call, call.func(x.value, moved(dim, x.dim()), index, value))


@rule("slice_backward", "select_backward", "diagonal_backward")
def _slice_backward(call: Call, args: Any, kwargs: Any) -> Any:
    grad, sizes, *rest = args
    count = 2 if "diagonal" in call.func._qualified_op_name else 1
    at = 1 if count == 2 else 0
    for i in range(at, at + count):
        rest[i] = moved(rest[i], len(sizes))
    return wrap(call, call.func(grad.value, [call.size, *sizes], *rest))


@rule("index_select")
def _index_select(call: Call, args: Any, kwargs: Any) -> Any:
    x, dim, index = args
    if call.mine(index) or not x.dim():
        return loop(call, args, kwargs)
    return wrap(call, call.func(x.value, moved(dim, x.dim()), index))


@rule("embedding")
def _embedding(call: Call, args: Any, kwargs: Any) -> Any:
    weight, index = args[0], args[1]
    if not call.mine(weight):
        return wrap(call, call.func(weight, index.value, *args[2:], **kwargs))
    value = weight.value  # one table after another, and indices into the one of the item
    index = call.whole(index)
    start = torch.arange(call.size, device=index.device) * value.shape[1]
    index = index + start.reshape((-1,) + (1,) * (index.dim() - 1))
    return wrap(call, aten.embedding.default(value.flatten(0, 1), index))


@rule("index.Tensor", "index_put", "index_put_", "_index_put_impl_")
def _index(call: Call, args: Any, kwargs: Any) -> Any:
    """The batch is one more index in front; a mask must be the same for all items."""
    x, indices, *rest = args
    found: list[Any] = []
    for i in indices:
        if i is not None and i.dtype in (_core.bool, _core.uint8):
            if call.mine(i):
                raise RuntimeError(
                    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
                    "indexing with a boolean mask."
                )
            found.extend(i.nonzero().unbind(1))
        else:
            found.append(i)
    reading = call.func._qualified_op_name == "aten::index"
    if not reading and (not call.mine(x) and call.func._qualified_op_name.endswith("_")):
        raise RuntimeError(
            "vmap: index_put_(self, indices, values, accumulate=False) is not possible because there exists a Tensor `values` in "
            "extra_args that has more elements than `self`. This happened due to `values` being vmapped over but `self` not "
            "being vmapped over in a vmap. Please try to use out-of-place operators instead of index_put_. If said operator is "
            "being called inside the PyTorch framework, please file a bug report instead."
        )
    shape = _core.broadcast_shapes([i.shape for i in found if i is not None])
    rank = len(shape)
    places = [k for k, i in enumerate(found) if i is not None]
    together = places[-1] - places[0] + 1 == len(places)
    before = places[0] if together else 0  # dims that stay in front of the indexed ones
    batch = torch.arange(call.size, device=x.device).reshape((-1,) + (1,) * rank)
    index = [batch] + [None if i is None else call.padded(i, rank) for i in found]
    value = call.whole(x)
    if reading:
        result = call.func(value, index)
        # With the batch's index the indexed dims come first; they go back to where they were.
        for _ in range(before):
            result = result.movedim(rank + 1 + _, 1 + _)
        return wrap(call, result)
    if before:
        return loop(call, (x if call.mine(x) else wrap(call, value.contiguous()), found, *rest), kwargs)
    kept = call.padded(rest[0], rank + x.dim() - len(places))
    result = call.func(value, index, kept, *rest[1:], **kwargs)
    return x if call.func._qualified_op_name.endswith("_") else wrap(call, result)
