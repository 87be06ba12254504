"""``as_subclass`` gives a view: it shares memory, versions and history with what it was made of."""

import pytest

import shim_torch as torch


class Tagged(torch.Tensor):
    pass


def test_a_view_of_a_plain_tensor():
    a = torch.ones(3)
    s = a.as_subclass(Tagged)
    assert type(s) is Tagged and s._is_view() and s._base is a
    s.add_(1)
    assert a.tolist() == [2, 2, 2] and a._version == s._version == 1
    v = torch.ones(4)[:2]
    assert v.as_subclass(Tagged)._base is v._base


def test_writes_go_through_the_base():
    a = torch.ones(3, requires_grad=True)
    leaf = a.as_subclass(Tagged)
    assert leaf._base is a and not leaf.is_leaf and type(leaf.grad_fn).__name__ == "AliasBackward0"
    with pytest.raises(
        RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation"
    ):
        leaf.add_(1)
    b = a * 2
    s = b.as_subclass(Tagged)
    s.mul_(3)
    assert b.grad_fn.name() == "torch::autograd::CopySlices" and b.tolist() == [6, 6, 6]
    b.sum().backward()
    assert a.grad.tolist() == [6, 6, 6]
    b = a * 2
    s = b.as_subclass(Tagged)
    b.mul_(3)
    assert type(s.grad_fn).__name__ == "AsStridedBackward0"
    assert torch.autograd.grad(s.sum(), a)[0].tolist() == [6, 6, 6]
