"""The gradients that backward starts with, more or fewer than tensors; expected values are PyTorch 2.13's."""

from __future__ import annotations

import pytest

import shim_torch as torch

ONE, TWO, OTHER = torch.full((3,), 10.0), torch.full((3,), 100.0), torch.ones(4)


def started(count, gradients):
    x = torch.ones(3, requires_grad=True)
    outputs = (x * 2, x * 3)[:count]
    torch.autograd.backward(outputs, gradients)
    again = torch.autograd.grad((x * 2, x * 3)[:count], x, gradients)[0]
    assert torch.equal(again, x.grad)
    return x.grad.tolist()


@pytest.mark.parametrize("rest", [TWO, None, OTHER, 4])
def test_what_is_too_many_is_not_looked_at(rest):
    assert started(1, (ONE, rest)) == [20.0] * 3
    assert started(2, (ONE, TWO, rest)) == [320.0] * 3
    scalar = torch.ones((), requires_grad=True)
    (scalar * 2).backward((torch.tensor(3.0), rest))
    assert scalar.grad.item() == 6.0


@pytest.mark.parametrize(("count", "given"), [(1, ()), (2, ()), (2, (ONE,))])
def test_too_few_are_refused(count, given):
    with pytest.raises(RuntimeError, match=f"got {count} tensors and {len(given)} gradients"):
        started(count, given)


def test_the_first_are_checked():
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        started(1, (None, ONE))
    with pytest.raises(RuntimeError, match=r"grad_output\[0\] has a shape of torch.Size\(\[4\]\)"):
        started(1, (OTHER, ONE))
