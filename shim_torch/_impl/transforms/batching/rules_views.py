"""Batching of views, sizes and joining: the batch is one more dim in front."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.transforms.batching.along_dim import along_dim, bound, moved
from shim_torch._impl.transforms.batching.fallback import loop
from shim_torch._impl.transforms.batching.registry import Call, rule, wrap

Tensor = _core.Tensor


@rule("squeeze.default", "squeeze_copy.default")
def _squeezed(call: Call, args: Any, kwargs: Any) -> Any:
    value = args[0].value
    return wrap(call, value.squeeze([d for d in range(1, value.dim()) if value.shape[d] == 1]))


@rule("as_strided", "as_strided_copy")
def _strided(call: Call, args: Any, kwargs: Any) -> Any:
    """Strides of an item are those of the batch; so is the offset of its first one."""
    given = bound(call.func, args, kwargs)
    value = given["self"].value
    size, stride, offset = list(given["size"]), list(given["stride"]), given.get("storage_offset")
    _check_within_item(value, size, stride, value.storage_offset() if offset is None else offset)
    return wrap(call, call.func(value, (value.shape[0], *size), (value.stride(0), *stride), offset))


def _check_within_item(value: Any, size: list[int], stride: list[int], start: int) -> None:
    """RuntimeError where elements lie outside the memory from an item's first element to its last."""
    first = value.storage_offset()
    last = first + sum((n - 1) * s for n, s in zip(value.shape[1:], value.stride()[1:], strict=True))
    end = start + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if 0 not in size and 0 not in value.shape and not first <= start <= end <= last:
        raise RuntimeError(
            f"result = tensor.as_strided({size}, {stride}, {start}) can access memory outside of `tensor`. `result` can access some "
            f"memory in range [{start}, {end + 1}], but `tensor` can only access some memory in range [{first}, {last + 1}]. This is "
            "not supported inside of vmap, please try to rewrite the `as_strided` call as a sequence of PyTorch view operations"
        )


@rule("new_empty_strided")
def _new_strided(call: Call, args: Any, kwargs: Any) -> Any:
    """Items one after the other, each with its strides."""
    x, size, stride = args
    room = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    return wrap(call, call.func(x.value, (call.size, *size), (room, *stride), **kwargs))


@rule("view", "reshape", "_unsafe_view", "_reshape_alias", "view_copy", "_view_func", "repeat", "new_zeros", "new_ones",
      "new_empty", "new_full")  # fmt: skip
def _sized(call: Call, args: Any, kwargs: Any) -> Any:
    """Operators with the sizes of one item."""
    name = call.func._qualified_op_name.removeprefix("aten::")
    if name == "view" and call.func._overloadname == "dtype":
        return wrap(call, call.func(args[0].value, *args[1:]))
    value, size = args[0].value, list(args[1])
    if name == "repeat":
        value = call.padded(args[0], len(size))
        return wrap(call, call.func(value, [1, *size]))
    if -1 in size and not name.startswith("new_"):
        rest = 1
        for s in size:
            rest *= s if s != -1 else 1
        if rest and not value.numel():
            size = [s if s != -1 else args[0].numel() // rest for s in size]
    return wrap(call, call.func(value, [call.size, *size], *args[2:], **kwargs))


@rule("expand", "broadcast_to", "expand_copy")
def _expanded(call: Call, args: Any, kwargs: Any) -> Any:
    size = list(args[1])
    if len(size) < args[0].dim():
        return loop(call, args, kwargs)
    return wrap(call, call.func(call.padded(args[0], len(size)), [call.size, *size]))


@rule("permute")
def _permuted(call: Call, args: Any, kwargs: Any) -> Any:
    return wrap(call, args[0].value.permute(0, *(moved(d, args[0].dim()) for d in args[1])))


@rule("t")
def _t(call: Call, args: Any, kwargs: Any) -> Any:
    if args[0].dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {args[0].dim()}D")
    return wrap(call, args[0].value.mT if args[0].dim() == 2 else args[0].value)


@rule("unsqueeze")
def _unsqueezed(call: Call, args: Any, kwargs: Any) -> Any:
    return wrap(call, args[0].value.unsqueeze(moved(args[1], args[0].dim() + 1)))


@rule("flatten.using_ints")
def _flattened(call: Call, args: Any, kwargs: Any) -> Any:
    if not args[0].dim():
        return wrap(call, args[0].value.unsqueeze(1))
    return along_dim(call, args, kwargs)


@rule("cat", "stack", "concat", "concatenate")
def _joined(call: Call, args: Any, kwargs: Any) -> Any:
    given = bound(call.func, args, kwargs)
    tensors = next(iter(given.values()))
    dims = max(t.dim() for t in tensors)
    extra = call.func._qualified_op_name == "aten::stack"
    values = [call.whole(t) for t in tensors]
    if not extra:  # an item that is an empty vector joins anything
        values = [v for v, t in zip(values, tensors, strict=True) if t.dim() == dims or t.numel()]
    return wrap(call, call.func(values, moved(given.get("dim", 0), dims + extra)))
