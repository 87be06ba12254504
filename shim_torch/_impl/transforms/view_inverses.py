"""How a write to a view becomes a new value of what it is a view of: ``rule(base, value, which result, *the view's arguments)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.table.calls import aten

Rule = Callable[..., Any]
INVERSES: dict[str, Rule] = {}


def _inverse(*names: str) -> Callable[[Rule], Rule]:
    """Declares the rule of views of these names (one overload, or all)."""

    def declare(rule: Rule) -> Rule:
        INVERSES.update(dict.fromkeys(names, rule))
        return rule

    return declare


@_inverse("view", "_unsafe_view", "_reshape_alias")
def _same_shape(base: Any, value: Any, *_: Any, **__: Any) -> Any:
    return value.view(base.shape)


@_inverse("alias", "detach", "lift_fresh", "lift")
def _as_it_is(base: Any, value: Any, *_: Any, **__: Any) -> Any:
    return value


@_inverse("transpose")
def _transposed(base: Any, value: Any, index: Any, dim0: int, dim1: int) -> Any:
    return value.transpose(dim0, dim1)


@_inverse("permute")
def _permuted(base: Any, value: Any, index: Any, dims: Any) -> Any:
    back = [0] * len(dims)
    for at, dim in enumerate(dims):
        back[dim % len(dims)] = at
    return value.permute(back)


@_inverse("unsqueeze")
def _unsqueezed(base: Any, value: Any, index: Any, dim: int) -> Any:
    return value.squeeze(dim)


@_inverse("squeeze")
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


@_inverse("expand")
def _expanded(base: Any, value: Any, *_: Any, **__: Any) -> Any:
    if tuple(value.shape) != tuple(base.shape):
        raise RuntimeError(
            "encountered a tensor being mutated that has internal overlap, or a view chain containing expand(): writing to one "
            "element would write to several"
        )
    return value


@_inverse("select")
def _selected(base: Any, value: Any, which: Any, dim: int, index: int) -> Any:
    return aten.select_scatter(base, value, dim, index)


@_inverse("slice")
def _sliced(base: Any, value: Any, which: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return aten.slice_scatter(base, value, dim, start, end, step)


@_inverse("diagonal")
def _diagonal(base: Any, value: Any, which: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return aten.diagonal_scatter(base, value, offset, dim1, dim2)


@_inverse("as_strided")
def _strided(base: Any, value: Any, which: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:
    return aten.as_strided_scatter(base, value, size, stride, storage_offset)


@_inverse("split")
def _split(base: Any, value: Any, which: int, size: int, dim: int = 0) -> Any:
    return aten.slice_scatter(base, value, dim, which * size, min((which + 1) * size, base.shape[dim]))


@_inverse("split_with_sizes")
def _split_sizes(base: Any, value: Any, which: int, sizes: Any, dim: int = 0) -> Any:
    start = sum(sizes[:which])
    return aten.slice_scatter(base, value, dim, start, start + sizes[which])


@_inverse("unbind")
def _unbound(base: Any, value: Any, which: int, dim: int = 0) -> Any:
    return aten.select_scatter(base, value, dim, which)


@_inverse("view.dtype")
def _in_dtype(base: Any, value: Any, index: Any, dtype: Any) -> Any:
    return value.view(base.dtype)


@_inverse("t")
def _t(base: Any, value: Any, index: Any) -> Any:
    return value.t()


@_inverse("view_as_real")
def _as_complex(base: Any, value: Any, index: Any) -> Any:
    return aten.view_as_complex(value)


@_inverse("view_as_complex")
def _as_real(base: Any, value: Any, index: Any) -> Any:
    return aten.view_as_real(value)
