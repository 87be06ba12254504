"""torch._foreach_*: results, each tensor's own in-place operator with its history, refusals; unscaling of gradients."""

import math

import pytest

import shim_torch as torch

XS = [torch.tensor([1.0, 2.0]), torch.tensor([3.0])]


def test_foreach_results_are_tuples():
    for found in (
        torch._foreach_add(XS, 1),
        torch._foreach_sqrt(XS),
        torch._foreach_norm(XS),
        torch._foreach_pow(2.0, XS),
    ):
        assert type(found) is tuple and len(found) == 2
    assert [t.item() for t in torch._foreach_powsum(XS, 2)] == [5, 9]
    with pytest.raises(RuntimeError, match="max over zero elements is undefined"):
        torch._foreach_max([torch.tensor([])])


def test_amp_unscale():
    gradients, found = [torch.tensor([2.0]), torch.tensor([4.0])], torch.zeros(1)
    torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, torch.tensor([0.5]))
    assert [g.item() for g in gradients] == [1, 2] and found.item() == 0
    torch._amp_foreach_non_finite_check_and_unscale_([torch.tensor([math.inf])], found, torch.tensor([0.5]))
    assert found.item() == 1


@pytest.mark.parametrize("kind", [list, tuple])
def test_lists_written_in_place_are_what_comes_back(kind):
    given = kind([torch.ones(2), torch.ones(3)])
    assert torch._foreach_add_(given, 1) is given and torch._foreach_zero_(given) is given
    assert torch._foreach_mul_(given, [2.0, 3.0]) is given and torch._foreach_abs_(self=given) is given
    assert torch.ops.aten._foreach_add_(given, 2) is None
    assert [t.tolist() for t in given] == [[2.0] * 2, [2.0] * 3]


def test_lists_that_do_not_fit():
    a, b = torch.ones(2, 3, 4), torch.ones(3, 4, 5)
    sizes = r"size of tensor a \(4\) must match the size of tensor b \(5\) at non-singleton dimension 2"
    for call in (torch._foreach_add, torch._foreach_maximum, torch._foreach_maximum_, torch._foreach_copy_):
        with pytest.raises(RuntimeError, match=sizes):
            call([a], [b])
    with pytest.raises(RuntimeError, match=sizes):
        torch._foreach_maximum([a.to(torch.complex64)], [b.to(torch.complex64)])
    with pytest.raises(RuntimeError, match="with two bool tensors is not supported"):
        torch._foreach_sub([a > 0], [b > 0])
    with pytest.raises(RuntimeError, match="must have the same number of tensors, got 0 and 1"):
        torch._foreach_add([], [a])
    with pytest.raises(RuntimeError, match="must have at least one tensor"):
        torch._foreach_copy_([a], [])


def _pair():
    return [torch.ones(2, 2), torch.ones(3)]


def test_history_is_the_operators():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = [x * 1, x * 2]
    torch._foreach_mul_(y, 3.0)
    torch._foreach_addcmul_(y, [x, x], [x, x], value=2)
    torch._foreach_exp_(y)
    assert y[0].grad_fn.name() == "ExpBackward0"
    (y[0].sum() + y[1].sum()).backward()
    first, second = (3 * x + 2 * x * x).exp() * (3 + 4 * x), (6 * x + 2 * x * x).exp() * (6 + 4 * x)
    assert torch.allclose(x.grad, first + second)


def test_leaves_are_refused():
    leaf = [torch.ones(2, requires_grad=True)]
    for call in (
        torch._foreach_neg_,
        lambda x: torch._foreach_add_(x, 1),
        lambda x: torch._foreach_lerp_(x, leaf, 0.5),
    ):
        with pytest.raises(
            RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"
        ):
            call(leaf)


@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
@pytest.mark.parametrize(
    ("scalars", "text"),
    [
        (torch.ones(2, 1), "Expected packed scalar Tensor to be of dimension 1. Got 2 instead."),
        (torch.ones(()), "Expected packed scalar Tensor to be of dimension 1. Got 0 instead."),
        (torch.ones(4)[::2], "Expected scalars to be contiguous."),
        (torch.ones(3), "Expected length of scalars to match input of length 2 but got 3 instead."),
    ],
)
def test_tensors_of_numbers(name, scalars, text):
    for call in (getattr(torch, f"_foreach_{name}"), getattr(torch, f"_foreach_{name}_")):
        with pytest.raises(RuntimeError, match=text):
            call(_pair(), _pair(), _pair(), scalars)
    found = getattr(torch, f"_foreach_{name}")(_pair(), _pair(), _pair(), torch.tensor([2.0, 3.0]))
    assert [t.flatten()[0].item() for t in found] == [3.0, 4.0]


def test_results_that_do_not_fit():
    whole = [torch.ones(2, dtype=torch.int32)]
    for call in (
        lambda: torch._foreach_maximum_(whole, [torch.ones(2)]),
        lambda: torch._foreach_clamp_max_(whole, 1.5),
        lambda: torch._foreach_sqrt_(whole),
        lambda: torch._foreach_div_(whole, 2),
    ):
        with pytest.raises(RuntimeError, match="result type Float can't be cast"):
            call()
    complex_ = [torch.ones(2, dtype=torch.complex64)]
    with pytest.raises(NotImplementedError, match="\"maximum_cpu\" not implemented for 'ComplexDouble'"):
        torch._foreach_maximum_(complex_, [torch.ones(2, dtype=torch.float64)])
    with pytest.raises(RuntimeError, match="output with shape"):
        torch._foreach_mul_([torch.ones(1)], [torch.ones(2)])
