"""What a nested tensor says of itself: sizes, strides, storage, elements."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nested.base import Nested, handles, is_nested, seen
from shim_torch._impl.table.calls import aten
from shim_torch._impl.tensor.from_data import tensor
from shim_torch.nested._internal.nested_tensor import NestedTensor


def wrapped_dim(x: Any, dim: int, extra: int = 0) -> int:
    """A dimension counted from the front."""
    n = x.dim() + extra
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


@handles("shape.get", "size", "sym_size")
def _size(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    dim = args[1] if len(args) > 1 else kwargs.get("dim")
    if isinstance(x, NestedTensor):
        return x._size if dim is None else x._size[wrapped_dim(x, dim)]
    if dim is None:
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support sizes. Please file an issue.")
    dim = wrapped_dim(x, dim)
    if dim == 0:
        return len(x._parts)
    if x.irregular(dim):
        raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
    return x._parts[0].shape[dim - 1]


@handles("stride")
def _stride(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    if not isinstance(x, NestedTensor):
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support strides. Please file an issue.")
    inner = x._values.stride()
    outer = x.symbol() * inner[x._ragged_idx - 1]
    strides = (outer, *inner)
    if x._ragged_idx > 1:  # transposed: what lies outside the rows strides over them too
        outermost = max(inner)
        place = inner.index(outermost)
        strides = (x._size[1 + place] * outermost if place != x._ragged_idx - 1 else outer, *inner)
    dim = args[1] if len(args) > 1 else kwargs.get("dim")
    return strides if dim is None else strides[wrapped_dim(x, dim)]


@handles("storage_offset")
def _storage_offset(func: Any, args: Any, kwargs: Any) -> Any:
    return args[0].held()[0].storage_offset() if isinstance(args[0], NestedTensor) else 0


@handles("numel", "nelement")
def _numel(func: Any, args: Any, kwargs: Any) -> int:
    x = args[0]
    if isinstance(x, NestedTensor) and x._lengths is None:
        return x._values.numel()
    return sum(p.numel() for p in x.parts())


@handles("__len__")
def _len(func: Any, args: Any, kwargs: Any) -> int:
    x = args[0]
    if not isinstance(x, NestedTensor):
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support sizes. Please file an issue.")
    return x._size[0]


@handles("layout.get")
def _layout(func: Any, args: Any, kwargs: Any) -> Any:
    return _core.jagged if isinstance(args[0], NestedTensor) else _core.strided


@handles("is_nested.get")
def _is_nested(func: Any, args: Any, kwargs: Any) -> bool:
    return True


@handles("is_contiguous")
def _is_contiguous(func: Any, args: Any, kwargs: Any) -> bool:
    x = args[0]
    if isinstance(x, NestedTensor):
        if x._lengths is not None or x._ragged_idx != 1:
            return False
        return x._values.is_contiguous()
    return x.contiguous_parts()


@handles("is_pinned")
def _is_pinned(func: Any, args: Any, kwargs: Any) -> bool:
    return all(h.is_pinned() for h in args[0].held()) if args[0].held() else False


@handles("is_shared")
def _is_shared(func: Any, args: Any, kwargs: Any) -> bool:
    return all(h.is_shared() for h in args[0].held())


@handles("share_memory_")
def _share_memory(func: Any, args: Any, kwargs: Any) -> Any:
    for h in args[0].held():
        h.share_memory_()
    return args[0]


@handles("__reduce_ex__")
def _reduce(func: Any, args: Any, kwargs: Any) -> Any:
    return Nested.__reduce_ex__(*args)


@handles("data_ptr", "untyped_storage", "storage", "_typed_storage")
def _of_the_buffer(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    held = x.held()[0] if isinstance(x, NestedTensor) or x._parts else x.buffer()
    return getattr(held, func.__name__)()


@handles("values")
def _values(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    return seen(x._values) if isinstance(x, NestedTensor) else x.buffer()


@handles("offsets")
def _offsets(func: Any, args: Any, kwargs: Any) -> Any:
    return args[0]._offsets


@handles("_nested_tensor_size")
def _nested_sizes(func: Any, args: Any, kwargs: Any) -> Any:
    return tensor([list(p.shape) for p in args[0].parts()], dtype=_core.int64)


@handles("_nested_tensor_strides")
def _nested_strides(func: Any, args: Any, kwargs: Any) -> Any:
    return tensor([list(p.stride()) for p in args[0].parts()], dtype=_core.int64)


@handles("_nested_tensor_storage_offsets")
def _nested_storage_offsets(func: Any, args: Any, kwargs: Any) -> Any:
    sizes = [math.prod(p.shape) for p in args[0].parts()]
    return tensor([sum(sizes[:i]) for i in range(len(sizes))], dtype=_core.int64)


@handles("is_same_size")
def _is_same_size(func: Any, args: Any, kwargs: Any) -> bool:
    a, b = args[0], args[1] if len(args) > 1 else kwargs["other"]
    if not (is_nested(a) and is_nested(b)):
        is_or_not = ["is" if is_nested(t) else "is not" for t in (a, b)]
        raise RuntimeError(
            "Expected both self and other to be nested tensors. "
            f"Self {is_or_not[0]} nested. While Other {is_or_not[1]} nested."
        )
    if isinstance(a, NestedTensor) and isinstance(b, NestedTensor):
        return a._size == b._size
    return [p.shape for p in a.parts()] == [p.shape for p in b.parts()]


@handles("equal", "allclose")
def _equal(func: Any, args: Any, kwargs: Any) -> bool:
    a, b, *more = args
    if not (is_nested(a) and is_nested(b)):
        return False
    one, two = a.parts(), b.parts()
    return len(one) == len(two) and all(
        p.shape == q.shape and func(p, q, *more, **kwargs) for p, q in zip(one, two, strict=True)
    )


@handles("is_non_overlapping_and_dense")
def _is_dense(func: Any, args: Any, kwargs: Any) -> bool:
    x = args[0]
    return not (isinstance(x, NestedTensor) and x._lengths is not None) and all(
        aten.is_non_overlapping_and_dense(h) for h in x.held()
    )


@handles("unbind")
def _unbind(func: Any, args: Any, kwargs: Any) -> tuple[Any, ...]:
    x = args[0]
    dim = args[1] if len(args) > 1 else kwargs.get("dim", 0)
    if wrapped_dim(x, dim):
        raise RuntimeError(
            "unbind(): only supported for NestedTensor on dim=0" if isinstance(x, NestedTensor)
            else f"NestedTensor can only be unbound along dimension 0 got dimension {dim} instead."
        )  # fmt: skip
    if isinstance(x, NestedTensor):
        _check_rows(x)
    return tuple(x.parts())


def _check_rows(x: NestedTensor) -> None:
    n = x._values.shape[x._ragged_idx - 1]
    for start, length in x.bounds():
        if x._lengths is not None and start + length > n:
            raise RuntimeError(
                f"unbind(): nested tensor offsets and lengths do not match ragged_idx dimension: {start} + {length} > {n}"
            )
        if start + length > n:
            raise RuntimeError(
                f"unbind(): nested tensor offsets {start + length} out of bounds of dimension of size {n}"
            )


@handles("__iter__")
def _iter(func: Any, args: Any, kwargs: Any) -> Any:
    return iter(args[0].unbind())


@handles("tolist")
def _tolist(func: Any, args: Any, kwargs: Any) -> list[Any]:
    return [p.tolist() for p in args[0].parts()]


@handles("item")
def _item(func: Any, args: Any, kwargs: Any) -> Any:
    parts = args[0].parts()
    if sum(p.numel() for p in parts) != 1:
        raise RuntimeError(f"a Tensor with {sum(p.numel() for p in parts)} elements cannot be converted to Scalar")
    return next(p for p in parts if p.numel()).item()


@handles("__repr__", "__str__")
def _repr(func: Any, args: Any, kwargs: Any) -> str:
    shown: Any = type(args[0]).__repr__
    return shown(args[0])


@handles("__deepcopy__")
def _deepcopy(func: Any, args: Any, kwargs: Any) -> Any:
    return Nested.__deepcopy__(args[0], args[1])


@handles("__contains__")
def _contains(func: Any, args: Any, kwargs: Any) -> bool:
    return any(args[1] in p for p in args[0].parts())


@handles("apply_")
def _apply_(func: Any, args: Any, kwargs: Any) -> Any:
    for h in args[0].held():
        h.detach().apply_(args[1])
    return args[0]
