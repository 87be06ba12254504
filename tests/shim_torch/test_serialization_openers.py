"""Archives by their records, files that are filled later, and the oldest format's storages that are parts of others."""

from __future__ import annotations

import copy
import io
import pickle
import struct

import pytest

import shim_torch as torch
from shim_torch import serialization

RECORDS = {"a": b"12039810948234589", "c/d": b"94589480984058"}


@pytest.mark.parametrize("path", [True, False])
def test_records(tmp_path, path):
    target = str(tmp_path / "archive.pt") if path else io.BytesIO()
    with serialization._open_zipfile_writer(target) as archive:
        for name, data in RECORDS.items():
            archive.write_record(name, data, len(data))
    if not path:
        target.seek(0)
    with serialization._open_zipfile_reader(target) as archive:
        assert {name: archive.get_record(name) for name in RECORDS} == RECORDS


def test_file_like(tmp_path):
    with serialization._open_file_like(tmp_path / "x", "wb") as file:
        file.write(b"abc")
    assert file.closed
    buffer = io.BytesIO(b"abc")
    with serialization._open_file_like(buffer, "rb") as file:
        assert file is buffer
    with pytest.raises(RuntimeError, match="Expected 'r' or 'w' in mode but got x"):
        serialization._open_file_like(buffer, "x")
    with pytest.raises(AttributeError, match="has no callable attribute 'write'"):
        serialization._open_zipfile_writer(5)


def test_records_that_are_filled_later():
    values = {"w": torch.arange(6.0)}
    whole, later = io.BytesIO(), io.BytesIO()
    torch.save(values, whole)
    reader = torch._C.PyTorchFileReader(io.BytesIO(whole.getvalue()))
    with serialization._open_zipfile_writer(later) as archive:
        data = reader.get_record("data.pkl")
        archive.write_record("data.pkl", data, len(data))
        archive.write_record_metadata("data/0", 24)
    place = torch._C.PyTorchFileReader(io.BytesIO(later.getvalue())).get_record_offset("data/0")
    later.seek(place)
    later.write(struct.pack("6f", *range(6)))
    later.seek(0)
    assert torch.equal(torch.load(later)["w"], values["w"])


class OnlyReads:
    """A file that tells how it is read."""

    def __init__(self, data: bytes, into: bool) -> None:
        self.file, self.calls = io.BytesIO(data), set()
        for name in ("read", "readline", "seek", "tell", *(["readinto"] if into else [])):
            setattr(self, name, self._counted(name))

    def _counted(self, name):
        def run(*args):
            self.calls.add(name)
            return getattr(self.file, name)(*args)

        return run


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("into", [True, False])
def test_readinto(new, into):
    a, buffer = torch.randn(5, 4), io.BytesIO()
    torch.save(a, buffer, _use_new_zipfile_serialization=new)
    file = OnlyReads(buffer.getvalue(), into)
    assert torch.equal(torch.load(file), a)
    assert ("readinto" in file.calls) == into


def test_a_file_cut_short():
    buffer = io.BytesIO()
    torch.save(torch.randn(50), buffer, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="ends within storage 0"):
        torch.load(io.BytesIO(buffer.getvalue()[:-8]))


class FloatStorage:
    """Stands in a pickle for torch's."""


class Pid:
    def __init__(self, *pid):
        self.pid = pid


@pytest.mark.parametrize("weights_only", [True, False])
def test_parts_of_storages(weights_only):
    """Two halves of one storage, as PyTorch 0.3 wrote them, with names in bytes."""

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return obj.pid if isinstance(obj, Pid) else None

    info = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    file = io.BytesIO()
    for value in (0x1950A86A20F9469CFC6C, 1001, info):
        pickle.dump(value, file, 2)
    body = io.BytesIO()
    Pickler(body, 2).dump([Pid(b"storage", FloatStorage, "7", b"cpu", 2, (view, i, 1)) for i, view in enumerate("89")])
    file.write(body.getvalue().replace(f"{__name__}\nFloatStorage".encode(), b"torch\nFloatStorage"))
    pickle.dump(["7"], file, 2)
    file.write(struct.pack("q2f", 2, 3.0, 4.0))
    file.seek(0)
    first, second = torch.load(file, weights_only=weights_only)
    assert (first.tolist(), second.tolist()) == ([3.0], [4.0])
    assert second.data_ptr() == first.data_ptr() + 4


def test_advice_for_what_is_no_global():
    buffer = io.BytesIO()
    torch.save({"t": torch.ones(2)}, buffer, pickle_protocol=5)
    buffer.seek(0)
    with pytest.raises(
        pickle.UnpicklingError, match="file an issue with the following so that we can make `weights_only=True`"
    ):
        torch.load(buffer, weights_only=True)


def test_copies_of_meta_subclasses_are_clones():
    class Holder(torch.Tensor):
        @staticmethod
        def __new__(cls, elem):
            made = torch.Tensor._make_subclass(cls, elem.to("meta"), elem.requires_grad)
            made.elem = elem
            return made

        def clone(self):
            return type(self)(self.elem.clone())

    held = Holder(torch.rand(2))
    held.name = "x"
    copied = copy.deepcopy(held)
    assert isinstance(copied, Holder)
    assert torch.equal(copied.elem, held.elem)
    assert copied.name == "x"
