"""The Python objects of storages: attributes, weak references, base classes."""

import gc
import weakref

import numpy as np
import pytest

import shim_torch as torch


def test_storages_take_attributes_and_weak_references():
    called = []
    storage = torch.UntypedStorage(4)
    storage.label = "mine"
    reference = weakref.ref(storage, called.append)
    storage._fix_weakref()
    assert reference().label == "mine"
    del storage
    assert called == [reference]


class Told(torch.UntypedStorage):
    ended = 0

    def __del__(self):
        Told.ended += 1


def test_storages_keep_their_objects_while_tensors_live():
    for kind in (torch.UntypedStorage, Told):
        storage = kind(8)
        storage.label = "mine"
        found = weakref.ref(storage)
        tensor = torch.tensor(storage)
        name = id(storage)
        del storage
        assert tensor[:0].untyped_storage() is found() and id(found()) == name and type(found()) is kind
        assert found().label == "mine" and Told.ended == 0
        storage = tensor.untyped_storage()
        del tensor
        assert storage.label == "mine" and storage.nbytes() == 8 and found() is storage
        del storage
        assert found() is None
    assert Told.ended == 1


def test_a_weak_reference_gives_a_storage_a_longer_life():
    storage = torch.UntypedStorage([1, 2, 3, 4, 0, 0, 0, 0])
    found, tensor = weakref.ref(storage), torch.tensor(storage)
    del storage
    storage = found()
    del tensor
    assert storage.tolist()[:4] == [1, 2, 3, 4]
    del storage
    assert found() is None


def test_cycles_through_a_storage_that_its_tensor_keeps_are_collected():
    tensor = torch.ones(2)
    tensor.untyped_storage().tensor = tensor
    seen = weakref.ref(tensor)
    assert tensor.untyped_storage().tensor is tensor
    del tensor
    gc.collect()
    assert seen() is None


def test_cycles_through_a_storage_are_collected():
    storage = torch.UntypedStorage(4)
    storage.me = storage
    seen = weakref.ref(storage)
    del storage
    gc.collect()
    assert seen() is None


def test_base_classes_are_not_constructed():
    with pytest.raises(
        RuntimeError, match="Cannot directly construct StorageBase; subclass it and then construct that"
    ):
        torch._C.StorageBase()
    with pytest.raises(RuntimeError, match="Cannot directly construct TensorBase; subclass it and then construct that"):
        torch._C.TensorBase()
    with pytest.raises(RuntimeError, match="Cannot subclass _TensorBase directly"):
        type("Own", (torch._C.TensorBase,), {})
    own = type("Own", (torch._C.StorageBase,), {})()
    assert isinstance(own, torch._C.StorageBase) and isinstance(torch.UntypedStorage(1), torch._C.StorageBase)


def test_tensors_of_storages_share_them():
    storage = torch.UntypedStorage(16)
    for made in (torch.tensor(storage), torch.as_tensor(storage)):
        assert made.dtype == torch.int64 and made.shape == (2,) and made.data_ptr() == storage.data_ptr()
    assert torch.tensor(torch.FloatStorage([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_files_that_storages_share_have_names(tmp_path):
    path = str(tmp_path / "new")
    x = torch.from_file(path, shared=True, size=4, dtype=torch.float32)  # the file is made
    assert x.untyped_storage().filename == path and x.tolist() == [0.0] * 4
    x.fill_(2)
    assert np.fromfile(path, np.float32).tolist() == [2.0] * 4
    private = torch.from_file(path, shared=False, size=4)
    assert private.untyped_storage().filename is None and private.tolist() == [2.0] * 4
    storage = torch.UntypedStorage.from_file(path, True, 16)
    assert storage.filename == path and torch.ones(2).untyped_storage().filename is None
    with pytest.raises(RuntimeError, match="is smaller than the required mapping size <32>"):
        torch.from_file(path, shared=False, size=8)


def test_sizes_of_numpy():
    assert torch.FloatStorage(np.int16(4)).size() == 4 and torch.UntypedStorage(np.uint8(3)).nbytes() == 3
    assert torch.DoubleStorage([1, 2]).tolist() == [1.0, 2.0] and torch.UntypedStorage([1, 2, 3]).nbytes() == 3


def test_bytes_as_other_dtypes() -> None:
    storage = torch.arange(4, dtype=torch.uint8).untyped_storage()
    for name, dtype in (
        ("float", torch.float32),
        ("half", torch.float16),
        ("long", torch.int64),
        ("complex_double", torch.complex128),
    ):
        typed = getattr(storage, name)()
        assert typed.dtype == dtype and typed.tolist() == [0, 1, 2, 3]
    copy = storage.byte()
    copy[0] = 9
    assert storage.tolist() == [0, 1, 2, 3]
    assert storage.type() == "torch.storage.UntypedStorage" and storage.type(torch.UntypedStorage) is storage
    assert storage.type("torch.ShortStorage").dtype == torch.int16
    with pytest.raises(RuntimeError, match="invalid type: 'torch.NoStorage'"):
        storage.type("torch.NoStorage")
    assert storage.to(device="cpu") is storage and storage.to(device="meta").device.type == "meta"
    assert storage.new().nbytes() == 0 and not storage.is_hpu and not storage.is_sparse_csr


@pytest.mark.parametrize(
    ("name", "size"),
    [("QUInt8Storage", 1), ("QInt8Storage", 1), ("QInt32Storage", 4), ("QUInt4x2Storage", 1), ("QUInt2x4Storage", 1)],
)
def test_storages_of_quantized_dtypes_hold_whole_numbers(name: str, size: int) -> None:
    kind = getattr(torch, name)
    storage = kind([1, 2, 3])
    storage[1] = 7
    assert storage.tolist() == [1, 7, 3] and storage.nbytes() == 3 * size and storage.type() == f"torch.{name}"
    assert storage.dtype == kind.dtype and kind in torch._storage_classes and isinstance(storage, kind)
    with pytest.raises(NotImplementedError, match="quantized tensors are not supported"):
        storage.float()
    with pytest.raises(NotImplementedError, match="quantized type"):
        torch.tensor(storage)
    with pytest.raises(AttributeError):
        getattr(torch.cuda, name)


def test_places_and_values_of_storages() -> None:
    storage, typed = torch.UntypedStorage([0, 1, 2]), torch.FloatStorage([0.0, 1.0])
    storage[np.int64(1)] = 7
    assert (storage[np.int32(1)], storage[np.int64(-1)]) == (7, 2)
    for key, value, error in (
        (3, 1, "out of bounds"),
        (-1, 1, "out of bounds"),
        (1 << 70, 1, "out of bounds"),
        (torch.tensor(1), 1, "can't index a torch.UntypedStorage with Tensor"),
        (True, 1, "can't index a torch.UntypedStorage with bool"),
        (0, [1], "can only set storage content with a int types, but got list instead"),
        (slice(None, None, -1), 1, "Trying to slice with a step of -1, but only a step of 1 is supported"),
    ):
        with pytest.raises(RuntimeError, match=error):
            storage[key] = value
    for storage_or_typed in (storage, typed):
        with pytest.raises(ValueError, match="slice step cannot be zero"):
            storage_or_typed[0:2:0] = 1
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        storage[0:2:0]
    with pytest.raises(ValueError, match="step must be greater than zero"):
        typed[::-1] = 1
    with pytest.raises(IndexError, match="index 3 out of range for storage of size 3"):
        storage[3]
    with pytest.raises(TypeError, match="can't index a <class 'torch.storage.TypedStorage'> with <class 'bool'>"):
        typed[True]
    with pytest.raises(RuntimeError, match="cannot set item with value type <class 'torch.storage.TypedStorage'>"):
        typed[0] = typed
    for given, error in (
        ("ab", "new.*: invalid data type 'str'"),
        ({1}, "recognized: <class 'set'>"),
        (1.5, "<class 'float'>"),
    ):
        with pytest.raises(TypeError, match=error):
            torch.FloatStorage(given)
