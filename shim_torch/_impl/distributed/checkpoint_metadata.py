"""Reads the metadata of checkpoints: a pickle, of which nothing but metadata is made."""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

from shim_torch._impl.serialization.unpickler import Unpickler

_CLASSES = {
    f"torch.distributed.checkpoint.{module}": names.split()
    for module, names in {
        "metadata": "Metadata MetadataIndex StorageMeta TensorProperties TensorStorageMetadata ChunkStorageMetadata "
        "BytesStorageMetadata _MEM_FORMAT_ENCODING",
        "filesystem": "_StorageInfo",
    }.items()
} | {"torch": ["Size"], "torch.serialization": ["_get_layout"]}


class MetadataUnpickler(Unpickler):
    """Gives the classes that metadata is made of, and no others: files are not trusted."""

    def find_class(self, module: str, name: str) -> Any:
        """Errors: UnpicklingError for other classes."""
        import shim_torch as torch

        if module.startswith("pathlib") and name in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"):
            return pathlib.PureWindowsPath if "Windows" in name else pathlib.PurePosixPath
        dtype = module == "torch" and isinstance(getattr(torch, name, None), torch.dtype)
        if not dtype and name not in _CLASSES.get(module, ()):
            raise pickle.UnpicklingError(f"torch.distributed.checkpoint: a checkpoint's metadata has {module}.{name}")
        return super().find_class(module, name)


def no_storage(_: Any) -> Any:
    """Errors: UnpicklingError."""
    raise pickle.UnpicklingError("torch.distributed.checkpoint: a checkpoint's metadata has a tensor")
