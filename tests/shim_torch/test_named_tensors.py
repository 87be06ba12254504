"""Tensors whose dims have names: none are made, and what asks for them says so."""

import pytest

import shim_torch as torch


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn"])
def test_factories_refuse_names(name):
    with pytest.raises(NotImplementedError, match=f"torch.{name}: argument 'names' is not supported"):
        getattr(torch, name)(2, 3, names=("N", "C"))
    with pytest.raises(TypeError, match="unexpected keyword argument 'nomes'"):
        getattr(torch, name)(2, 3, nomes=("N", "C"))


def test_data_with_names_and_methods():
    with pytest.raises(NotImplementedError, match="torch.tensor: argument 'names' is not supported"):
        torch.tensor([1, 2], names=("N",))
    t = torch.ones(2, 3)
    for name in ("rename", "rename_", "refine_names", "align_to"):
        with pytest.raises(NotImplementedError, match=f"torch.Tensor.{name} is not supported"):
            getattr(t, name)("N", "C")
    assert t.rename(None).data_ptr() == t.data_ptr() and t.rename_(None) is t
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        torch.sum(t, names=("N",))
