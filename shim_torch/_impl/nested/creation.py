"""Nested tensors like others: copies, other dtypes, zeros and random numbers of the same rows, padded forms."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nested.base import handles, is_nested
from shim_torch._impl.nested.strided import StridedNestedTensor
from shim_torch._impl.nn.calls import operators
from shim_torch._impl.table.calls import torch
from shim_torch.nested._internal.nested_int import NestedInt, _tensor_symint_registry, get_tensor_symint
from shim_torch.nested._internal.nested_tensor import NestedTensor


@handles("clone", "detach", "detach_", "alias", "data.get", "zeros_like", "ones_like", "empty_like", "full_like", "rand_like",
         "randn_like", "randint_like", "float", "double", "half", "bfloat16", "int", "long", "short", "bool", "char", "byte",
         "cpu", "cuda", "pin_memory", "type_as", "_to_copy", "lift_fresh", "view_as")  # fmt: skip
def _each_holder(func: Any, args: Any, kwargs: Any) -> Any:
    """The function of the tensors that hold the elements."""
    x, *more = args
    if not is_nested(x):
        raise RuntimeError(f"{func.__name__}: expected a nested tensor first")
    kwargs = {k: v for k, v in kwargs.items() if k != "layout"}
    if kwargs.get("memory_format") not in (None, _core.preserve_format, _core.contiguous_format):
        name = "".join(word.title() for word in str(kwargs["memory_format"]).removeprefix("torch.").split("_"))
        raise RuntimeError(
            f"Nested tensor {func.__name__} supports Preserve and Contiguous memory formats, called {func.__name__} with memory format: {name}"
        )
    more = [m.held()[0] if is_nested(m) else m for m in more]
    if func.__name__ in ("__get__",):
        return x.like([h.data for h in x.held()])
    if (
        isinstance(x, NestedTensor)
        and x._lengths is not None
        and func.__name__ == "clone"
        and "memory_format" in kwargs
    ):
        return x.of_parts(x.parts())
    return _moved(x, [func(h, *more, **kwargs) for h in x.held()])


def _moved(x: Any, held: list[Any]) -> Any:
    """Over other holders; the offsets go where the values are, and the rows keep their symbol."""
    if not isinstance(x, NestedTensor) or held[0].device == x._offsets.device:
        return x.like(held) if held else x
    offsets = x._offsets.to(held[0].device)
    lengths = None if x._lengths is None else x._lengths.to(held[0].device)
    kept, moved = (x._offsets, offsets) if lengths is None else (x._lengths, lengths)
    _tensor_symint_registry[moved] = get_tensor_symint(kept)
    return NestedTensor(held[0], offsets, lengths=lengths, _ragged_idx=x._ragged_idx, _metadata_cache=x._metadata_cache)


@handles("to")
def _to(func: Any, args: Any, kwargs: Any) -> Any:
    x, *more = args
    wanted = kwargs.get("layout")
    if wanted is not None and wanted != x.layout:
        raise RuntimeError("Converting between nested tensor layouts is not supported")
    kwargs = {k: v for k, v in kwargs.items() if k != "layout"}
    held = [func(h, *[m.held()[0] if is_nested(m) else m for m in more], **kwargs) for h in x.held()]
    if all(a is b for a, b in zip(held, x.held(), strict=True)):
        return x
    return _moved(x, held)


@handles("contiguous")
def _contiguous(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    if x.is_contiguous():
        return x
    if isinstance(x, NestedTensor):
        if x._lengths is not None:
            return x.of_parts([p.contiguous() for p in x.parts()])
        return x.with_values(x._values.contiguous())
    return x.of_parts([p.contiguous() for p in x.parts()])


@handles("copy_")
def _copy(func: Any, args: Any, kwargs: Any) -> Any:
    x, y = args[0], args[1]
    if not is_nested(x) or not is_nested(y):
        raise RuntimeError(
            "Expected both self and other to be nested, but got a "
            f"{'nested' if is_nested(x) else 'non-nested'} self and {'nested' if is_nested(y) else 'non-nested'} other"
            if not isinstance(x, NestedTensor)
            else "copy_ only supports Nested Tensors that have same size and the exact same offset tensor."
        )
    if isinstance(x, NestedTensor):
        if not isinstance(y, NestedTensor) or x._size != y._size:
            raise RuntimeError(
                "copy_ only supports Nested Tensors that have same size and the exact same offset tensor."
            )
        x._values.copy_(y._values)
        return x
    if [p.shape for p in x.parts()] != [p.shape for p in y.parts()]:
        raise RuntimeError("copy_ only supports tensors that are the same size for Nested implementations")
    for p, q in zip(x.parts(), y.parts(), strict=True):
        p.copy_(q)
    return x


@handles("new_zeros", "new_ones", "new_empty", "new_full", "new_tensor")
def _new(func: Any, args: Any, kwargs: Any) -> Any:
    x, size, *more = args
    if isinstance(x, NestedTensor) and isinstance(size, (tuple, list)) and tuple(size) == tuple(x._size):
        return x.with_values(func(x._values, x._values.shape, *more, **kwargs))
    plain = torch.empty(0, dtype=x.dtype, device=x.device)
    return func(plain, size, *more, **kwargs)


@handles("_nested_from_padded_and_nested_example")
def _from_padded_like(func: Any, args: Any, kwargs: Any) -> Any:
    return torch._nested_from_padded(args[0], args[1]._nested_tensor_size())  # type: ignore[attr-defined]


@handles("zeros", "ones", "empty", "rand", "randn", "full", "randint")
def _of_size(func: Any, args: Any, kwargs: Any) -> Any:
    """A factory whose sizes hold a varying one: of the rows that it stands for."""
    args, kwargs = list(args), dict(kwargs)
    if any(isinstance(a, NestedInt) for a in args):
        args = [list(args)]
    holder: Any = kwargs if "size" in kwargs else args
    at: Any = "size" if "size" in kwargs else next(i for i, a in enumerate(args) if isinstance(a, (list, tuple)))
    size = list(holder[at])
    place = next(i for i, n in enumerate(size) if isinstance(n, NestedInt))
    symbol = size[place]
    rows = _tensor_symint_registry.rows_of(symbol)
    if rows is None or place == 0 or symbol.nested_int_coeff() != 1 or rows.shape[0] != size[0] + 1:
        raise RuntimeError(f"torch.{func.__name__}: the rows that {symbol} stands for are not known")
    holder[at] = [int(rows[-1]) if i == place else n for i, n in enumerate(size)][1:]
    return NestedTensor(func(*args, **kwargs), rows, _ragged_idx=place)


@handles("to_padded_tensor", "nested_to_padded_tensor")
def _to_padded(func: Any, args: Any, kwargs: Any) -> Any:
    names = ("input", "padding", "output_size")
    given = dict(zip(names, args, strict=False)) | kwargs
    x = given.get("input", given.get("self"))
    padding, wanted = given["padding"], given.get("output_size")
    parts = x.parts()
    if not parts:
        return torch.empty(0, dtype=x.dtype, device=x.device)
    if isinstance(x, StridedNestedTensor) and not x.contiguous_parts():
        raise RuntimeError("for now to_padded_tensor only supports contiguous nested tensor")
    if isinstance(x, StridedNestedTensor) and all(p.numel() == 0 for p in parts):
        raise RuntimeError("at least one constituent tensor should have non-zero numel")
    longest = [max(p.shape[d] for p in parts) for d in range(parts[0].dim())]
    if wanted is not None:
        wanted = list(wanted)
        if len(wanted) != len(longest) + 1:
            raise RuntimeError(
                f"Length of output_size does not match NestedTensor dims. Expected {len(longest) + 1} got {len(wanted)}"
            )
        if any(w < n for w, n in zip(wanted[1:], longest, strict=True)):
            raise RuntimeError(
                "Value in output_size is less than NestedTensor padded size. Truncation is not supported."
            )
        longest = wanted[1:]
    rows = []
    for p in parts:
        amounts: list[int] = []
        for n, m in zip(reversed(p.shape), reversed(longest), strict=True):
            amounts += [0, m - n]
        rows.append(operators.pad(p, amounts, value=padding))
    return torch.stack(rows)
