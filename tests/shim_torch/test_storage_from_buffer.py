"""``torch.UntypedStorage.from_buffer``: a copy of a buffer's elements, in the machine's order of bytes."""

import sys

import numpy as np
import pytest

import shim_torch as torch

from_buffer = torch.UntypedStorage.from_buffer
BYTES = bytearray(range(16))


def test_bytes_are_copied():
    source = bytearray(BYTES)
    storage = from_buffer(source, dtype=torch.uint8)
    assert type(storage) is torch.UntypedStorage
    storage[0] = 99
    assert source[0] == 0
    assert storage.tolist()[1:] == list(range(1, 16))
    assert from_buffer(b"\x00\x01", "no order at all", dtype=torch.int8).tolist() == [0, 1]
    assert from_buffer(bytearray(), dtype=torch.uint8).nbytes() == 0


@pytest.mark.parametrize(
    ("dtype", "part"), [(torch.int16, 2), (torch.float32, 4), (torch.float64, 8), (torch.complex64, 4)]
)
def test_elements_of_the_other_order_are_turned_round(dtype, part):
    other = "big" if sys.byteorder == "little" else "little"
    turned = [i for at in range(0, 16, part) for i in reversed(range(at, at + part))]
    assert from_buffer(BYTES, other, dtype=dtype).tolist() == turned
    assert from_buffer(BYTES, "native", dtype=dtype).tolist() == list(range(16))


def test_parts_and_truth():
    assert from_buffer(BYTES, "little", 2, 4, torch.int16).tolist() == [4, 5, 6, 7]
    assert from_buffer(bytearray([0, 1, 2]), "native", dtype=torch.bool).tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("keywords", "error", "text"),
    [
        ({}, RuntimeError, "argument 'dtype' cannot be None"),
        ({"dtype": None}, RuntimeError, "argument 'dtype' must be of type torch.dtype"),
        ({"dtype": torch.int32}, RuntimeError, r"missing required argument 'byte_order' \(pos 2\)"),
        ({"dtype": torch.int32, "byte_order": "x"}, ValueError, "invalid byte_order 'x'"),
        ({"dtype": torch.uint8, "offset": 20}, ValueError, "no greater than buffer length"),
        (
            {"dtype": torch.uint8, "count": 17},
            ValueError,
            "only 16 elements after offset 0, but specified a size of 17",
        ),
        ({"dtype": torch.int32, "byte_order": "big", "offset": 3}, ValueError, "must be a multiple of element size"),
    ],
)
def test_refusals(keywords, error, text):
    with pytest.raises(error, match=text):
        from_buffer(BYTES, **keywords)


def test_storages_from_buffers_and_files(tmp_path):
    assert torch.ShortStorage.from_buffer(bytearray([1, 2, 3, 4]), "big").tolist() == [258, 772]
    assert torch.BoolStorage.from_buffer(bytearray([0, 1, 2]), "native").tolist() == [False, True, True]
    with pytest.raises(ValueError, match=r"buffer size \(5\) must be a multiple of element size \(4\)"):
        torch.FloatStorage.from_buffer(bytearray(5), "little")
    file = tmp_path / "floats"
    np.array([1.5, 2.5], "float32").tofile(file)
    assert torch.FloatStorage.from_file(str(file), False, 2).tolist() == [1.5, 2.5]
