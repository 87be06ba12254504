"""Factories: out= of another shape, requires_grad with out=, complex parts, dtypes that are inferred."""

from __future__ import annotations

import warnings

import pytest

import shim_torch as torch


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


def test_complex32_is_moved():
    x = torch.tensor([1 + 2j, 3.0], dtype=torch.complex32)
    assert x.roll(1).tolist() == [3, 1 + 2j]


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


def test_default_tensor_type():
    assert torch.Storage is torch.FloatStorage
    try:
        torch.set_warn_always(True)
        with pytest.warns(UserWarning, match="is deprecated as of PyTorch 2.1, please use torch.set_default_dtype"):
            torch.set_default_tensor_type(torch.DoubleTensor)
        assert torch.Storage is torch.DoubleStorage and torch.ones(1).dtype is torch.float64
    finally:
        torch.set_warn_always(False)
        torch.set_default_tensor_type("torch.FloatTensor")
    with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
        torch.set_default_tensor_type("torch.IntTensor")
    with pytest.raises(TypeError, match="invalid type object"):
        torch.set_default_tensor_type(torch.float32)


def test_meshgrid_checks():
    with pytest.raises(RuntimeError, match="expects all tensors to have the same dtype"):
        torch.meshgrid(torch.ones(1), torch.ones(1).long(), indexing="ij")
    with pytest.raises(RuntimeError, match="Expected 0D or 1D tensor"):
        torch.meshgrid(torch.ones(1, 1), indexing="ij")


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


def test_functions_that_only_the_table_shows():
    from shim_torch import _VF

    assert torch._VF is _VF and not hasattr(torch, "unique_dim")
    assert _VF.unique_dim(torch.tensor([1, 1, 0]), 0)[0].tolist() == [0, 1]
    assert _VF.lstm is not None and not hasattr(_VF, "no_such_function")


def test_slogdet_into_outputs():
    sign, size = torch.empty(0), torch.empty(0)
    found = torch.slogdet(2 * torch.eye(3), out=(sign, size))
    assert found.sign is sign and sign.item() == 1
    assert abs(size.item() - 3 * torch.tensor(2.0).log().item()) < 1e-6


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
