"""Files of torch.save: PyTorch's read here, ours read back, and what weights_only refuses.

data/*.pt were written by PyTorch 2.13 (saved_objects.py); objects_legacy.pt in its format of before 1.6.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

import shim_torch as torch

DATA = Path(__file__).parent / "data"


def _round(obj, **kwargs):
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, **kwargs)


def _check_objects(found):
    np.testing.assert_array_equal(found["a"].numpy(), np.arange(12.0).reshape(3, 4))
    np.testing.assert_array_equal(found["view"].numpy(), np.arange(12.0).reshape(3, 4)[1:, ::2])
    assert found["view"].untyped_storage()._cdata == found["a"].untyped_storage()._cdata
    assert isinstance(found["p"], torch.nn.Parameter)
    assert found["p"].requires_grad
    assert found["p"].tolist() == [1.0, 1.0]
    assert found["d"] is torch.float16
    assert found["dev"] == torch.device("cuda:0")
    assert found["sz"] == torch.Size([1, 2])
    assert type(found["sz"]) is torch.Size
    assert found["bf"].dtype == torch.bfloat16
    assert found["bf"].tolist() == [0.0, 1.0, 2.0]
    assert found["c"].tolist() == [1 + 2j]
    assert found["b"].tolist() == [True, False]
    assert found["i"].tolist() == [0, 1, 2]
    assert found["n"] == [1, 2.5, "x", None, True, (1, 2), {3}, b"by"]
    assert found["od"] == OrderedDict(z=1)
    assert found["rg"].requires_grad
    assert found["e"].shape == (0,)
    assert found["s"].item() == 3


def _check_new_dtypes(found):
    assert found["f8"].dtype == torch.float8_e4m3fn
    assert found["f8"].float().tolist() == [0.0, 1.0, 2.0, 3.0]
    assert found["u16"].dtype == torch.uint16
    assert found["u16"].tolist() == [0, 1, 2]
    assert found["meta"].is_meta
    assert found["meta"].shape == (2, 3)


@pytest.mark.parametrize("weights_only", [True, False])
def test_pytorch_files(weights_only):
    found = torch.load(DATA / "objects.pt", weights_only=weights_only)
    _check_objects(found)
    _check_new_dtypes(found)
    _check_objects(torch.load(DATA / "objects_legacy.pt", weights_only=weights_only))


def test_round_trip_of_everything(tmp_path):
    first = torch.load(DATA / "objects.pt")
    torch.save(first, tmp_path / "mine.pt")
    for again in (torch.load(tmp_path / "mine.pt"), torch.load(str(tmp_path / "mine.pt"), mmap=True)):
        _check_objects(again)
        _check_new_dtypes(again)


def test_same_records_and_pickle_as_pytorch(tmp_path):
    theirs = zipfile.ZipFile(DATA / "objects.pt")
    torch.save(torch.load(DATA / "objects.pt"), tmp_path / "objects.pt")
    mine = zipfile.ZipFile(tmp_path / "objects.pt")
    tail = lambda z: [n.partition("/")[2] for n in z.namelist()]
    assert tail(mine) == tail(theirs)
    for name in ("data.pkl", "byteorder", "version", ".format_version", ".storage_alignment"):
        if name != "data.pkl":
            assert mine.read(f"objects/{name}") == theirs.read(f"{theirs.namelist()[0].partition('/')[0]}/{name}")
    for info in mine.infolist():
        name, extra = len(info.filename), int.from_bytes(_local(mine, info)[28:30], "little")
        assert (info.header_offset + 30 + name + extra) % 64 == 0
    text = mine.read("objects/data.pkl")
    for name in (
        b"ctorch._utils\n_rebuild_tensor_v2\n",
        b"ctorch\nFloatStorage\n",
        b"ctorch\nSize\n",
        b"ctorch\nfloat16\n",
    ):
        assert name in text
    assert b"shim_torch" not in text


def _local(archive, info):
    archive.fp.seek(info.header_offset)
    return archive.fp.read(30)


def test_whole_model():
    with pytest.raises(pickle.UnpicklingError, match="GLOBAL torch.nn.modules.container.Sequential was not an allowed"):
        torch.load(DATA / "model.pt")
    model = torch.load(DATA / "model.pt", weights_only=False)
    assert isinstance(model[0], torch.nn.Linear)
    x = torch.ones(1, 3)
    expected = np.maximum(x.numpy() @ model[0].weight.detach().numpy().T + model[0].bias.detach().numpy(), 0)
    np.testing.assert_allclose(model(x).detach().numpy(), expected, rtol=1e-6)
    again = _round(torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.GELU()), weights_only=False)
    assert isinstance(again[0], torch.nn.BatchNorm1d)
    before = torch.serialization.get_safe_globals()  # torch.distributed.tensor adds its own
    with torch.serialization.safe_globals([torch.nn.Sequential, torch.nn.Linear, torch.nn.ReLU]):
        assert isinstance(torch.load(DATA / "model.pt")[1], torch.nn.ReLU)
    assert torch.serialization.get_safe_globals() == before


def test_state_dict_keeps_metadata():
    state = _round(torch.nn.Linear(3, 2).state_dict())
    assert list(state) == ["weight", "bias"]
    assert state._metadata == {"": {"version": 1}}


class Boom:
    def __reduce__(self):
        return exec, ("raise SystemError('ran')",)


class Point:
    def __init__(self, x):
        self.x = x


def test_weights_only_refuses_code():
    with pytest.raises(
        pickle.UnpicklingError, match=r"Weights only load failed(.|\n)*GLOBAL exec was not an allowed global"
    ):
        _round(Boom())
    with pytest.raises(SystemError, match="ran"):
        _round(Boom(), weights_only=False)
    with pytest.raises(pickle.UnpicklingError, match="Point was not an allowed global"):
        _round(Point(3))
    with torch.serialization.safe_globals([Point]):
        assert _round(Point(3)).x == 3


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (b"\x80\x02ccollections\nOrderedDict\n}X\x01\x00\x00\x00aK\x01sb.", "Can only build"),
        (b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.", "whose module os is blocked"),
        (b"\x80\x02K\x01)R.", "Trying to call reduce for unrecognized function 1"),
        (b"\x80\x02ccollections\nOrderedDict\nK\x01a.", "Can only append to lists"),
        (b"\x80\x02ccollections\nOrderedDict\nK\x01K\x02s.", "Can only set items of dicts"),
        (b"\x80\x02(i__main__\nx\n.", "Unsupported operand 105"),
    ],
)
def test_weights_only_machine(stream, message):
    from shim_torch._weights_only_unpickler import Unpickler

    with pytest.raises(pickle.UnpicklingError, match=message):
        Unpickler(io.BytesIO(stream)).load()


def test_map_location():
    file = io.BytesIO()
    torch.save({"w": torch.arange(3.0)}, file)
    places = []
    for where in ("cpu", torch.device("cpu"), {"cpu": "cpu"}, lambda s, location: places.append(location)):
        file.seek(0)
        assert torch.load(file, map_location=where)["w"].tolist() == [0.0, 1.0, 2.0]
    assert places == ["cpu"]
    file.seek(0)
    assert torch.load(file, map_location="meta")["w"].is_meta
    if not torch.cuda.is_available():
        file.seek(0)
        with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
            torch.load(file, map_location="cuda")


def test_errors(tmp_path):
    with pytest.raises(RuntimeError, match="not a ZIP archive"):
        torch.load(io.BytesIO(b"PK\x03\x04junk"))
    with pytest.raises(EOFError):
        torch.load(io.BytesIO(b""))
    with pytest.raises(
        AttributeError, match="'int' object has no attribute 'seek'. You can only torch.load from a file"
    ):
        torch.load(5)
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none")
    a = torch.ones(4)
    with pytest.raises(RuntimeError, match="that view the same data as different types"):
        torch.save([a, a.view(torch.int32)], io.BytesIO())


def test_storages():
    s = torch.FloatStorage([1.0, 2.0])
    assert s.dtype == torch.float32
    assert s.tolist() == [1.0, 2.0]
    assert isinstance(s, torch.FloatStorage)
    assert not isinstance(s, torch.LongStorage)
    s[1] = 5
    assert s[1] == 5.0
    assert len(torch.storage.TypedStorage(3, dtype=torch.int64)) == 3
    again = _round(s)
    assert again.dtype == torch.float32
    assert again.tolist() == [1.0, 5.0]
    assert torch.ones(2).storage().type() == "torch.FloatStorage"


def test_legacy_tensor_types():
    assert torch.FloatTensor(2, 3).shape == (2, 3)
    assert torch.LongTensor([1, 2]).tolist() == [1, 2]
    assert torch.LongTensor([1, 2]).dtype == torch.int64
    assert isinstance(torch.ones(2), torch.FloatTensor)
    assert not isinstance(torch.ones(2), torch.LongTensor)
    assert repr(torch.FloatTensor) == "<class 'torch.FloatTensor'>"
    with pytest.raises(TypeError, match=r"expected torch.FloatTensor \(got torch.LongTensor\)"):
        torch.FloatTensor(torch.arange(3))


def test_return_types():
    result = torch.max(torch.tensor([[1.0, 3.0], [5.0, 2.0]]), 1)
    assert type(result) is torch.return_types.max
    assert repr(result) == "torch.return_types.max(\nvalues=tensor([3., 5.]),\nindices=tensor([1, 0]))"
    values, indices = torch.empty(2), torch.empty(2, dtype=torch.int64)
    assert type(torch.sort(torch.tensor([2.0, 1.0]), out=(values, indices))) is torch.return_types.sort_out
    assert torch.return_types.linalg_svd.__match_args__ == ("U", "S", "Vh")
    assert torch.return_types.linalg_svd in torch.return_types.all_return_types


def test_storage_of_a_file(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(16)))
    storage = torch.UntypedStorage.from_file(str(path), False, 16)
    part = torch.asarray(storage[4:12], dtype=torch.uint8)
    assert part.tolist() == list(range(4, 12))
    assert part.view(torch.int32).tolist() == [0x07060504, 0x0B0A0908]
    part[0] = 99
    assert storage[4] == 99
    assert path.read_bytes()[4] == 4
    shared = torch.UntypedStorage.from_file(str(path), shared=True, nbytes=16)
    torch.asarray(shared, dtype=torch.uint8)[0] = 7
    assert path.read_bytes()[0] == 7


def test_annotations_of_layers_are_objects():
    import typing

    class Mine(torch.nn.Linear):
        config: int

    assert typing.get_type_hints(Mine)["config"] is int
    assert typing.get_type_hints(Mine)["training"] is bool


def test_the_format_before_zip_is_written_and_read(tmp_path):
    x = torch.arange(6.0)
    path = tmp_path / "old.pt"
    torch.save(
        {"x": x, "part": x[2:4], "h": torch.ones(2, dtype=torch.bfloat16)}, path, _use_new_zipfile_serialization=False
    )
    with open(path, "rb") as file:
        assert not torch.serialization._is_zipfile(file)
    found = torch.load(path)
    assert found["part"].tolist() == [2.0, 3.0] and found["h"].dtype == torch.bfloat16
    found["x"][2] = 7
    assert found["part"][0].item() == 7.0  # one storage, as when it was written


def test_files_with_few_methods_and_other_pickle_modules():
    class File:
        def __init__(self, data=b""):
            self.held = io.BytesIO(data)
            for name in ("read", "readline", "seek", "tell", "write", "flush"):
                setattr(self, name, getattr(self.held, name))

    file = File()
    torch.save(torch.arange(3), file)
    assert torch.load(File(file.held.getvalue())).tolist() == [0, 1, 2]

    class Loud:
        """A pickle module of one's own."""

        Pickler, Unpickler, dumps = pickle.Pickler, pickle.Unpickler, staticmethod(pickle.dumps)

    for new in (True, False):
        out = io.BytesIO()
        torch.save({"a": [1, 2]}, out, pickle_module=Loud, _use_new_zipfile_serialization=new)
        out.seek(0)
        assert torch.load(out, pickle_module=Loud, weights_only=False) == {"a": [1, 2]}
