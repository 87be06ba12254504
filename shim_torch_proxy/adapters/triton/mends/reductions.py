"""``tl.reduce`` and ``tl.associative_scan`` in Triton's interpreter: whole blocks at a time, and NaN as on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from shim_torch_proxy.adapters.triton.mends.mend import Mend, Patch


def _extremes(interpreter: ModuleType, patch: Patch) -> None:
    """tl.max and tl.min pass over NaN and give NaN for nothing else (stock: NaN always, or an error for argmax)."""
    import numpy as np

    stock = interpreter.ReduceOps.min_max

    def values(ufunc: Any) -> Any:
        return lambda data, axis, keepdims: ufunc.reduce(data, axis=axis, keepdims=keepdims)

    def places(find: Any, worst: float) -> Any:
        def call(data: Any, axis: Any, keepdims: bool) -> Any:
            if data.dtype.kind not in "iub":
                data = np.where(np.isnan(data), np.asarray(worst, data.dtype), data)
            return find(data, axis=axis, keepdims=keepdims)

        return call

    largest, smallest = values(np.fmax), values(np.fmin)
    first_largest, first_smallest = places(np.argmax, -np.inf), places(np.argmin, np.inf)
    known = {
        np.max: largest, np.nanmax: largest, np.min: smallest, np.nanmin: smallest,
        np.argmax: first_largest, np.nanargmax: first_largest, np.argmin: first_smallest, np.nanargmin: first_smallest,
    }  # fmt: skip

    def min_max(self: Any, input: Any, val_reduce_op: Any, idx_reduce_op: Any = None) -> Any:
        return stock(self, input, known.get(val_reduce_op, val_reduce_op), known.get(idx_reduce_op, idx_reduce_op))

    patch.set(interpreter.ReduceOps, "min_max", min_max)


def _combined(function: Any, owner: Any, left: Any, right: Any, dtypes: Any) -> list[Any]:
    """Arrays of what ``function`` makes of two tuples of arrays, element by element."""
    import numpy as np

    as_tensors = lambda arrays: [owner.to_tensor(a, t) for a, t in zip(arrays, dtypes)]  # noqa: B905
    found = function(*as_tensors(left), *as_tensors(right))
    found = tuple(found) if isinstance(found, (tuple, list)) or type(found).__name__ == "tuple" else (found,)
    results = []
    for value, array in zip(found, left):  # noqa: B905
        data = value.handle.data if hasattr(value, "handle") else np.asarray(value)
        results.append(np.broadcast_to(data, array.shape).astype(array.dtype))
    return results


def _whole_reduce(owner: Any, input: Any, combined: Callable[..., Any]) -> Any:
    """The reduction, half of the elements with the other half at a time."""
    import numpy as np

    arrays, dtypes = [arg.handle.data for arg in input], [arg.dtype for arg in input]
    shape, axis = arrays[0].shape, owner.axis
    arrays = [a.reshape(-1) if axis is None else np.moveaxis(a, axis, -1) for a in arrays]
    while arrays[0].shape[-1] > 1:
        halves = [a[..., 0::2] for a in arrays], [a[..., 1::2] for a in arrays]
        arrays = combined(owner.combine_fn, owner, *halves, dtypes)
    arrays = [a[..., 0] for a in arrays]
    if owner.keep_dims:
        arrays = [a.reshape((1,) * len(shape)) if axis is None else np.expand_dims(a, axis) for a in arrays]
    return [owner.to_tensor(a if a.shape else a.item(), t) for a, t in zip(arrays, dtypes)]  # noqa: B905


def _whole_scan(owner: Any, input: Any, combined: Callable[..., Any]) -> Any:
    """The scan, all elements with those 1, 2, 4, ... before them."""
    import numpy as np

    arrays, dtypes, axis = [arg.handle.data for arg in input], [arg.dtype for arg in input], owner.axis
    length = arrays[0].shape[axis]
    place = np.arange(length).reshape([-1 if d == axis % arrays[0].ndim else 1 for d in range(arrays[0].ndim)])
    step = 1
    while step < length:
        before = [np.roll(a, step, axis) for a in arrays]
        made = combined(owner.combine_fn, owner, before, arrays, dtypes)
        arrays = [np.where(place >= step, new, old) for new, old in zip(made, arrays)]  # noqa: B905
        step *= 2
    return [owner.to_tensor(a, t) for a, t in zip(arrays, dtypes)]  # noqa: B905


def _custom(interpreter: ModuleType, patch: Patch) -> None:
    """A function of its own combines neighbours all at once, in log2(n) steps (stock: element by element, 0.1 ms each)."""
    reduce, scan = interpreter.ReduceOps.generic_reduce, interpreter.ScanOps.generic_scan
    stock_patch = interpreter._patch_lang_tensor
    whole = False

    def combined(combine_fn: Any, owner: Any, left: Any, right: Any, dtypes: Any) -> list[Any]:
        nonlocal whole
        whole = True
        try:
            return _combined(combine_fn.rewrite(), owner, left, right, dtypes)
        finally:
            whole = False

    def _patch_lang_tensor(tensor: Any, *scope: Any) -> None:
        stock_patch(tensor, *scope)
        truth = tensor.__bool__

        def decided(self: Any) -> bool:  # stock: a block is true
            if whole and self.handle.data.size > 1:
                raise ValueError("the truth of a block")
            return bool(truth(self))

        if scope:
            scope[0].set_attr(tensor, "__bool__", decided)
        else:
            tensor.__bool__ = decided

    def generic_reduce(self: Any, input: Any) -> Any:
        try:
            return _whole_reduce(self, input, combined)
        except Exception:  # a function that asks for the truth of its arguments: one element at a time
            return reduce(self, input)

    def generic_scan(self: Any, input: Any) -> Any:
        try:
            return _whole_scan(self, input, combined)
        except Exception:
            return scan(self, input)

    patch.set(interpreter, "_patch_lang_tensor", _patch_lang_tensor)
    patch.set(interpreter.ReduceOps, "generic_reduce", generic_reduce)
    patch.set(interpreter.ScanOps, "generic_scan", generic_scan)


_MODULE = "triton.runtime.interpreter"
MENDS = (
    Mend("extremes", "tl.max, min, argmax and argmin pass over NaN", _MODULE, _extremes),
    Mend("reductions", "tl.reduce and tl.associative_scan of a function combine whole blocks", _MODULE, _custom),
)
