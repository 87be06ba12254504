"""How a write to a view becomes a new value of what it is a view of: ``rule(base, value, which result, *the view's arguments)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.table.calls import aten


def _same_shape(base: Any, value: Any, *_: Any, **__: Any) -> Any:
    return value.view(base.shape)


def _as_it_is(base: Any, value: Any, *_: Any, **__: Any) -> Any:
    return value


def _transposed(base: Any, value: Any, index: Any, dim0: int, dim1: int) -> Any:
    return value.transpose(dim0, dim1)


def _permuted(base: Any, value: Any, index: Any, dims: Any) -> Any:
    back = [0] * len(dims)
    for at, dim in enumerate(dims):
        back[dim % len(dims)] = at
    return value.permute(back)


def _unsqueezed(base: Any, value: Any, index: Any, dim: int) -> Any:
    return value.squeeze(dim)


def _squeezed(base: Any, value: Any, index: Any, dim: Any = None) -> Any:
    count = base.dim()
    asked = (
        range(count)
        if dim is None
        else [d % count if count else 0 for d in (dim if isinstance(dim, (list, tuple)) else [dim])]
    )
    for d in sorted(asked):
        if count and base.shape[d] == 1:
            value = value.unsqueeze(d)
    return value


def _expanded(base: Any, value: Any, *_: Any, **__: Any) -> Any:
    if tuple(value.shape) != tuple(base.shape):
        raise RuntimeError(
            "encountered a tensor being mutated that has internal overlap, or a view chain containing expand(): writing to one "
            "element would write to several"
        )
    return value


def _selected(base: Any, value: Any, which: Any, dim: int, index: int) -> Any:
    return aten.select_scatter(base, value, dim, index)


def _sliced(base: Any, value: Any, which: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return aten.slice_scatter(base, value, dim, start, end, step)


def _diagonal(base: Any, value: Any, which: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return aten.diagonal_scatter(base, value, offset, dim1, dim2)


def _strided(base: Any, value: Any, which: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:
    return aten.as_strided_scatter(base, value, size, stride, storage_offset)


def _split(base: Any, value: Any, which: int, size: int, dim: int = 0) -> Any:
    return aten.slice_scatter(base, value, dim, which * size, min((which + 1) * size, base.shape[dim]))


def _split_sizes(base: Any, value: Any, which: int, sizes: Any, dim: int = 0) -> Any:
    start = sum(sizes[:which])
    return aten.slice_scatter(base, value, dim, start, start + sizes[which])


def _unbound(base: Any, value: Any, which: int, dim: int = 0) -> Any:
    return aten.select_scatter(base, value, dim, which)


INVERSES: dict[str, Callable[..., Any]] = {
    "view.dtype": lambda base, value, index, dtype: value.view(base.dtype),
    "view": _same_shape,
    "_unsafe_view": _same_shape,
    "_reshape_alias": _same_shape,
    "alias": _as_it_is,
    "detach": _as_it_is,
    "lift_fresh": _as_it_is,
    "lift": _as_it_is,
    "t": lambda base, value, index: value.t(),
    "transpose": _transposed,
    "permute": _permuted,
    "unsqueeze": _unsqueezed,
    "squeeze": _squeezed,
    "expand": _expanded,
    "select": _selected,
    "slice": _sliced,
    "diagonal": _diagonal,
    "as_strided": _strided,
    "split": _split,
    "split_with_sizes": _split_sizes,
    "unbind": _unbound,
    "view_as_real": lambda base, value, index: aten.view_as_complex(value),
    "view_as_complex": lambda base, value, index: aten.view_as_real(value),
}
