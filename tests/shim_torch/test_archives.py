"""Archives that PyTorch would not write: broken ones, without checksums, from other pickle modules."""

from __future__ import annotations

import io
import zipfile

import pytest

import shim_torch as torch


def _archive(tensor):
    file = io.BytesIO()
    torch.save({"w": tensor}, file)
    return bytearray(file.getvalue())


def _load(data):
    return torch.load(io.BytesIO(bytes(data)))


def test_checksums_are_not_asked():
    """Those of torch.serialization.set_crc32_options(False) are zero, and PyTorch reads such files, and others, as they are."""
    data = _archive(torch.arange(1000.0))
    for info in zipfile.ZipFile(io.BytesIO(bytes(data))).infolist():
        checksum = info.CRC.to_bytes(4, "little")
        assert data.count(checksum) >= 2  # in the record's header, and in the directory
        data = data.replace(checksum, bytes(4))
    assert zipfile.ZipFile(io.BytesIO(bytes(data))).testzip() is not None
    assert torch.equal(_load(data)["w"], torch.arange(1000.0))


def test_broken_archives():
    data = _archive(torch.arange(1000.0))
    for size, why in (
        (21, "not a ZIP archive"),
        (22, "failed finding central directory"),
        (len(data) - 30, "failed finding central"),
    ):
        with pytest.raises(RuntimeError, match=f"PytorchStreamReader failed reading zip archive: {why}"):
            _load(data[:size])
    directory = bytearray(data)
    directory[data.rfind(b"PK\x01\x02")] ^= 0xFF
    with pytest.raises(RuntimeError, match="failed reading zip archive: invalid header or archive is corrupted"):
        _load(directory)
    for record in ("data/0", "byteorder"):
        header = bytearray(data)
        header[zipfile.ZipFile(io.BytesIO(bytes(data))).getinfo(f"archive/{record}").header_offset] ^= 0xFF
        with pytest.raises(RuntimeError, match=f"failed reading file {record}: invalid header or archive is corrupted"):
            _load(header)
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        archive.writestr("archive/version", "3")
    with pytest.raises(RuntimeError, match="PytorchStreamReader failed locating file data.pkl: file not found"):
        _load(file.getvalue())
