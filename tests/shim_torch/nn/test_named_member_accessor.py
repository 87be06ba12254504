"""Tensors of a module replaced by name."""

import pytest

import shim_torch as torch
from shim_torch.nn.utils._named_member_accessor import swap_submodule, swap_tensor


def test_swapping():
    m = torch.nn.BatchNorm1d(2)
    weight, mean = m.weight, m.running_mean
    assert swap_tensor(m, "weight", torch.zeros(2)) is weight and type(m.weight) is torch.Tensor
    assert swap_tensor(m, "weight", weight).tolist() == [0, 0] and m.weight is weight
    assert swap_tensor(m, "running_mean", None) is mean and m.running_mean is None
    m.extra = torch.ones(1)
    assert swap_tensor(m, "extra", torch.zeros(1)).item() == 1 and m.extra.item() == 0
    holder = torch.nn.Sequential(m)
    assert swap_submodule(holder, "0", torch.nn.ReLU()) is m and isinstance(holder[0], torch.nn.ReLU)


def test_refusals():
    m = torch.nn.Linear(2, 2)
    with pytest.raises(AttributeError, match="Linear has no attribute `nope`"):
        swap_tensor(m, "nope", torch.ones(1))
    with pytest.raises(TypeError, match="1 is not an instance of torch.Tensor"):
        swap_tensor(m, "weight", 1)
    with pytest.raises(TypeError, match="attribute `in_features`: 2 is not an instance of torch.Tensor"):
        swap_tensor(m, "in_features", torch.ones(1))
    with pytest.raises(KeyError, match="tensor name can"):
        swap_tensor(m, "a.b", torch.ones(1))
    with pytest.raises(KeyError, match="submodule 1 does not exist"):
        swap_submodule(torch.nn.Sequential(m), "1", m)


def test_the_accelerator_that_is_here():
    assert torch._utils._get_available_device_type() == ("cuda" if torch.cuda.is_available() else None)
    assert torch._utils._get_device_module("cpu") is torch.cpu
    with pytest.raises(
        RuntimeError, match="Device 'abc' does not have a corresponding module registered as 'torch.abc'"
    ):
        torch._utils._get_device_module("abc")
