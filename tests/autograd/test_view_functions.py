"""A view's steps taken from another base, and in-place writes to views that are leaves."""

from __future__ import annotations

import pytest

import shim_torch as torch


def test_views_of_another_base():
    x, new = torch.arange(6.0).reshape(2, 3).clone(), torch.ones(2, 3, requires_grad=True)
    again = x.t()[0]._view_func(new)
    assert again.stride() == (3,) and again._base is new and again.grad_fn.name() == "AsStridedBackward0"
    assert x._view_func(new) is None and x.detach()._view_func(new) is None
    assert x.t()._view_func(new.t()) is None  # another layout
    assert x[1]._view_func(torch.arange(12.0)[:6].view(2, 3)) is None  # of more memory
    assert x[1]._view_func_unsafe(torch.arange(12.0).view(2, 6)[:, :3]).tolist() == [3.0, 4.0, 5.0]
    with pytest.raises(TypeError, match=r"_view_func\(\): argument 'new_base' \(position 1\) must be Tensor, not int"):
        x.t()._view_func(1)


def test_conjugates_of_another_base():
    z, new = torch.tensor([1 + 2j, 3 - 4j]), torch.tensor([1j, 2 - 1j])
    assert z.conj()._view_func(new).is_conj() and z.conj().imag._view_func(new).tolist() == [-1.0, 1.0]
    assert torch.view_as_real(z)[1]._view_func(new).tolist() == [2.0, -1.0]
    assert z.conj()._view_func(new.conj()) is None
    assert z.conj()._rev_view_func_unsafe(new).is_conj()
    with pytest.raises(RuntimeError, match="No _rev_view_func"):
        z[:1]._rev_view_func_unsafe(new)


def test_views_that_are_leaves_are_not_written():
    leaf = torch.arange(6.0).view(2, 3).requires_grad_()
    for view in (leaf, leaf.view(6)):
        with pytest.raises(
            RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation."
        ):
            view.add_(1)
