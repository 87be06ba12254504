"""``torch.distributed.checkpoint.hf_storage``."""

from shim_torch.distributed.checkpoint import StorageReader, StorageWriter


class HuggingFaceStorageReader(StorageReader):
    """Reads safetensors files; making one raises NotImplementedError."""


class HuggingFaceStorageWriter(StorageWriter):
    """Writes safetensors files; making one raises NotImplementedError."""
