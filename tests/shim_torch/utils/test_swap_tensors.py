"""``torch.utils.swap_tensors`` and the conversions and loads of modules that use it."""

from __future__ import annotations

import weakref

import pytest

import shim_torch as torch


class Marked(torch.Tensor):
    pass


@pytest.fixture
def swapping():
    torch.__future__.set_swap_module_params_on_conversion(True)
    yield
    torch.__future__.set_swap_module_params_on_conversion(False)


def test_content_class_and_attributes_change_places():
    a, b = torch.ones(2), torch.zeros(3, dtype=torch.int64).as_subclass(Marked)
    a.note, held, before = "a", [a], b.data_ptr()
    torch.utils.swap_tensors(a, b)
    assert held[0] is a and type(a) is Marked and a.tolist() == [0, 0, 0] and a.dtype is torch.int64
    assert type(b) is torch.Tensor and b.tolist() == [1, 1] and b.note == "a" and not hasattr(a, "note")
    assert a.data_ptr() == before and torch.equal(a + 1, torch.ones(3, dtype=torch.int64))


def test_gradients_go_with_the_content():
    a, b = torch.ones(2, requires_grad=True), torch.full((2,), 3.0)
    torch.utils.swap_tensors(a, b)
    (b * 2).sum().backward()
    assert b.grad.tolist() == [2, 2] and a.grad is None and not a.requires_grad and a.tolist() == [3, 3]


def test_refusals():
    a, b = torch.ones(2, requires_grad=True), torch.zeros(2)
    seen = weakref.ref(b)
    with pytest.raises(RuntimeError, match="Cannot swap t2 because it has weakref associated with it"):
        torch.utils.swap_tensors(a, b)
    assert seen() is b
    held = a * a
    with pytest.raises(RuntimeError, match="Expected use_count of t1 to be 1 or 2"):
        torch.utils.swap_tensors(a, torch.zeros(2))
    held.sum().backward()
    assert a.grad.tolist() == [2, 2]


@pytest.mark.usefixtures("swapping")
def test_modules_keep_their_parameters():
    layer = torch.nn.Linear(2, 1)
    weight, values = layer.weight, layer.weight.detach().double()
    layer(torch.ones(1, 2)).sum().backward()
    layer.double()
    assert layer.weight is weight and weight.dtype is torch.float64 and torch.equal(weight.detach(), values)
    assert weight.grad.dtype is torch.float64 and weight.grad.tolist() == [[1, 1]]
    layer.load_state_dict({"weight": torch.tensor([[5.0, 6.0]]), "bias": torch.tensor([7.0])})
    assert layer.weight is weight and weight.dtype is torch.float64 and weight.tolist() == [[5, 6]]
    layer.load_state_dict({"weight": torch.tensor([[8.0, 9.0]]), "bias": torch.tensor([7.0])}, assign=False)
    assert layer(torch.ones(1, 2, dtype=torch.float64)).item() == 24
