"""Sparse and nested tensors of untrusted files: as ``checked``, for tensors that are made of other tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch import _utils
from shim_torch._impl.native import _core
from shim_torch._impl.serialization.checked import ints, need, refuse


def _part(function: str, part: Any) -> Any:
    """A component tensor. Checking or copying it must not take more memory than the file has bytes."""
    need(type(part) is _core.Tensor, function, "a tensor", part)
    if part.device.type != "meta" and part.numel() * part.element_size() > max(
        1 << 20, part.untyped_storage().nbytes()
    ):
        raise refuse(function, "a tensor of more elements than its storage holds")
    return part


def sparse_tensor(layout: Any, data: Any) -> Any:
    """A sparse tensor of a layout and its parts, whose invariants are checked."""
    name = "_rebuild_sparse_tensor"
    need(isinstance(layout, _core.layout), name, "a layout", layout)
    coo = layout == _core.sparse_coo
    parts = 2 if coo else 3
    need(isinstance(data, tuple) and len(data) in ((3, 4) if coo else (4,)), name, "a tuple of parts", data)
    flag = data[3:] if coo else ()
    need(all(f is None or type(f) is bool for f in flag), name, "is_coalesced, a bool,", flag)
    return _utils._rebuild_sparse_tensor(
        layout, (*(_part(name, p) for p in data[:parts]), _core.Size(ints(data[parts], name, "sizes")), *flag)
    )


def nested_tensor(kind: Any, *state: Any) -> Any:
    """``("strided", parts, dtype, device)`` or ``("jagged", values, offsets, lengths or None, ragged dim, cache)``."""
    from shim_torch._impl.nested import base

    name = "nested tensor"
    if kind == "strided" and len(state) == 3 and isinstance(state[0], (list, tuple)):
        parts, dtype, where = state
        need(isinstance(dtype, _core.dtype) and isinstance(where, _core.device), name, "a dtype and a device", dtype)
        return base._rebuild(kind, [_part(name, p) for p in parts], dtype, where)
    need(kind == "jagged" and len(state) == 5, name, "parts of a nested tensor", kind)
    values, offsets, lengths, ragged, cache = state
    need(type(ragged) is int and isinstance(cache, dict), name, "a dimension and a dict", cache)
    need(all(type(k) is str and type(v) is int for k, v in cache.items()), name, "a dict of numbers", cache)
    for part in (values, offsets, lengths):
        if part is not None:
            _part(name, part)
    if not 1 <= ragged <= values.dim():
        raise refuse(name, f"dimension {ragged} of {values.dim()}")
    _rows(name, offsets, lengths, values.size(ragged - 1))
    return base._rebuild(kind, values, offsets, lengths, ragged, cache)


def _rows(function: str, offsets: Any, lengths: Any, many: int) -> None:
    """DamagedFile unless the rows of a jagged tensor lie within its values, one after the other."""
    for part in (offsets, lengths):
        good = part is None or (part.dim() == 1 and part.dtype in (_core.int64, _core.int32) and not part.is_meta)
        need(good, function, "offsets, a row of integers,", part)
    starts = offsets.tolist()
    ends = starts[1:] if lengths is None else [a + n for a, n in zip(starts, lengths.tolist())]  # noqa: B905
    rows = len(starts) - 1
    if len(ends) < rows or any(not 0 <= a <= b <= many for a, b in zip(starts[:rows], ends[:rows], strict=True)):
        raise refuse(function, "rows that lie outside of the values")


COPYING: frozenset[Callable[..., Any]] = frozenset({nested_tensor, sparse_tensor})
