"""In-place operators on tensors with a tangent and a history: both gradients, and forward over reverse."""

import numpy as np

import shim_torch as torch
from shim_torch.autograd import forward_ad
from shim_torch.autograd.gradcheck import gradcheck, gradgradcheck


def _inputs():
    torch.manual_seed(0)
    return torch.rand(3, 4, dtype=torch.float64, requires_grad=True), torch.rand(
        4, dtype=torch.float64, requires_grad=True
    )


def _through_views(a, b):
    t = torch.zeros(3, 6, dtype=a.dtype)
    t.narrow(1, 1, 4).copy_(a * a)
    t.narrow(0, 1, 2).mul_(2)
    t[:, 2:6].mul_(b)
    t.exp_()
    return t.sin()


def _through_a_copy(a, b):
    t = a.clone()
    t.mul_(b)
    t.exp_()
    return t * 2


def test_tangent_and_gradient_of_an_inplace_product():
    a, b = torch.tensor([2.0, 3.0], requires_grad=True), torch.tensor([5.0, 7.0], requires_grad=True)
    with forward_ad.dual_level():
        t = forward_ad.make_dual(a, torch.tensor([1.0, 10.0])).clone()
        t.mul_(b)
        value, tangent = forward_ad.unpack_dual(t)
        np.testing.assert_array_equal(value.detach().numpy(), [10.0, 21.0])
        np.testing.assert_array_equal(tangent.detach().numpy(), [5.0, 70.0])
        (g,) = torch.autograd.grad(tangent.sum(), b)
    np.testing.assert_array_equal(g.numpy(), [1.0, 10.0])


def test_a_tangent_written_through_a_view_is_its_bases():
    a = torch.tensor([2.0, 3.0], requires_grad=True)
    with forward_ad.dual_level():
        d = forward_ad.make_dual(a, torch.tensor([1.0, 10.0]))
        t = torch.zeros(4)
        t[1:3].copy_(d * d)
        tangent = forward_ad.unpack_dual(t).tangent
        np.testing.assert_array_equal(tangent.detach().numpy(), [0.0, 4.0, 60.0, 0.0])
        (g,) = torch.autograd.grad(tangent.sum(), a)
    np.testing.assert_array_equal(g.numpy(), [2.0, 20.0])


def test_gradcheck_forward_and_forward_over_reverse():
    for f in (_through_views, _through_a_copy):
        assert gradcheck(f, _inputs(), check_forward_ad=True)
        assert gradgradcheck(f, _inputs(), check_fwd_over_rev=True)


def test_same_padding_of_an_even_kernel_forward_over_reverse():
    torch.manual_seed(0)
    x = torch.rand(1, 1, 2, 2, 3, dtype=torch.float64, requires_grad=True)
    w = torch.rand(1, 1, 1, 4, 2, dtype=torch.float64, requires_grad=True)
    conv = torch.nn.functional.conv3d
    assert gradgradcheck(lambda x, w: conv(x, w, padding="same"), (x, w), check_fwd_over_rev=True)
