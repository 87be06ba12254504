"""The zip archive of ``torch.save``: uncompressed records, each aligned (to 64 bytes, unless set)."""

from __future__ import annotations

import hashlib
import io
import mmap
import zipfile
from collections.abc import Iterable
from typing import IO, Any

import numpy as np

from native import _core
from shim_torch._untyped_storage import untyped_tensor

_LOCAL_HEADER = 30  # bytes of a zip local file header before the name
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
        """Adds a record of so many zero bytes, which are to be filled in the file."""
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


class Reader:
    """Reads the records of an archive, from a seekable file.

    Checksums are not asked, as PyTorch asks none: ``set_crc32_options(False)`` and ``skip_data`` write files without.
    """

    def __init__(self, file: Any) -> None:
        self.file = file
        try:
            self.zip = zipfile.ZipFile(file)
        except zipfile.BadZipFile as error:
            lost = "failed finding central directory" if str(error) == "File is not a zip file" else _BROKEN
            file.seek(0, io.SEEK_END)
            raise failed("reading zip archive", lost if file.tell() >= _LEAST else "not a ZIP archive") from None
        names = self.zip.namelist()
        if not names:
            raise failed("reading zip archive", "archive does not contain any files")
        self.prefix = names[0].split("/", 1)[0] + "/"
        for info in self.zip.infolist():
            del info.CRC  # zipfile compares what it has

    def has(self, record: str) -> bool:
        return self.prefix + record in self.zip.NameToInfo

    def info(self, record: str) -> zipfile.ZipInfo:
        """What the archive's directory says of a record. RuntimeError where it has none."""
        if not self.has(record):
            raise failed(f"locating file {record}", "file not found")
        return self.zip.getinfo(self.prefix + record)

    def read(self, record: str) -> bytes:
        info = self.info(record)
        try:
            return self.zip.read(info)
        except (zipfile.BadZipFile, EOFError):
            raise failed(f"reading file {record}", _BROKEN) from None

    def names(self) -> list[str]:
        return [n.removeprefix(self.prefix) for n in self.zip.namelist()]

    def offset(self, record: str) -> int:
        """Where a record's data starts in the file."""
        info = self.info(record)
        self.file.seek(info.header_offset + 26)
        name, extra = (int.from_bytes(self.file.read(2), "little") for _ in range(2))
        return info.header_offset + _LOCAL_HEADER + name + extra

    def storage(self, record: str, nbytes: int) -> Any:
        """A storage with a record's bytes."""
        info = self.info(record)
        self.file.seek(info.header_offset)
        if not is_zip(self.file):
            raise failed(f"reading file {record}", _BROKEN)
        if info.file_size < nbytes:
            raise RuntimeError(f"torch.load: record {record} has {info.file_size} bytes, but the file says {nbytes}")
        storage = _core.UntypedStorage(nbytes)
        if nbytes:
            view = memoryview(_core.to_numpy(untyped_tensor(storage)))
            if info.compress_type == zipfile.ZIP_STORED:
                self.file.seek(self.offset(record))
                read_into(self.file, view, record)
            else:
                with self.zip.open(info) as source:
                    read_into(source, view, record)
        return storage

    def mapped(self, record: str, nbytes: int, path: str, flags: int | None) -> Any:
        """A storage over the file's own bytes; written to, they are copied, or with ``mmap.MAP_SHARED`` change in the file."""
        mode: Any = "r+" if flags == getattr(mmap, "MAP_SHARED", None) else "c"
        array = np.memmap(path, np.uint8, mode, self.offset(record), (nbytes,)) if nbytes else np.empty(0, np.uint8)
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
    return head == b"PK\x03\x04"


class Seekable:
    """A file without ``seekable``, which zipfile asks for."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def seekable(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def buffer_of(file: Any) -> Any:
    """A file that zipfile can write to: the file itself, or a buffer in front of one that only has ``write``."""
    return file if all(hasattr(file, name) for name in ("seek", "tell", "seekable")) else io.BytesIO()
