"""The context managers by which ``torch.serialization`` opens files, under PyTorch's private names."""

from __future__ import annotations

import os
from typing import Any

from shim_torch._impl.serialization.files import PyTorchFileReader, PyTorchFileWriter
from shim_torch._impl.serialization.settings import config, get_crc32_options


class _opener:
    """A context manager that returns the file."""

    def __init__(self, file_like: Any) -> None:
        self.file_like = file_like

    def __enter__(self) -> Any:
        return self.file_like

    def __exit__(self, *args: object) -> None:
        pass


class _open_file(_opener):
    """A file by its name, closed at the end."""

    def __init__(self, name: Any, mode: str) -> None:
        super().__init__(open(name, mode))

    def __exit__(self, *args: object) -> None:
        self.file_like.close()


class _open_buffer_reader(_opener):
    """A file to read. AttributeError for one that is not seekable."""

    def __init__(self, buffer: Any) -> None:
        from shim_torch.serialization import _check_seekable

        super().__init__(buffer)
        _check_seekable(buffer)


class _open_buffer_writer(_opener):
    """A file to write, flushed at the end."""

    def __exit__(self, *args: object) -> None:
        self.file_like.flush()


def _open_file_like(name_or_buffer: Any, mode: str) -> _opener:
    """The file of a path, or the given one."""
    if isinstance(name_or_buffer, (str, os.PathLike)):
        return _open_file(name_or_buffer, mode)
    if "w" in mode:
        return _open_buffer_writer(name_or_buffer)
    if "r" in mode:
        return _open_buffer_reader(name_or_buffer)
    raise RuntimeError(f"Expected 'r' or 'w' in mode but got {mode}")


class _open_zipfile_reader(_opener):
    """A ``PyTorchFileReader`` of a path or file."""

    def __init__(self, name_or_buffer: Any) -> None:
        super().__init__(PyTorchFileReader(name_or_buffer))


def _writer(file: Any) -> PyTorchFileWriter:
    return PyTorchFileWriter(file, get_crc32_options(), config().save.storage_alignment)


class _open_zipfile_writer_file(_opener):
    """A ``PyTorchFileWriter`` of a path; the archive ends with the block."""

    def __init__(self, name: Any) -> None:
        self.name = os.fspath(name)
        super().__init__(_writer(self.name))

    def __exit__(self, *args: object) -> None:
        self.file_like.write_end_of_file()


class _open_zipfile_writer_buffer(_opener):
    """A ``PyTorchFileWriter`` of a file; the archive ends with the block, and the file is flushed."""

    def __init__(self, buffer: Any) -> None:
        if not callable(getattr(buffer, "write", None)):
            error = TypeError if hasattr(buffer, "write") else AttributeError
            raise error(f"Buffer of {str(type(buffer)).strip('<>')} has no callable attribute 'write'")
        self.buffer = buffer
        super().__init__(_writer(buffer))

    def __exit__(self, *args: object) -> None:
        self.file_like.write_end_of_file()
        self.buffer.flush()


def _open_zipfile_writer(name_or_buffer: Any) -> _opener:
    """A ``PyTorchFileWriter`` of a path or file."""
    if isinstance(name_or_buffer, (str, os.PathLike)):
        return _open_zipfile_writer_file(name_or_buffer)
    return _open_zipfile_writer_buffer(name_or_buffer)
