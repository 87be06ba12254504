"""``torch.fx.passes.shape_prop``."""

from __future__ import annotations

from typing import Any, NamedTuple


class TensorMetadata(NamedTuple):
    """What a graph notes about a tensor."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Any, include_contiguity: bool = True) -> TensorMetadata:
    from native import _core

    formats = (_core.contiguous_format, _core.channels_last, _core.channels_last_3d)
    found = next((f for f in formats if include_contiguity and _is_in(result, f)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, tuple(result.stride()), found, False, {})


def _is_in(t: Any, form: Any) -> bool:
    try:
        return bool(t.is_contiguous(memory_format=form))
    except (RuntimeError, TypeError):  # a format for another number of dims
        return False
