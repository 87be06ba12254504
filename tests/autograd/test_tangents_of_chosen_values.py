"""Tangents of operators whose results take some values and leave others, and regions where tangents are paused."""

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch.autograd import forward_ad
from shim_torch.func import grad, jacfwd, jvp


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_repeated_places_of_max_unpool_keep_the_last_tangent(dims):
    x = torch.arange(1.0, 2**dims + 1).reshape(1, 1, *[2] * dims)
    places = torch.tensor([1, 1, 0, 3, 2, 2, 1, 0])[: 2**dims].reshape(x.shape)

    def unpool(x):
        return getattr(F, f"max_unpool{dims}d")(x, places, 2)

    with forward_ad.dual_level():
        value, tangent = forward_ad.unpack_dual(unpool(forward_ad.make_dual(x, 10 * x)))
    torch.testing.assert_close(value, unpool(x))
    torch.testing.assert_close(tangent, 10 * value)
    value, tangent = jvp(unpool, (x,), (10 * x,))
    torch.testing.assert_close(tangent, 10 * unpool(x))
    x.requires_grad_()
    y = unpool(x)
    (g,) = torch.autograd.grad(y, x, torch.arange(float(y.numel())).reshape(y.shape))
    torch.testing.assert_close(g, places.to(g.dtype))  # each value gets the gradient of its place, overwritten or not


def test_slopes_of_rrelu_are_those_without_tangents():
    x = torch.tensor([1.5, -0.3, -2.0, 0.6, -1.1])

    def run(x):
        torch.manual_seed(3)
        return F.rrelu(x, training=True)

    with forward_ad.dual_level():
        value, tangent = forward_ad.unpack_dual(run(forward_ad.make_dual(x, x)))
    torch.testing.assert_close(value, run(x), rtol=0, atol=0)
    torch.testing.assert_close(tangent, value)
    torch.testing.assert_close(jvp(run, (x,), (x,))[1], value)


def _paused(x):
    with forward_ad._set_fwd_grad_enabled(False):
        square = x**2
        with forward_ad._set_fwd_grad_enabled(True):
            cube = x**3
    return x**2 - square + cube - x**3


def test_paused_tangents_within_jvp():
    x, one = torch.tensor(3.0), torch.tensor(1.0)
    assert [v.item() for v in jvp(_paused, (x,), (one,))] == [0, 6]
    assert jacfwd(_paused)(x).item() == 6
    assert jacfwd(jacfwd(_paused))(x).item() == 2
    assert grad(_paused)(x).item() == 0  # gradients go through
    assert grad(lambda x: jvp(_paused, (x,), (one,))[0])(x).item() == 0
    assert grad(lambda x: jvp(_paused, (x,), (one,))[1])(x).item() == 2


def test_gradients_without_a_tangent_refuse_forward_mode():
    x = torch.tensor([0.5, -0.5])
    for loss, name in ((lambda x: F.hardsigmoid(x).sum(), "aten::hardsigmoid_backward"),
                       (lambda x: F.soft_margin_loss(x, x.detach().sign()), "soft_margin_loss_backward"),
                       (lambda x: F.huber_loss(x, 2 * x.detach()), "huber_loss_backward")):  # fmt: skip
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x.clone().requires_grad_(), x)
            with pytest.raises(
                NotImplementedError, match=f"Trying to use forward AD with {name} that does not support it"
            ):
                torch.autograd.grad(loss(dual), dual, create_graph=True)
    with pytest.raises(NotImplementedError, match="forward AD with aten::hardsigmoid_backward"):
        jvp(grad(lambda x: F.hardsigmoid(x).sum()), (x,), (x,))
