"""Tensors of the arrays that a body gives, in the shapes, dtypes and memory order that the record's rules say."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.plan import WIDER, Plan

TensorBase = _core.TensorBase
_KINDS = {"b": "b", "i": "i", "u": "i", "f": "f", "c": "c", "V": "f"}


def results(
    plan: Plan,
    value: Any,
    shape: Any,
    dtype: Any,
    bound: tuple[Any, ...],
    tensors: list[Any],
    inputs: list[Any],
    backend: Any,
) -> Any:
    """The tensors and Python values of what the body gave; ``shape`` and ``dtype``: what the rules say of them."""
    kinds = plan.results
    if not kinds or value is None:
        return None
    if kinds == ("list",):
        return [
            _one(plan, v, None if shape is None else shape[i], pick(dtype, i), tensors, inputs, backend)
            for i, v in enumerate(value)
        ]
    if len(kinds) == 1:
        if kinds[0] != "Tensor":
            return value.item() if hasattr(value, "item") else value
        return _ordered(plan, 0, bound, value, shape, dtype, tensors, inputs, backend)
    several = []
    for i, v in enumerate(value):
        if kinds[i] != "Tensor":
            several.append(v.item() if hasattr(v, "item") else v)
            continue
        sizes = None if shape is None else (shape[i] if isinstance(shape, list) else shape)
        several.append(_ordered(plan, i, bound, v, sizes, pick(dtype, i), tensors, inputs, backend))
    return tuple(several)


def _ordered(plan: Plan, i: int, bound: tuple[Any, ...], value: Any, shape: Any, *rest: Any) -> Any:
    """Result ``i`` as a tensor, with its dims in memory as the record's order says."""
    order = plan.order_of(i, value.ndim, bound) if plan.order is not None and hasattr(value, "ndim") else None
    if order is None:
        return _one(plan, value, shape, *rest)
    sizes = None if shape is None else tuple(shape[d] for d in order)
    return _core.permute(_one(plan, value.transpose(order), sizes, *rest), _inverse(order))


def _one(plan: Plan, value: Any, shape: Any, dtype: Any, tensors: list[Any], inputs: list[Any], backend: Any) -> Any:
    if isinstance(value, TensorBase):
        return value
    array = backend.as_result(value)
    if isinstance(shape, list):
        shape = shape[0] if shape and not isinstance(shape[0], int) else tuple(shape)
    if shape is not None and array.shape != tuple(shape):
        raise AssertionError(f"{plan.record.key}: the body gave shape {list(array.shape)}, its rule says {list(shape)}")
    if dtype is None:
        narrow = _narrow(tensors) if array.dtype.kind in "fc" else None
        dtype = narrow if narrow is not None else backend.torch_dtype(array.dtype)
    wanted = backend.dtype_of(WIDER.get(dtype, dtype))
    if array.dtype.kind == "c" and wanted.kind == "f" and not any(t.dtype.is_complex for t in tensors):
        name = "double" if wanted.itemsize == 8 else "float"  # only a number among the arguments made it complex
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    if _KINDS.get(array.dtype.kind) != _KINDS.get(wanted.kind) and array.dtype != backend.dtype_of(dtype):
        raise AssertionError(f"{plan.record.key}: the body gave dtype {array.dtype}, its rule says {dtype}")
    made = backend.wrap(array, dtype, inputs, plan.pointwise)
    return _laid_out(made, tensors) if plan.pointwise and plan.format_at < 0 else made


def _laid_out(made: Any, tensors: list[Any]) -> Any:
    """An elementwise result in the memory order that its operands give it."""
    if all(t.is_contiguous() for t in tensors):
        return made
    wanted = _core.empty_like_all(tuple(made.shape), tensors, made.dtype, made.device)
    if wanted.stride() == made.stride():
        return made
    _core.copy_raw(wanted, made)
    return wanted


def _narrow(tensors: list[Any]) -> Any:
    """The low-precision dtype the inputs share, for records without a dtype rule."""
    for t in tensors:
        if t.dtype in WIDER:
            return t.dtype
    return None


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def empty_result(plan: Plan, i: int, bound: tuple[Any, ...], sizes: Any, dtype: Any, device: Any) -> Any:
    """Memory for result ``i`` of a call without data."""
    order = plan.order_of(i, len(sizes), bound)
    if order is None:
        return _core.empty_raw(tuple(sizes), dtype, device)
    return _core.permute(_core.empty_raw(tuple(sizes[d] for d in order), dtype, device), _inverse(order))


def pick(dtype: Any, i: int) -> Any:
    """The dtype of result ``i``: one for all, or one each."""
    return dtype[i] if isinstance(dtype, list) else dtype
