"""empty_like and its kind: the strides they keep, and where they answer."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import shim_torch as torch


@pytest.mark.parametrize("name", ["empty_like", "zeros_like", "ones_like"])
def test_strides_are_kept_where_memory_is_dense(name):
    like = getattr(torch, name)
    permuted = torch.randn(4, 5, 6).permute(2, 0, 1)
    assert like(permuted).stride() == (1, 30, 6)
    assert like(permuted[:, ::2]).stride() == (1, 30, 6)  # not dense: compact memory in the order of the strides
    assert like(permuted, memory_format=torch.contiguous_format).stride() == (20, 5, 1)
    assert like(permuted, device="meta").stride() == (1, 30, 6)
    assert like(torch.randn(2, 3, 4, 5), memory_format=torch.channels_last).stride() == (60, 1, 15, 3)


@pytest.mark.parametrize(("name", "value"), [("zeros_like", 0), ("ones_like", 1)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float64", "complex64"])
def test_values_and_dtypes(name, value, dtype):
    made = getattr(torch, name)(torch.empty(3, 0, 2), dtype=getattr(torch, dtype))
    assert made.dtype is getattr(torch, dtype) and made.shape == (3, 0, 2)
    made = getattr(torch, name)(torch.full((5,), 7.0), dtype=getattr(torch, dtype))
    assert made.tolist() == [value] * 5


def test_arange_of_whole_numbers() -> None:
    for args in ((5,), (2, 9), (0, 10, 3), (10, 0, -3), (3, 3), (-4, 4, 2)):
        assert torch.arange(*args).tolist() == list(range(*args))
        assert torch.arange(*args, dtype=torch.float32).tolist() == [float(v) for v in range(*args)]
    with pytest.raises(RuntimeError, match="bound"):
        torch.arange(3, 0)
    assert torch.arange(0, 1, 0.25).tolist() == [0, 0.25, 0.5, 0.75]


def test_ranges():
    for start, end, step in [
        (0, 5.0, 1),
        (0.5, 10, 0.3),
        (10.0, -3, -0.7),
        (0.0, 3000.0, 1.0),
        (1, 1.0, 0.1),
        (-2.5, 2000, 0.125),
    ]:
        count = math.ceil((end - start) / step)
        expected = np.arange(count, dtype=np.float64) * step + start
        for dtype in (torch.float32, torch.float64):
            found = torch.arange(start, end, step, dtype=dtype)
            assert found.dtype is dtype and np.array_equal(found.numpy(), expected.astype(str(dtype)[6:]))
        assert torch.arange(start, end, step).dtype is torch.float32
    assert torch.arange(3.5).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert torch.arange(0, 5000, 3, dtype=torch.int32).tolist() == list(range(0, 5000, 3))
    assert torch.arange(5000, -5, -7).tolist() == list(range(5000, -5, -7))
    assert torch.arange(2**40, 2**40 + 3).tolist() == [2**40, 2**40 + 1, 2**40 + 2]
    assert torch.arange(0.0, 3.0, dtype=torch.int64).tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        torch.arange(0.0, 1.0, 0.0)
    with pytest.raises(RuntimeError, match="bound inconsistent with step sign"):
        torch.arange(0.0, -1.0, 1.0)
    with pytest.raises(RuntimeError, match="unsupported range"):
        torch.arange(0.0, math.inf)


def test_linspace_and_arange():
    for steps in (2, 3, 8, 9, 1000):
        for dtype in (torch.float32, torch.float64):
            got = torch.linspace(-1.5, 2, steps, dtype=dtype)
            np.testing.assert_allclose(got.numpy(), np.linspace(-1.5, 2, steps), rtol=1e-6, atol=1e-7)
            assert got[0] == -1.5 and got[-1] == 2.0 and got.dtype == dtype
    assert torch.linspace(0, 10, 5, dtype=torch.int64).tolist() == [0, 2, 5, 7, 10]
    assert torch.arange(3, 20, 4).tolist() == [3, 7, 11, 15, 19]


def test_factories_resize_out_silently_but_arange():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for make in (torch.zeros, torch.ones, torch.rand):
            assert make(3, out=torch.zeros(1, 5)).shape == (3,)
        assert torch.linspace(0, 1, 3, out=torch.zeros(1, 5)).tolist() == [0, 0.5, 1]
    with pytest.warns(
        UserWarning, match=r"which does not match the computed number of elements 2.*a tensor of shape \(2,\)"
    ):
        assert torch.arange(2, out=torch.zeros(1, 5)).shape == (2,)


def test_out_may_require_grad():
    out = torch.empty(0)
    assert torch.full((2,), 1.0, out=out, requires_grad=True) is out and out.requires_grad


def test_complex_keeps_its_parts_apart():
    made = torch.complex(torch.tensor([1.0, 2.0]), torch.tensor([float("inf"), float("nan")]))
    assert made.real.tolist() == [1.0, 2.0]
    assert torch.complex(torch.ones(2).half(), torch.zeros(2).half()).dtype is torch.complex32


def test_complex_number_and_default_dtype():
    torch.set_default_dtype(torch.float16)
    try:
        assert torch.full((1,), 1j).dtype is torch.complex64
        assert torch.tensor(1j).dtype is torch.complex32
    finally:
        torch.set_default_dtype(torch.float32)
    with pytest.raises(
        RuntimeError, match=r"torch.logspace\(\): inferred dtype c10::complex<float> can't be safely cast"
    ):
        torch.logspace(1, 2j, 3, dtype=torch.float32)


def test_ranges_too_long():
    with pytest.raises(RuntimeError, match="invalid size, possible overflow"):
        torch.arange(1e-38, 3e38)


def test_out_must_be_of_the_options_given():
    with pytest.raises(RuntimeError, match=r"dtype Long does not match dtype of out parameter \(Float\)"):
        torch.zeros(2, out=torch.empty(2), dtype=torch.long)
    with pytest.raises(RuntimeError, match=r"device type meta does not match device type of out parameter \(cpu\)"):
        torch.zeros(2, out=torch.empty(2), device="meta")
    with pytest.raises(RuntimeError, match="layout Sparse does not match layout of out"):
        torch.zeros(2, out=torch.empty(2), layout=torch.sparse_coo)


@pytest.mark.skipif(torch.cuda.is_available(), reason="asks for a GPU where there is none")
@pytest.mark.parametrize(
    "make",
    [
        lambda d: torch.arange(3, device=d),
        lambda d: torch.linspace(0, 1, 3, device=d),
        lambda d: torch.eye(3, device=d),
    ],
)
def test_factories_without_a_gpu_say_so(make):
    with pytest.raises(RuntimeError, match="Found no NVIDIA driver"):
        make("cuda")


def test_sizes_from_numpy_arrays_and_tensors():
    assert torch.ones((np.array(3), torch.tensor(4))).shape == (3, 4)
    assert torch.ones(np.int64(3), np.array(4)).shape == (3, 4)
    with pytest.raises(TypeError, match="must be tuple of ints, but found element of type float at pos 0"):
        torch.ones((3.0, 4))
    with pytest.raises(TypeError):
        torch.ones((np.array(3.0), 4))
