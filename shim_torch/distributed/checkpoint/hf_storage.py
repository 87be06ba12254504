"""``torch.distributed.checkpoint.hf_storage``."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.distributed.checkpoint import StorageReader, StorageWriter


class HuggingFaceStorageReader(StorageReader):
    """Reads safetensors files; making one raises NotImplementedError."""


class HuggingFaceStorageWriter(StorageWriter):
    """Writes safetensors files; making one raises NotImplementedError."""


__getattr__ = _asked_of(__name__)
