"""Factories: out= of another shape, requires_grad with out=, complex parts, dtypes that are inferred."""

from __future__ import annotations

import pytest

import shim_torch as torch


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


def test_functions_that_only_the_table_shows():
    from shim_torch import _VF

    assert torch._VF is _VF and not hasattr(torch, "unique_dim")
    assert _VF.unique_dim(torch.tensor([1, 1, 0]), 0)[0].tolist() == [0, 1]
    assert _VF.lstm is not None and not hasattr(_VF, "no_such_function")
