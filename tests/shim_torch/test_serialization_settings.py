"""``torch.serialization``: byte order, mapped files, checkpoints without their bytes, and the settings of both."""

from __future__ import annotations

import io
import mmap
import pickletools
import sys
import types
import zipfile

import pytest

import shim_torch as torch
from shim_torch.serialization import LoadEndianness
from shim_torch.utils.serialization import config

OTHER = "big" if sys.byteorder == "little" else "little"


def saved(value, **arguments):
    file = io.BytesIO()
    torch.save(value, file, **arguments)
    file.seek(0)
    return file


def of_the_other_order(value, mark):
    """A file as a machine of the other byte order writes it."""
    tensors = {k: v.clone() for k, v in value.items()}
    for t in tensors.values():
        t.untyped_storage().byteswap(t.dtype)
    source, out = zipfile.ZipFile(saved(tensors)), io.BytesIO()
    with zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("/byteorder"):
                if mark is None:
                    continue
                data = mark
            target.writestr(name, data)
    out.seek(0)
    return out


VALUES = {
    "i32": torch.tensor([1, -2, 3], dtype=torch.int32),
    "f64": torch.tensor([1.5, -2.25], dtype=torch.float64),
    "c64": torch.tensor([1 + 2j, -3.5j]),
    "bf16": torch.tensor([1.0, 2.0], dtype=torch.bfloat16),
    "bool": torch.tensor([True, False]),
}


def same(found):
    for name, value in VALUES.items():
        assert found[name].dtype == value.dtype and found[name].tolist() == value.tolist(), name


def test_byteswap():
    x = torch.tensor([1, 256], dtype=torch.int32)
    x.untyped_storage().byteswap(torch.int32)
    assert x.tolist() == [1 << 24, 1 << 16]
    c = torch.tensor([1 + 2j])
    before = list(c.untyped_storage())
    c.untyped_storage().byteswap(torch.complex64)
    assert list(c.untyped_storage()) == before[3::-1] + before[:3:-1], "each part by itself"
    b = torch.tensor([True, False])
    b.untyped_storage().byteswap(torch.bool)
    assert b.tolist() == [True, False]


def test_files_of_the_other_byte_order():
    same(torch.load(of_the_other_order(VALUES, OTHER.encode())))
    with pytest.raises(ValueError, match="Unknown endianness type: pdp"):
        torch.load(of_the_other_order(VALUES, b"pdp"))


@pytest.mark.parametrize("order", [LoadEndianness.LITTLE, LoadEndianness.BIG, LoadEndianness.NATIVE])
def test_files_without_a_mark(order):
    names = {LoadEndianness.LITTLE: "little", LoadEndianness.BIG: "big"}
    torch.serialization.set_default_load_endianness(order)
    try:
        assert torch.serialization.get_default_load_endianness() is order
        if names.get(order, sys.byteorder) == sys.byteorder:
            same(torch.load(saved(VALUES, _disable_byteorder_record=True)))
        else:
            same(torch.load(of_the_other_order(VALUES, None)))
    finally:
        torch.serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError, match="Invalid argument type"):
        torch.serialization.set_default_load_endianness("little")


def test_record_of_the_byte_order():
    assert "archive/byteorder" in zipfile.ZipFile(saved(VALUES)).namelist()
    assert "archive/byteorder" not in zipfile.ZipFile(saved(VALUES, _disable_byteorder_record=True)).namelist()


def test_mapped_files(tmp_path):
    path = tmp_path / "x.pt"
    torch.save(torch.arange(4), path)
    private = torch.load(path, mmap=True)
    private[0] = 9
    assert torch.load(path).tolist() == [0, 1, 2, 3]
    with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        assert torch.serialization.get_default_mmap_options() == mmap.MAP_SHARED
        with config.patch("load.mmap", True):
            shared = torch.load(path)
        shared[0] = 9
    assert torch.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    assert torch.load(path, mmap=True).tolist() == [9, 1, 2, 3], "MAP_SHARED writes to the file"
    with pytest.raises(ValueError, match="expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got 7"):
        torch.serialization.set_default_mmap_options(7)


def test_checkpoints_without_bytes():
    with torch.serialization.skip_data():
        empty = saved(VALUES)
        with pytest.raises(RuntimeError, match="Cannot use skip_data=True"):
            torch.save(VALUES, io.BytesIO(), _use_new_zipfile_serialization=False)
    found = torch.load(empty)
    assert all(not t.to(torch.complex64).abs().sum() for t in found.values())
    assert {k: v.shape for k, v in found.items()} == {k: v.shape for k, v in VALUES.items()}
    full = saved(VALUES)
    assert len(full.getvalue()) == len(empty.getvalue())
    with torch.serialization.skip_data():
        found = torch.load(full)
    assert {k: (v.shape, v.dtype) for k, v in found.items()} == {k: (v.shape, v.dtype) for k, v in VALUES.items()}


def test_alignment():
    with config.patch("save.storage_alignment", 4096):
        file = saved(torch.arange(3))
    archive = zipfile.ZipFile(file)
    info = archive.getinfo("archive/data/0")
    data = file.getvalue()
    extra = int.from_bytes(data[info.header_offset + 28 : info.header_offset + 30], "little")
    assert (info.header_offset + 30 + len(info.filename) + extra) % 4096 == 0
    assert archive.read("archive/.storage_alignment") == b"4096"
    assert torch.load(file).tolist() == [0, 1, 2]


def test_settings():
    assert torch.serialization.get_crc32_options() is True
    torch.serialization.set_crc32_options(False)
    try:
        assert config.save.compute_crc32 is False
        assert torch.load(saved(torch.ones(2))).tolist() == [1, 1]
    finally:
        torch.serialization.set_crc32_options(True)


def test_version_check():
    module = types.SimpleNamespace(__version__="1.20.3", __name__="thing")
    check = torch.serialization.check_module_version_greater_or_equal
    assert check(module, (1, 20)) and not check(module, (1, 21)) and check(module, ("1", "2", "3"))
    assert check(module, ()) and check(module, (1.0, 20)) and not check(module, ("2",))
    for required in ((1, 20, 3, 0), [1, 20]):  # more parts than there are; what is no tuple
        with pytest.raises(RuntimeError, match="is malformed '1.20.3' and cannot be compared with tuple"):
            check(module, required)
    module.__version__ = "1.x"
    with pytest.raises(RuntimeError, match="'thing' module version string is malformed '1.x' and cannot be compared"):
        check(module, (1, 2))
    with pytest.warns(UserWarning, match="continuing assuming that requirement is met"):
        assert check(module, (1, 2), error_if_malformed=False)


def test_allowed_by_the_user():
    from shim_torch._weights_only_unpickler import _get_user_allowed_globals

    before = _get_user_allowed_globals()
    with torch.serialization.safe_globals([types.SimpleNamespace, (types.SimpleNamespace, "a.B")]):
        assert _get_user_allowed_globals() == before | {
            "types.SimpleNamespace": types.SimpleNamespace,
            "a.B": types.SimpleNamespace,
        }
    with pytest.raises(ValueError, match="Expected tuple of length 2"):
        torch.serialization.add_safe_globals([(1, 2, 3)])
    with pytest.raises(TypeError, match="to be str of callable full path"):
        torch.serialization.add_safe_globals([(int, 3)])


def test_saved_files_name_each_storage_class_once():
    value = {"a": torch.zeros(2), "b": torch.ones(3), "c": ["x", 1, 2.5, None, True, ("y", (1, 2))], "d": {}}
    value["c"].append(value["c"])  # a list that has itself
    file = io.BytesIO()
    torch.save(value, file)
    names = [
        arg for op, arg, _ in pickletools.genops(zipfile.ZipFile(file).read("archive/data.pkl")) if op.name == "GLOBAL"
    ]
    assert names.count("torch FloatStorage") == 1 and "torch._utils _rebuild_tensor_v2" in names
    file.seek(0)
    back = torch.load(file)
    assert back["a"].tolist() == [0, 0] and back["c"][:6] == value["c"][:6] and back["c"][6] is back["c"]
    assert torch.FloatStorage is torch.FloatStorage


def test_arguments_of_a_pickle_are_not_ignored():
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    with pytest.warns(UserWarning, match="pickle_load_args only works if `weights_only=False`"):
        assert torch.load(io.BytesIO(file.getvalue()), encoding="ascii").tolist() == [1, 1]
    for weights_only in (True, False):
        with pytest.raises(TypeError, match="unexpected keyword|invalid keyword"):
            torch.load(io.BytesIO(file.getvalue()), weights_only=weights_only, bogus=1)


def test_storages_have_the_name_that_files_give_them():
    """litgpt's conversion of checkpoints imports it."""
    normalize = torch.serialization.normalize_storage_type
    assert normalize(torch.FloatStorage) is torch.FloatStorage
    assert normalize(torch.UntypedStorage) is torch.UntypedStorage
    assert normalize(torch.cuda.HalfStorage) is torch.HalfStorage
