"""``torch.distributed.checkpoint.metadata``: what a checkpoint says of itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from shim_torch._impl.native import _core

__all__ = [
    "BytesStorageMetadata",
    "ChunkStorageMetadata",
    "Metadata",
    "MetadataIndex",
    "StorageMeta",
    "TensorProperties",
    "TensorStorageMetadata",
]


@dataclass
class ChunkStorageMetadata:
    """A part of a tensor: where it begins, and its shape."""

    offsets: _core.Size
    sizes: _core.Size


class _MEM_FORMAT_ENCODING(Enum):
    """Memory formats, by the numbers that files have for them."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


_FORMATS = {
    _core.contiguous_format: _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT,
    _core.channels_last: _MEM_FORMAT_ENCODING.TORCH_CHANNELS_LAST,
    _core.preserve_format: _MEM_FORMAT_ENCODING.TORCH_PRESERVE_FORMAT,
}


def _default_dtype() -> Any:
    import shim_torch as torch

    return torch.get_default_dtype()


@dataclass
class TensorProperties:
    """What a tensor is made with, beside its shape."""

    dtype: Any = field(default_factory=_default_dtype)
    layout: Any = field(default=_core.strided)
    requires_grad: bool = False
    memory_format: Any = field(default=_core.contiguous_format)
    pin_memory: bool = False

    def __getstate__(self) -> tuple[Any, ...]:
        return self.dtype, self.layout, self.requires_grad, _FORMATS[self.memory_format], self.pin_memory

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype, self.layout, self.requires_grad, encoded, self.pin_memory = state
        self.memory_format = next(known for known, number in _FORMATS.items() if number == encoded)

    @staticmethod
    def create_from_tensor(tensor: Any) -> TensorProperties:
        """Those of a tensor."""
        return TensorProperties(
            dtype=tensor.dtype, layout=tensor.layout, requires_grad=tensor.requires_grad,
            pin_memory=tensor.device.type == "cpu" and tensor.is_pinned(),
        )  # fmt: skip


@dataclass
class TensorStorageMetadata:
    """A tensor, whole, and the parts that are stored of it."""

    properties: TensorProperties
    size: _core.Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """An object that was pickled."""


@dataclass
class StorageMeta:
    """Which checkpoint it is."""

    checkpoint_id: str | os.PathLike[str] | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """All entries by flat names, where they are, and the paths in the state dict that the flat names stand for."""

    state_dict_metadata: dict[str, Any]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """An entry, or the part of a tensor that begins at ``offset``; ``index``: the part's likely place in the list of parts."""

    fqn: str
    offset: _core.Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "index", index)
        object.__setattr__(self, "offset", None if offset is None else _core.Size(offset))
