"""torch.tensor, asarray and frombuffer: dtypes, shared memory, errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import shim_torch as torch


class Sequence:
    """Neither list nor tuple, but with lengths and items."""

    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def test_sequences_meet_in_one_dtype():
    assert torch.tensor([torch.tensor(1), 2.5]).tolist() == [1.0, 2.5]
    assert torch.tensor([np.int32(2), np.int64(3)]).dtype is torch.int64
    assert torch.tensor([np.int32(2), 3.0]).dtype is torch.float32
    assert torch.tensor([np.float32(2), np.float64(3)]).dtype is torch.float64
    assert torch.tensor(Sequence(5, Sequence().__len__())).tolist() == [5, 0]
    assert torch.tensor([[], [1]]).shape == (2, 0)
    assert torch.tensor([1, 2], dtype=float).dtype is torch.float64


def test_sequence_errors():
    loop = [1, 2]
    loop.append(loop)
    with pytest.raises(TypeError, match="self-referential lists are incompatible"):
        torch.tensor(loop)
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="too many dimensions 'list'"):
        torch.tensor(endless)
    with pytest.raises(TypeError, match="not a sequence"):
        torch.tensor([[1], 2])
    with pytest.raises(TypeError, match="'list' object cannot be interpreted as an integer"):
        torch.tensor([1, [2]])
    with pytest.raises(TypeError, match="must be real number, not list"):
        torch.tensor([1, [2]], dtype=torch.float32)
    with pytest.raises(ValueError, match="only one element tensors can be converted"):
        torch.tensor([torch.ones(2)])
    with pytest.raises(RuntimeError, match="Could not infer dtype of dict"):
        torch.tensor({1: 2})
    with pytest.raises(ValueError, match="could not determine the shape of object type 'Sequence'"):
        torch.tensor(type("Sequence", (Sequence,), {"__getitem__": lambda self, i: 1 / 0})(1))


def test_integer_ranges():
    assert torch.tensor([-1, -255], dtype=torch.uint8).tolist() == [255, 1]
    assert torch.tensor(-1, dtype=torch.uint16).item() == 65535
    for value, dtype in ((300, torch.uint8), (-256, torch.uint8), (-1.5, torch.uint8), (float("nan"), torch.int32)):
        with pytest.raises(RuntimeError, match="without overflow"):
            torch.tensor([value], dtype=dtype)
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        torch.tensor(2**63)
    with pytest.raises(OverflowError, match="can't convert negative int to unsigned"):
        torch.tensor(-1, dtype=torch.uint64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.tensor([1e6], dtype=torch.float16).isinf().all()


def test_asarray_shares_or_refuses():
    x = torch.arange(4.0)
    assert torch.asarray(x) is x
    with pytest.raises(ValueError, match="can't alias tensor with dtype 'Float' into dtype 'Double'"):
        torch.asarray(x, dtype=torch.float64, copy=False)
    with pytest.raises(ValueError, match="from device 'cpu' to 'meta'"):
        torch.asarray(x, device="meta", copy=False)
    with pytest.raises(ValueError, match="can't alias arbitrary sequence"):
        torch.asarray([1, 2], copy=False)
    with pytest.raises(RuntimeError, match="can't alias NumPy scalars"):
        torch.asarray(np.float64(0.5), copy=False)
    capsule = torch.utils.dlpack.to_dlpack(x)
    assert torch.asarray(capsule).data_ptr() == x.data_ptr()
    view = memoryview(x.numpy())
    assert torch.asarray(view).data_ptr() == x.data_ptr()
    assert torch.asarray(view, copy=True).data_ptr() != x.data_ptr()
    assert torch.asarray(bytearray(b"\x01\x00\x02\x00"), dtype=torch.int16).tolist() == [1, 2]


def test_asarray_and_history():
    made = torch.ones(2, requires_grad=True) * 2
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="defaults to obj.requires_grad"):
            assert torch.asarray(made).grad_fn is not None
    finally:
        torch.set_warn_always(False)
    assert torch.asarray(made, requires_grad=True).grad_fn is not None
    assert torch.asarray(made, requires_grad=False).grad_fn is None
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        torch.asarray([1], requires_grad=True)


def test_frombuffer_checks():
    with pytest.raises(ValueError, match="does not implement Python buffer protocol"):
        torch.frombuffer([1], dtype=torch.int8)
    with pytest.raises(ValueError, match=r"both buffer length \(8\) and count \(0\)"):
        torch.frombuffer(bytearray(8), dtype=torch.int8, count=0)
    with pytest.raises(RuntimeError, match="could not retrieve buffer from object"):
        torch.frombuffer(np.arange(6).reshape(2, 3)[:, ::2], dtype=torch.int8)


def test_read_only_memory_is_warned_of_once():
    array = np.arange(3.0)
    array.setflags(write=False)
    torch.set_warn_always(True)
    try:
        for make in (torch.from_numpy, torch.as_tensor, torch.asarray):
            with pytest.warns(UserWarning, match="not writable"):
                make(array)
    finally:
        torch.set_warn_always(False)
    torch.from_numpy(array)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.from_numpy(array)
        torch.asarray(array, copy=True)


def test_sizes_that_overflow():
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        torch.empty([8, 8, 2**29, 2**29], dtype=torch.float64)
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        torch.empty_strided([8, 8], [2**61, 1], dtype=torch.float64)
    with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
        torch.empty([0, 4, 2**61])
    with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
        torch.empty(0).resize_([0, 4, 2**61])


def test_old_constructors_refuse_tensor_with_device():
    with pytest.raises(
        RuntimeError, match=r"Legacy tensor constructor of the form torch.Tensor\(tensor, device=device\)"
    ):
        torch.Tensor(torch.ones(1), device="cpu")
    with pytest.raises(RuntimeError, match="Legacy tensor new of the form"):
        torch.ones(1).new(torch.ones(1), device="cpu")


@pytest.mark.parametrize("make", [torch.asarray, torch.as_tensor, torch.tensor])
def test_tensors_stay_on_their_device_unless_another_is_the_default(make):
    """Also on a GPU: data that is there does not come back because no device was said."""
    there = torch.ones(2, device="meta")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.tensor advises clone().detach()
        assert make(there).device.type == "meta"
        with torch.device("meta"):
            assert make(torch.ones(2, device="cpu")).device.type == "meta"
            assert make([1.0]).device.type == "meta"
        assert make([1.0]).device.type == "cpu"
    assert torch.asarray(there, copy=False) is there and torch.as_tensor(there) is there


def test_asarray_on_the_device(device):
    x = torch.ones(3, device=device)
    assert torch.asarray(x).data_ptr() == x.data_ptr() and torch.as_tensor(x).device == x.device
    assert torch.asarray(x, copy=True).device == x.device


def test_asarray_tells_a_leaf_itself_to_need_no_gradient():
    leaf = torch.ones(3, requires_grad=True)
    assert torch.asarray(leaf, requires_grad=False) is leaf and not leaf.requires_grad
    product = torch.ones(3, requires_grad=True) * 2
    found = torch.asarray(product, requires_grad=False)
    assert found.is_leaf and found.data_ptr() == product.data_ptr() and product.requires_grad


@pytest.mark.parametrize(("function", "argument"), [("tensor", "data"), ("as_tensor", "data"), ("asarray", "obj")])
def test_without_data(function, argument):
    with pytest.raises(TypeError, match=rf'^{function}\(\) missing 1 required positional arguments: "{argument}"$'):
        getattr(torch, function)(dtype=torch.float32)


def test_tensors_of_numbers() -> None:
    cases: list[Any] = [1, 2.5, True, [1, 2], [1, 2.0], [True, 2], [[1, 2], [3, 4]], ((1.5,), (2,)), [[True], [False]]]
    for data in cases:
        made, wide = torch.tensor(data), np.array(data)
        kinds = {"b": torch.bool, "i": torch.int64, "f": torch.float32}
        assert made.dtype == kinds[wide.dtype.kind] and made.shape == wide.shape and made.tolist() == wide.tolist()
    assert torch.tensor([1, 2], dtype=torch.bfloat16).tolist() == [1, 2]
    assert torch.tensor([0, 2.5], dtype=torch.bool).tolist() == [False, True]
    assert torch.tensor([1.5, 2], dtype=torch.int64).tolist() == [1, 2]
    assert torch.tensor([2**60, -1]).tolist() == [2**60, -1]
    assert torch.tensor([]).shape == (0,) and torch.tensor([[], []]).shape == (2, 0)
    for data, message in (
        ([1, [2]], "sequence|scalar|number|type|int"),
        ([[1], [2, 3]], "expected sequence of length 1 at dim 1"),
        ([2**64], "Overflow"),
    ):
        with pytest.raises((ValueError, RuntimeError, TypeError), match=message):
            torch.tensor(data)
    with pytest.raises(RuntimeError, match="cannot be converted to type"):
        torch.tensor([300], dtype=torch.uint8)


def test_tensors_that_need_gradients_are_not_exported():
    x = torch.ones(2, requires_grad=True)
    for t in (x, x * 2):
        with pytest.raises(BufferError, match="Can't export tensors that require gradient, use tensor.detach"):
            torch.from_dlpack(t)
    assert torch.from_dlpack(x.detach()).data_ptr() == x.data_ptr()
