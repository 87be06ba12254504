"""Batching of views, reductions, and operators along a dim: the batch is one more dim in front."""

from __future__ import annotations

from functools import cache
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.operators import named
from shim_torch._impl.transforms.batching.rules import RULES, Call, _loop, _wrap, rule

Tensor = _core.Tensor


def _names(func: Any) -> list[str]:
    return [a.name for a in func._schema.arguments]


def _bound(func: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Arguments by name, those that are given."""
    found = dict(zip(_names(func), args, strict=False))
    found.update(kwargs)
    return found


def _defaults(func: Any, given: dict[str, Any], *names: str) -> None:
    for a in func._schema.arguments:
        if a.name in names and a.name not in given:
            given[a.name] = a.default_value


def _called(func: Any, given: dict[str, Any]) -> Any:
    """A call with arguments by name; those that the schema has in front by position."""
    positional: list[Any] = []
    given = dict(given)
    for a in func._schema.arguments:
        if a.kwarg_only or a.name not in given:
            break
        positional.append(given.pop(a.name))
    return func(*positional, **given)


def _moved(dim: int, dims: int) -> int:
    """A dim of an item as the dim of the batch."""
    if not -dims <= dim < dims:
        low, high = (-dims, dims - 1) if dims else (-1, 0)
        raise IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})")
    return dim % dims + 1


_DIMS = ("dim", "dims", "dim0", "dim1", "dim2", "start_dim", "end_dim", "axis0", "axis1", "source", "destination",
         "dimension")  # fmt: skip


def _of_numbers(call: Call, given: dict[str, Any]) -> Any:
    """Items without dims are as items of one element."""
    for name in _DIMS:
        value = given.get(name)
        if isinstance(value, (list, tuple)):
            given[name] = [_moved(d, 1) for d in value] or [1]
        elif isinstance(value, int) and not isinstance(value, bool):
            given[name] = _moved(value, 1)
        elif name in given:
            given[name] = [1]
    given.pop("keepdim", None)
    found = _called(call.func, {k: v.value.unsqueeze(1) if isinstance(v, Tensor) else v for k, v in given.items()})
    if isinstance(found, Tensor):
        return _wrap(call, found.reshape(call.size))
    return tuple(_wrap(call, f.reshape(call.size)) for f in found)


@cache
def _takes_numbers(name: str) -> bool:
    return any(record.traits.get("batching") == "along_dim_or_none" for record in named(name))


@rule("gather_backward")
def along_dim(call: Call, args: Any, kwargs: Any) -> Any:
    """Operators whose dims are those of their first tensor; the others have its rank."""
    given = _bound(call.func, args, kwargs)
    _defaults(call.func, given, *_DIMS)
    tensors = [v for v in given.values() if isinstance(v, Tensor)]
    dims = tensors[0].dim()
    if not dims and len(tensors) == 1 and _takes_numbers(call.func._qualified_op_name.removeprefix("aten::")):
        return _of_numbers(call, given)
    if not dims or any(t.dim() != dims for t in tensors):
        return _loop(call, args, kwargs)
    for name, value in given.items():
        if isinstance(value, Tensor):
            given[name] = call.whole(value)
        elif name in _DIMS and isinstance(value, int) and not isinstance(value, bool):
            given[name] = _moved(value, dims)
        elif name in _DIMS and isinstance(value, (list, tuple)):
            given[name] = [_moved(d, dims) for d in value] or list(range(1, dims + 1))
        elif name in _DIMS and value is None:
            if name != "dim":
                return _loop(call, args, kwargs)
            given[name] = list(range(1, dims + 1))
    return _wrap(call, _called(call.func, given))


def _of_all(to: str, **more: Any) -> Any:
    """A reduction of all elements as the one over the last of two dims."""

    def function(call: Call, args: Any, kwargs: Any) -> Any:
        value = args[0].value
        name, _, overload = to.partition(".")
        run = getattr(getattr(aten, name), overload or "default")
        flat = value.reshape(value.shape[0], -1)
        found = run(flat, **more, **kwargs)
        return _wrap(call, found[0] if isinstance(found, tuple) else found)

    return function


for _name, _to in {
    "sum": "sum.dim_IntList",
    "mean": "mean.dim",
    "any": "any.dim",
    "all": "all.dim",
    "prod": "prod.dim_int",
    "max": "max.dim",
    "min": "min.dim",
    "median": "median.dim",
    "nanmedian": "nanmedian.dim",
}.items():
    _list = _name in ("sum", "mean")
    RULES[f"{_name}.default"] = _of_all(_to, dim=[1] if _list else 1)


@rule("sum.dim_IntList", "mean.dim", "amax", "amin", "var.correction", "std.correction", "linalg_vector_norm", "nansum")
def _reduced(call: Call, args: Any, kwargs: Any) -> Any:
    """As others along a dim; of an item without dims, the batch gets a dim to reduce."""
    given = _bound(call.func, args, kwargs)
    if given["self"].dim():
        return along_dim(call, args, kwargs)
    given["self"], given["dim"] = given["self"].value.unsqueeze(1), [1]
    given.pop("keepdim", None)
    return _wrap(call, _called(call.func, given))


@rule("argmax", "argmin")
def _arg_extreme(call: Call, args: Any, kwargs: Any) -> Any:
    given = _bound(call.func, args, kwargs)
    if given.get("dim") is not None and given["self"].dim():
        return along_dim(call, args, kwargs)
    if given.get("keepdim"):
        return _loop(call, args, kwargs)
    return _wrap(call, call.func(args[0].value.reshape(call.size, -1), 1))


@rule("squeeze.default", "squeeze_copy.default")
def _squeezed(call: Call, args: Any, kwargs: Any) -> Any:
    value = args[0].value
    return _wrap(call, value.squeeze([d for d in range(1, value.dim()) if value.shape[d] == 1]))


@rule("as_strided", "as_strided_copy")
def _strided(call: Call, args: Any, kwargs: Any) -> Any:
    """Strides of an item are those of the batch; so is the offset of its first one."""
    given = _bound(call.func, args, kwargs)
    value = given["self"].value
    size, stride = (value.shape[0], *given["size"]), (value.stride(0), *given["stride"])
    return _wrap(call, call.func(value, size, stride, given.get("storage_offset")))


@rule("new_empty_strided")
def _new_strided(call: Call, args: Any, kwargs: Any) -> Any:
    """Items one after the other, each with its strides."""
    x, size, stride = args
    room = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    return _wrap(call, call.func(x.value, (call.size, *size), (room, *stride), **kwargs))


@rule("index_fill.int_Scalar", "index_fill.int_Tensor")
def _index_filled(call: Call, args: Any, kwargs: Any) -> Any:
    x, dim, index, value = args
    if not call.mine(x) or not x.dim() or call.mine(index) or call.mine(value):
        return _loop(call, args, kwargs)
    return _wrap(call, call.func(x.value, _moved(dim, x.dim()), index, value))


@rule("view", "reshape", "_unsafe_view", "_reshape_alias", "view_copy", "_view_func", "repeat", "new_zeros", "new_ones",
      "new_empty", "new_full")  # fmt: skip
def _sized(call: Call, args: Any, kwargs: Any) -> Any:
    """Operators with the sizes of one item."""
    name = call.func._qualified_op_name.removeprefix("aten::")
    if name == "view" and call.func._overloadname == "dtype":
        return _wrap(call, call.func(args[0].value, *args[1:]))
    value, size = args[0].value, list(args[1])
    if name == "repeat":
        value = call.padded(args[0], len(size))
        return _wrap(call, call.func(value, [1, *size]))
    if -1 in size and not name.startswith("new_"):
        rest = 1
        for s in size:
            rest *= s if s != -1 else 1
        if rest and not value.numel():
            size = [s if s != -1 else args[0].numel() // rest for s in size]
    return _wrap(call, call.func(value, [call.size, *size], *args[2:], **kwargs))


@rule("expand", "broadcast_to", "expand_copy")
def _expanded(call: Call, args: Any, kwargs: Any) -> Any:
    size = list(args[1])
    if len(size) < args[0].dim():
        return _loop(call, args, kwargs)
    return _wrap(call, call.func(call.padded(args[0], len(size)), [call.size, *size]))


@rule("permute")
def _permuted(call: Call, args: Any, kwargs: Any) -> Any:
    return _wrap(call, args[0].value.permute(0, *(_moved(d, args[0].dim()) for d in args[1])))


@rule("t")
def _t(call: Call, args: Any, kwargs: Any) -> Any:
    if args[0].dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {args[0].dim()}D")
    return _wrap(call, args[0].value.mT if args[0].dim() == 2 else args[0].value)


@rule("unsqueeze")
def _unsqueezed(call: Call, args: Any, kwargs: Any) -> Any:
    return _wrap(call, args[0].value.unsqueeze(_moved(args[1], args[0].dim() + 1)))


@rule("flatten.using_ints")
def _flattened(call: Call, args: Any, kwargs: Any) -> Any:
    if not args[0].dim():
        return _wrap(call, args[0].value.unsqueeze(1))
    return along_dim(call, args, kwargs)


@rule("cat", "stack", "concat", "concatenate")
def _joined(call: Call, args: Any, kwargs: Any) -> Any:
    given = _bound(call.func, args, kwargs)
    tensors = next(iter(given.values()))
    dims = max(t.dim() for t in tensors)
    extra = call.func._qualified_op_name == "aten::stack"
    values = [call.whole(t) for t in tensors]
    if not extra:  # an item that is an empty vector joins anything
        values = [v for v, t in zip(values, tensors, strict=True) if t.dim() == dims or t.numel()]
    return _wrap(call, call.func(values, _moved(given.get("dim", 0), dims + extra)))


@rule("slice_backward", "select_backward", "diagonal_backward")
def _slice_backward(call: Call, args: Any, kwargs: Any) -> Any:
    grad, sizes, *rest = args
    count = 2 if "diagonal" in call.func._qualified_op_name else 1
    at = 1 if count == 2 else 0
    for i in range(at, at + count):
        rest[i] = _moved(rest[i], len(sizes))
    return _wrap(call, call.func(grad.value, [call.size, *sizes], *rest))


@rule("index_select")
def _index_select(call: Call, args: Any, kwargs: Any) -> Any:
    x, dim, index = args
    if call.mine(index) or not x.dim():
        return _loop(call, args, kwargs)
    return _wrap(call, call.func(x.value, _moved(dim, x.dim()), index))


@rule("embedding")
def _embedding(call: Call, args: Any, kwargs: Any) -> Any:
    weight, index = args[0], args[1]
    if not call.mine(weight):
        return _wrap(call, call.func(weight, index.value, *args[2:], **kwargs))
    value = weight.value  # one table after another, and indices into the one of the item
    index = call.whole(index)
    start = torch.arange(call.size, device=index.device) * value.shape[1]
    index = index + start.reshape((-1,) + (1,) * (index.dim() - 1))
    return _wrap(call, aten.embedding.default(value.flatten(0, 1), index))


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
        return _wrap(call, result)
    if before:
        return _loop(call, (x if call.mine(x) else _wrap(call, value.contiguous()), found, *rest), kwargs)
    kept = call.padded(rest[0], rank + x.dim() - len(places))
    result = call.func(value, index, kept, *rest[1:], **kwargs)
    return x if call.func._qualified_op_name.endswith("_") else _wrap(call, result)
