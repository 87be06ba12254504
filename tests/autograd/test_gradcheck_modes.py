"""``gradcheck`` whole and fast, backward and forward, and second derivatives: what is right passes, what is wrong does not."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.autograd import gradcheck, gradgradcheck


class Doubled(torch.autograd.Function):
    """x**2, whose backward forgets the factor."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def leaf(*shape, dtype=torch.float64):
    torch.manual_seed(0)
    return torch.randn(*shape, dtype=dtype).requires_grad_()


FUNCTIONS = [
    ("real", lambda x, y: x.exp() @ y, torch.float64),
    ("several", lambda x, y: (x * 2, x @ y), torch.float64),
    ("complex", lambda x, y: (x * y.sum()).cos(), torch.complex128),
    ("to real", lambda x, y: (x @ y).abs(), torch.complex128),
]


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("name,function,dtype", FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_right_gradients_pass(name, function, dtype, fast):
    given = (leaf(2, 3, dtype=dtype), leaf(3, dtype=dtype))
    checks = {"check_batched_grad": True, "check_forward_ad": True, "check_batched_forward_grad": True}
    assert gradcheck(function, given, fast_mode=fast, **checks)
    assert gradgradcheck(function, given, fast_mode=fast, check_fwd_over_rev=True)


@pytest.mark.parametrize("fast", [False, True])
def test_wrong_gradients_do_not(fast):
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0") as found:
        gradcheck(Doubled.apply, (leaf(2, 3),), fast_mode=fast)
    assert ("recompute numerical and analytical jacobians in slow mode" in str(found.value)) == fast
    assert not gradcheck(Doubled.apply, (leaf(2, 3),), fast_mode=fast, raise_exception=False)


def test_fast_mode_calls_the_function_a_fixed_number_of_times():
    calls = []

    def counted(x):
        calls.append(1)
        return x.sin()

    counts = []
    for size in (3, 300):
        calls.clear()
        assert gradcheck(counted, (leaf(size),), fast_mode=True)
        counts.append(len(calls))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("fast", [False, True])
def test_outputs_without_gradients_must_not_move(fast):
    with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, (leaf(3),), fast_mode=fast)
    assert gradcheck(lambda x: x.detach() * 0, (leaf(3),), fast_mode=fast)
    assert gradcheck(lambda x: (x * 2, x.detach() * 3), (leaf(3),), fast_mode=fast)


def test_options_that_exclude_each_other():
    x = leaf(2)
    with pytest.raises(AssertionError, match="at least one of check_forward_ad or check_backward_ad"):
        gradcheck(torch.sin, (x,), check_backward_ad=False)
    with pytest.raises(AssertionError, match="at least one of check_fwd_over_rev or check_rev_over_rev"):
        gradgradcheck(torch.sin, (x,), check_rev_over_rev=False)


def test_reflected_symbols_take_no_keywords():
    x = torch.tensor([3])
    assert torch.Tensor.__rand__(x, x, out=torch.zeros(1, dtype=torch.int64)) is NotImplemented
    assert torch.Tensor.__rpow__(x, 2, foo=1) is NotImplemented


class TwiceByPieces(torch.autograd.Function):
    """With a forward of its own kind: no setup_context."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def vjp(ctx, g):
        return g * 2

    @staticmethod
    def jvp(ctx, t):
        return t * 2


@pytest.mark.parametrize("fast_mode", [False, True])
def test_batched_tangents_of_a_function_without_setup_context(fast_mode):
    x = torch.rand(2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(
        TwiceByPieces.apply,
        x,
        check_forward_ad=True,
        check_batched_forward_grad=True,
        check_batched_grad=True,
        fast_mode=fast_mode,
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "Setting check_undefined_grad=True requires check_rev_over_rev to be True"),
        (
            {"check_undefined_grad": False, "check_batched_grad": True},
            "Setting check_batched_grad=True requires check_rev_over_rev to be True",
        ),
        ({"check_fwd_over_rev": False}, "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"),
    ],
)
def test_options_of_second_derivatives_that_ask_for_the_other_mode(options, text):
    with pytest.raises(AssertionError, match=text):
        gradgradcheck(lambda x: x**3, leaf(3), check_rev_over_rev=False, **{"check_fwd_over_rev": True, **options})
    assert gradgradcheck(
        lambda x: x**3, leaf(3), leaf(3), check_rev_over_rev=False, check_fwd_over_rev=True, check_undefined_grad=False
    )
