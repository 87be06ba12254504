"""torch.utils.swap_tensors."""

import weakref

import pytest

import shim_torch as torch


def test_two_tensors_become_each_other():
    a, b = torch.tensor([1.0, 2.0]), torch.nn.Parameter(torch.tensor([[3, 4]]), requires_grad=False)
    b.label = "b"
    held = [a]
    torch.utils.swap_tensors(a, b)
    assert held[0] is a and isinstance(a, torch.nn.Parameter) and type(b) is torch.Tensor
    assert a.tolist() == [[3, 4]] and a.label == "b" and b.tolist() == [1.0, 2.0] and not hasattr(b, "label")
    assert a.fill_(7) is a and a.tolist() == [[7, 7]]


def test_gradients_go_along_and_used_leaves_are_poisoned():
    a, b = torch.ones(2, requires_grad=True), torch.zeros(2)
    loss = (a * 3).sum()
    torch.utils.swap_tensors(a, b)
    assert b.requires_grad and not a.requires_grad
    with pytest.raises(RuntimeError, match="AccumulateGrad node that was poisoned by swap_tensors"):
        loss.backward()


def test_tensors_that_cannot_be_swapped():
    a, b = torch.ones(2), torch.zeros(2)
    reference = weakref.ref(a)
    with pytest.raises(RuntimeError, match="Cannot swap t1 because it has weakref associated with it"):
        torch.utils.swap_tensors(a, b)
    del reference

    class Slotted(torch.Tensor):
        __slots__ = ("extra",)

    with pytest.raises(RuntimeError, match="Cannot swap t1 and t2 if they have different slots"):
        torch.utils.swap_tensors(a, torch.ones(2).as_subclass(Slotted))
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y * y
    with pytest.raises(RuntimeError, match="Expected use_count of t1 to be 1 or 2"):
        torch.utils.swap_tensors(y, b)
    assert z.tolist() == [4.0, 4.0]
