"""What is a view and of what: copies have no base, view(dtype) no gradient; empty tensors are contiguous."""

from __future__ import annotations

import shim_torch as torch


def test_copies_of_reshape_are_no_views():
    x = torch.arange(12.0, requires_grad=True).view(3, 4)
    for copy in (x.t().reshape(12), x.t().flatten()):
        assert not copy._is_view() and copy.grad_fn.name() == "UnsafeViewBackward0"
    (g,) = torch.autograd.grad((x.t().reshape(12) * torch.arange(12.0)).sum(), x)
    assert torch.equal(g, torch.arange(12.0).view(4, 3).t())
    assert x.reshape(12)._is_view()


def test_view_as_another_dtype():
    x = torch.ones(2, 2)
    seen = x.view(torch.int32)
    assert not seen._is_view() and seen[0, 0].item() == 0x3F800000
    seen.zero_()
    assert x._version == seen._version and x.sum().item() == 0
    assert not x.requires_grad_().view(torch.float16).requires_grad


def test_empty_slices_are_contiguous():
    z = torch.randn(2, 3, 4, 5)[:, :, :, 1][:, 1:1]
    assert z.is_contiguous() and z.stride() == (60, 20, 5)


def test_made_complex_tensors_are_no_views():
    assert not torch.testing.make_tensor((2, 2), dtype=torch.complex64, device="cpu")._is_view()


def test_narrow_takes_a_tensor_to_start_at():
    assert torch.arange(5).narrow(0, torch.tensor(1), 2).tolist() == [1, 2]
