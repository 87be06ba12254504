"""torch.set_default_tensor_type: what it sets, warns of and refuses."""

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
