"""``torch.PyTorchFileReader`` and ``PyTorchFileWriter``: the records of a ``torch.save`` archive by name."""

from __future__ import annotations

import os
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.serialization.archive import _LOCAL_HEADER, Reader, Writer
from shim_torch._impl.table.calls import torch


class PyTorchFileReader:
    """Reads records; ``file`` is a path or a seekable file. Errors: RuntimeError for no file, no archive, no record."""

    __module__ = "torch._C"

    def __init__(self, file: Any) -> None:
        if isinstance(file, (str, os.PathLike)):
            try:
                file = open(file, "rb")
            except OSError as error:
                raise RuntimeError(
                    f"open file failed because of errno {error.errno} on fopen: {error.strerror}, file path: {os.fspath(file)}"
                ) from None
        self._reader = Reader(file)

    def has_record(self, name: str) -> bool:
        """Whether there is a record of that name."""
        return self._reader.has(name)

    def get_record(self, name: str) -> bytes:
        """A record's bytes."""
        return self._reader.read(name)

    def get_record_size(self, name: str) -> int:
        """How many bytes a record has."""
        return int(self._reader.info(name).file_size)

    def get_record_offset(self, name: str) -> int:
        """Where a record's bytes begin in the file."""
        return self._reader.offset(name)

    def get_record_header_offset(self, name: str) -> int:
        """Where a record's zip header begins in the file."""
        return int(self._reader.info(name).header_offset)

    def get_record_offset_no_read(self, cursor: int, name: str, size: int, storage_alignment: int) -> int:
        """The offset of the data of a record written at ``cursor``."""
        start = cursor + _LOCAL_HEADER + len((self._reader.prefix + name).encode()) + 4
        return start + -start % storage_alignment

    def get_all_records(self) -> list[str]:
        """The names of all records, in the order of the file."""
        return self._reader.names()

    def serialization_id(self) -> str:
        """The archive's serialization id; empty when the file has none."""
        name = ".data/serialization_id"
        return self._reader.read(name).decode() if self._reader.has(name) else ""

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Any:
        """An empty tensor whose storage holds ``numel`` elements of the record; ``dtype`` may be ``UntypedStorage``."""
        kind = dtype if isinstance(dtype, _core.dtype) else _core.uint8
        storage = self._reader.storage(name, numel * kind.itemsize)
        return torch.empty(0, dtype=kind).set_(storage, 0, (0,), (1,))


class PyTorchFileWriter:
    """Writes records; ``file`` is a path, which gives the archive its name, or a file."""

    __module__ = "torch._C"

    def __init__(self, file: Any, compute_crc32: bool = True, storage_alignment: int = 64) -> None:
        path = os.fspath(file) if isinstance(file, (str, os.PathLike)) else "archive"
        self._name = os.path.splitext(os.path.basename(path))[0] or "archive"
        self._writer = Writer(file, self._name, storage_alignment)
        self._written: set[str] = set()

    def archive_name(self) -> str:
        """The folder that all records are in."""
        return self._name

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Adds a record: the first ``size`` bytes of ``data``, which is bytes or a storage."""
        if not isinstance(data, (bytes, bytearray, memoryview, str)):
            data = bytes(memoryview(_bytes_of(data)))
        data = data.encode() if isinstance(data, str) else data
        self._writer.write(name, memoryview(data)[:size])
        self._written.add(name)

    def write_record_metadata(self, name: str, size: int) -> None:
        """Adds a record of ``size`` bytes without its bytes: they are to be written at ``get_record_offset``."""
        self._writer.reserve(name, size)
        self._written.add(name)

    def write_end_of_file(self) -> None:
        """Ends the archive; nothing can be written afterwards."""
        if "byteorder" not in self._written:
            self._writer.write("byteorder", b"little")
        self._writer.__exit__(None)
        self._written |= {"byteorder", "version", ".data/serialization_id"}

    def get_all_written_records(self) -> set[str]:
        """The names of the records so far."""
        return set(self._written)


def _bytes_of(storage: Any) -> Any:
    from shim_torch._impl.tensor.untyped_storage import untyped_tensor

    return _core.to_numpy(untyped_tensor(getattr(storage, "_untyped_storage", storage).cpu()))
