"""Tensors and NumPy arrays: comparison, shared memory that may not move, answers of ufuncs."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl import arrays


def test_equality_takes_arrays():
    x = torch.tensor([1.0, 2.0])
    assert (x == np.array([1, 3])).tolist() == [True, False]
    assert (x == np.ones((2, 2))).shape == (2, 2)
    assert (x == np.array(["a", "b"])) is False
    with pytest.raises(TypeError, match="ndarray"):
        x.eq(np.array([1, 3]))


def test_an_array_divided_by_a_tensor_is_a_tensor():
    for array in (np.array([1.0, 2.0]), np.array(2.0), np.array([1, 2])):
        found = array / torch.tensor([2.0, 4.0])
        assert isinstance(found, torch.Tensor) and found.dtype is torch.float64
        assert found.tolist() == (array / np.array([2.0, 4.0])).tolist()
    with pytest.raises(TypeError, match="unsupported operand"):
        "a" / torch.ones(2)


def test_memory_shared_with_an_array_stays():
    x = torch.randn(5, 5)
    array = x.numpy()
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        x.resize_(10, 10)
    x.resize_(2, 2)
    assert array.shape == (5, 5)


def test_numpy_force_is_a_bool():
    with pytest.raises(TypeError, match="argument 'force' must be bool, not int"):
        torch.ones(1).numpy(force=1)
    assert torch.ones(1, requires_grad=True).numpy(force=True).tolist() == [1.0]


def test_truths_of_ufuncs_are_bytes():
    made = np.isnan(torch.tensor([1.0, float("nan")]))
    assert made.dtype is torch.uint8 and made.tolist() == [0, 1]


def test_bodies_read_half_complex_as_complex64():
    """The steps in Python, which serve where those in C++ cannot (NumPy 1's state of floating-point errors is elsewhere)."""
    x = torch.tensor([[1 + 2j, 3 - 1j], [0.5j, -2]]).to(torch.complex32).t()
    array = arrays.of_type("cpu").asarray(x)
    assert array.dtype == np.complex64 and array.tolist() == [[1 + 2j, 0.5j], [3 - 1j, -2]]


def test_asarray_without_a_copy_refuses_to_convert():
    x = torch.arange(3.0)
    assert np.asarray(x, copy=False)[1] == 1 and np.shares_memory(np.asarray(x, copy=False), x.numpy())
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.asarray(x, dtype="float64", copy=False)
    assert np.asarray(x, dtype="float64").dtype == np.float64


def test_dlpack_streams_and_devices_that_are_refused():
    x = torch.arange(3.0)
    x.__dlpack__(stream=None)
    with pytest.raises(AssertionError, match="stream should be None on cpu."):
        x.__dlpack__(stream=1)
    with pytest.raises(TypeError, match="stream must be ``int`` or ``none``"):
        x.__dlpack__(stream="1")
    with pytest.raises(ValueError, match="Unknown device type meta for Dlpack"):
        torch.ones(1, device="meta").__dlpack_device__()


def test_the_warning_of_a_read_only_array_points_at_the_caller():
    array = np.arange(3.0)
    array.flags.writeable = False
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="not writable") as told:
            torch.from_numpy(array)
    finally:
        torch.set_warn_always(False)
    assert told[0].filename == __file__
