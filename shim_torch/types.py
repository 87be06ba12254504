"""``torch.types``: names for annotations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any

from shim_torch._impl.native import _core

__all__ = ["Device", "FileLike", "Number", "Storage"]

Tensor, Size, _device, _dtype, _layout = _core.Tensor, _core.Size, _core.device, _core.dtype, _core.layout
SymInt, SymFloat, SymBool = int, float, bool  # sizes are plain numbers here

_bool, _int, _float, _complex = bool, int, float, complex
_TensorOrTensors = _core.Tensor | Sequence[_core.Tensor]
_TensorOrOptionalTensors = _core.Tensor | Sequence[_core.Tensor | None]
_TensorOrTensorsOrGradEdge = Tensor | Sequence[Any]
_size = Size | list[int] | tuple[int, ...]
_symsize = Size | Sequence[int]
_dispatchkey = str
IntLikeType, FloatLikeType, BoolLikeType = int, float, bool
py_sym_types: tuple[type, ...] = ()
PySymType = int | float | bool
Number = int | float | bool
_Number = (int, float, bool)
FileLike = str | os.PathLike[str] | IO[bytes]
Device = _device | str | int | None


class Storage:
    """What a storage has; for annotations and ``isinstance``."""

    _cdata: int
    device: Any
    dtype: Any
