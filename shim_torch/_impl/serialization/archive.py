"""The zip archive of ``torch.save``: uncompressed records, each aligned (to 64 bytes, unless set)."""

from __future__ import annotations

import errno
import hashlib
import io
import mmap
import struct
import zipfile
from collections.abc import Iterable
from typing import IO, Any

import numpy as np

from shim_torch._impl.native import _core
from shim_torch._impl.tensor.untyped_storage import untyped_tensor

_LOCAL_HEADER, _LOCAL_SIGNATURE = 30, b"PK\x03\x04"  # bytes of a zip local file header before the name; how it begins
_CHUNK = 16 << 20
_LEAST = 22  # bytes of an archive: its end record
_BROKEN = "invalid header or archive is corrupted"


def failed(doing: str, why: str) -> RuntimeError:
    """PyTorch's error for an archive that cannot be read."""
    return RuntimeError(
        f"PytorchStreamReader failed {doing}: {why}. This is an internal miniz error. If you are seeing this error, there is a high "
        "likelihood that your checkpoint file is corrupted. This can happen if the checkpoint was not saved properly, was "
        "transferred incorrectly, or the file was modified after saving."
    )


class Writer:
    """Writes records ``<name>/<record>``; used with ``with``."""

    def __init__(self, file: Any, name: str, alignment: int = 64) -> None:
        self.zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True)
        self.name, self.alignment = name, alignment
        self._digest = hashlib.sha1(usedforsecurity=False)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.write("version", b"3\n")
            self.write(".data/serialization_id", str(int(self._digest.hexdigest(), 16) % 10**40).zfill(40).encode())
        self.zip.close()

    def reserve(self, record: str, size: int) -> None:
        """Adds a record of ``size`` zero bytes, to be filled in the file later."""
        self._add(record, size, (bytes(min(_CHUNK, size - at)) for at in range(0, size, _CHUNK)))

    def write(self, record: str, data: Any) -> None:
        """Adds a record; ``data`` is bytes or a memoryview of bytes."""
        self._add(record, len(data), (data,))

    def _add(self, record: str, size: int, pieces: Iterable[Any]) -> None:
        info = zipfile.ZipInfo(f"{self.name}/{record}", (1980, 1, 1, 0, 0, 0))
        info.file_size = size
        large = size * 1.05 > zipfile.ZIP64_LIMIT
        start = self.zip.start_dir + _LOCAL_HEADER + len(info.filename.encode()) + 4 + (20 if large else 0)
        padding = -start % self.alignment
        info.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
        with self.zip.open(info, "w", force_zip64=large) as out:
            for data in pieces:
                out.write(data)
        self._digest.update(f"{record}:{size}:{info.CRC}".encode())


def bytes_left(file: Any) -> int:
    """How many bytes a seekable file has from its position on."""
    start = file.tell()
    end = file.seek(0, io.SEEK_END)
    end = file.tell() if end is None else end  # some files' seek() returns None
    file.seek(start)
    return int(end - start)


# What zipfile raises for files that are no archives, or broken ones.
_UNREADABLE = (
    zipfile.BadZipFile,
    ValueError,
    ArithmeticError,
    LookupError,
    EOFError,
    NotImplementedError,
    struct.error,
)


class Reader:
    """Reads the records of an archive, from a seekable file.

    The archive's directory is not trusted: a record has to lie within the file, uncompressed (``torch.save`` compresses
    nothing), and all storages together may not be larger than the file. Checksums are not verified, as in PyTorch:
    ``set_crc32_options(False)`` and ``skip_data`` write files without.
    """

    def __init__(self, file: Any) -> None:
        self.file = file
        try:
            self.zip = zipfile.ZipFile(file)
        except (*_UNREADABLE, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:  # EINVAL: a position before the file's start
                raise
            lost = "failed finding central directory" if str(error) == "File is not a zip file" else _BROKEN
            file.seek(0, io.SEEK_END)
            raise failed("reading zip archive", lost if file.tell() >= _LEAST else "not a ZIP archive") from None
        names = self.zip.namelist()
        if not names:
            raise failed("reading zip archive", "archive does not contain any files")
        self.prefix = names[0].split("/", 1)[0] + "/"
        file.seek(0)
        self._size = self._left = bytes_left(file)

    def has(self, record: str) -> bool:
        """Whether the archive has the record."""
        return self.prefix + record in self.zip.NameToInfo

    def info(self, record: str) -> zipfile.ZipInfo:
        """The directory entry of a record. RuntimeError where there is none."""
        if not self.has(record):
            raise failed(f"locating file {record}", "file not found")
        return self.zip.getinfo(self.prefix + record)

    def read(self, record: str) -> bytes:
        """A record's bytes."""
        start, size = self._place(record)
        self.file.seek(start)
        data = self.file.read(size)
        if len(data) != size:
            raise failed(f"reading file {record}", _BROKEN)
        return bytes(data)

    def names(self) -> list[str]:
        """The records' names."""
        return [n.removeprefix(self.prefix) for n in self.zip.namelist()]

    def offset(self, record: str) -> int:
        """The offset of a record's data in the file."""
        return self._place(record)[0]

    def _place(self, record: str) -> tuple[int, int]:
        """(offset, size) of a record's bytes; RuntimeError unless they lie in the file, uncompressed."""
        info = self.info(record)
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise RuntimeError(
                f"torch.load: record {record} is compressed or encrypted, which torch.save never does: make the archive anew "
                "without compression (zip -0)"
            )
        start = -1
        if 0 <= info.header_offset <= self._size - _LOCAL_HEADER:
            self.file.seek(info.header_offset)
            header = self.file.read(_LOCAL_HEADER)
            if header[:4] == _LOCAL_SIGNATURE:
                name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
                start = info.header_offset + _LOCAL_HEADER + name + extra
        if start < 0 or info.compress_size != info.file_size or start + info.file_size > self._size:
            raise failed(f"reading file {record}", _BROKEN)
        return start, info.file_size

    def _storage_place(self, record: str, nbytes: int) -> int:
        """The offset of a storage's bytes. Its size counts against the file's: records may not overlap."""
        start, size = self._place(record)
        if size < nbytes:
            raise RuntimeError(f"torch.load: record {record} has {size} bytes, but the file says {nbytes}")
        self._left -= nbytes
        if self._left < 0:
            raise failed(f"reading file {record}", "the records are larger than the archive")
        return start

    def storage(self, record: str, nbytes: int) -> Any:
        """A storage with a record's bytes, which cannot be resized."""
        start = self._storage_place(record, nbytes)
        storage = _core.UntypedStorage(nbytes)
        whole = _core.lend_memory(untyped_tensor(storage))
        if nbytes:
            self.file.seek(start)
            read_into(self.file, memoryview(_core.to_numpy(whole)), record)
        return storage

    def mapped(self, record: str, nbytes: int, path: str, flags: int | None) -> Any:
        """A storage over the file's own bytes; written to, they are copied, or with ``mmap.MAP_SHARED`` change in the file."""
        start = self._storage_place(record, nbytes)
        mode: Any = "r+" if flags == getattr(mmap, "MAP_SHARED", None) else "c"
        array = np.memmap(path, np.uint8, mode, start, (nbytes,)) if nbytes else np.empty(0, np.uint8)
        return _core.from_numpy(array).untyped_storage()


def read_into(file: Any, view: memoryview, what: str) -> None:
    """Fills ``view`` from a file, by its ``readinto`` where it has one. RuntimeError at the file's end."""
    readinto = getattr(file, "readinto", None)
    at = 0
    while at < len(view):
        piece = view[at : at + _CHUNK]
        if readinto is not None:
            many = readinto(piece) or 0
        else:
            data = file.read(len(piece))
            many = len(data)
            piece[:many] = data
        if not many:
            raise RuntimeError(f"torch.load: the file ends within {what}")
        at += many


def is_zip(file: IO[bytes]) -> bool:
    """Whether a file begins as a zip archive; leaves its position."""
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    return head == _LOCAL_SIGNATURE


class Seekable:
    """Wraps a file without ``seekable``, which zipfile calls."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def seekable(self) -> bool:
        """True."""
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def buffer_of(file: Any) -> Any:
    """A file that zipfile can write to: the file itself, or a buffer in front of one that only has ``write``."""
    return file if all(hasattr(file, name) for name in ("seek", "tell", "seekable")) else io.BytesIO()
