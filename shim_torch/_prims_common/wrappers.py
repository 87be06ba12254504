"""``torch._prims_common.wrappers``."""

from __future__ import annotations

from typing import Any

from native import _core


def _maybe_convert_to_dtype(a: Any, dtype: Any) -> Any:
    """A tensor, a number or a sequence of them in another dtype."""
    from shim_torch._prims_common import dtype_to_type

    if isinstance(a, _core.Tensor):
        return a.to(dtype) if a.dtype != dtype else a
    if isinstance(a, (bool, int, float, complex)):
        return dtype_to_type(dtype)(a)
    if isinstance(a, (list, tuple)):
        return tuple(_maybe_convert_to_dtype(x, dtype) for x in a)
    if a is None:
        return None
    raise ValueError(f"Received unsupported type {type(a)}. Expected TensorLike, Number, or Sequence.")


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._prims_common.wrappers", name)
