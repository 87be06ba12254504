"""torch.nn.utils.parametrize."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.nn.utils import parametrize

pytestmark = [pytest.mark.usefixtures("device"), pytest.mark.devices("cpu", "cuda")]


class Symmetric(torch.nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)

    def right_inverse(self, a):
        return a.triu()


class Double(torch.nn.Module):
    def forward(self, x):
        return 2 * x


class Product(torch.nn.Module):
    def forward(self, a, b):
        return a * b

    def right_inverse(self, w):
        return w, torch.ones_like(w)


def test_register_use_remove():
    layer = torch.nn.Linear(3, 3)
    before = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert type(layer).__name__ == "ParametrizedLinear"
    assert parametrize.type_before_parametrizations(layer) is torch.nn.Linear
    assert parametrize.is_parametrized(layer, "weight")
    np.testing.assert_allclose(layer.weight.detach().cpu().numpy(), layer.weight.t().detach().cpu().numpy())
    np.testing.assert_array_equal(layer.weight.detach().triu().cpu().numpy(), before.triu().cpu().numpy())
    assert [n for n, _ in layer.named_parameters()] == ["bias", "parametrizations.weight.original"]
    layer(torch.ones(1, 3)).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None
    parametrize.register_parametrization(layer, "weight", Double())
    np.testing.assert_allclose(layer.weight.detach().triu().cpu().numpy(), 2 * before.triu().cpu().numpy())
    value = layer.weight.detach().clone()
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is torch.nn.Linear
    assert isinstance(layer.weight, torch.nn.Parameter)
    np.testing.assert_array_equal(layer.weight.detach().cpu().numpy(), value.cpu().numpy())


def test_assignment_goes_through_right_inverse():
    layer = torch.nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    layer.weight = torch.tensor([[1.0, 2.0], [2.0, 3.0]])
    assert layer.weight.tolist() == [[1.0, 2.0], [2.0, 3.0]]
    assert layer.parametrizations.weight.original.tolist() == [[1.0, 2.0], [0.0, 3.0]]


def test_several_originals():
    layer = torch.nn.Linear(2, 2)
    before = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Product())
    assert {n for n, _ in layer.named_parameters()} == {
        "bias",
        "parametrizations.weight.original0",
        "parametrizations.weight.original1",
    }
    np.testing.assert_array_equal(layer.weight.detach().cpu().numpy(), before.cpu().numpy())
    with pytest.raises(ValueError, match="Cannot leave unparametrized"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)


def test_cached_and_copies():
    layer = torch.nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Double())
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight
    other = copy.deepcopy(layer)
    np.testing.assert_array_equal(other.weight.detach().cpu().numpy(), layer.weight.detach().cpu().numpy())
    with pytest.raises(
        RuntimeError, match="Serialization of parametrized modules is only supported through state_dict"
    ):
        pickle.dumps(layer)
    fresh = torch.nn.Linear(2, 2)
    parametrize.transfer_parametrizations_and_params(layer, fresh)
    np.testing.assert_array_equal(fresh.weight.detach().cpu().numpy(), layer.weight.detach().cpu().numpy())


def test_errors():
    layer = torch.nn.Linear(2, 2)
    with pytest.raises(
        ValueError, match="does not have a parameter, a buffer, or a parametrized element with name 'scale'"
    ):
        parametrize.register_parametrization(layer, "scale", Double())

    class Flat(torch.nn.Module):
        def forward(self, x):
            return x.reshape(-1)

    with pytest.raises(ValueError, match="may not change the shape of the tensor"):
        parametrize.register_parametrization(layer, "weight", Flat())
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(layer, "weight")


class Pair(torch.Tensor):
    """Two tensors as one: only its class tells it from a plain one."""

    @staticmethod
    def __new__(cls, a, b):
        return torch.Tensor._make_wrapper_subclass(
            cls, a.size(), dtype=a.dtype, device=a.device, requires_grad=a.requires_grad
        )

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner, meta, size, stride):
        return Pair(inner["a"], inner["b"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def part(name):
            return func(*(getattr(a, name) if isinstance(a, Pair) else a for a in args), **(kwargs or {}))

        return Pair(part("a"), part("b"))


class Paired(torch.nn.Module):
    def forward(self, x):
        return x

    def right_inverse(self, x):
        return Pair(x, x)


def test_with_swapping_the_original_takes_the_class_that_the_inverse_gives():
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        layer = torch.nn.Linear(2, 2)
        weight = layer.weight
        parametrize.register_parametrization(layer, "weight", Paired())
        assert layer.parametrizations.weight.original is weight and type(weight) is Pair
        assert isinstance(weight, torch.nn.Parameter)
        parametrize.remove_parametrizations(layer, "weight")
        assert layer.weight is weight and type(weight) is Pair
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)
