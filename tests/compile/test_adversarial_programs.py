"""Functions that read and change what is around them while they are compiled: each call equals the function's own."""

from __future__ import annotations

import programs_of_tensors
import pytest

import shim_torch as torch

CASES = programs_of_tensors.CASES


def outcome(function, arguments):
    try:
        result = function(*arguments)
    except RuntimeError as e:
        return type(e).__name__, str(e)
    tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
    return result, tensors, [t.grad for t in tensors if t.is_leaf and t.grad is not None]


def same(a, b, within=0.0):
    if isinstance(a, torch.Tensor):
        alike = (a.dtype, a.shape, a.stride(), a.requires_grad) == (b.dtype, b.shape, b.stride(), b.requires_grad)
        return alike and torch.allclose(a.detach(), b.detach(), within, within, equal_nan=True)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(same(x, y, within) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k], within) for k in a)
    return a == b


@pytest.mark.parametrize("dynamic", [None, False])
@pytest.mark.parametrize("name", CASES)
def test_each_call_equals_the_functions(name, dynamic):
    (plain, given), (function, given_again) = CASES[name](), CASES[name]()
    compiled = torch.compile(function, dynamic=dynamic)
    for i in range(14):
        torch.manual_seed(i)
        wanted = outcome(plain, given(i))
        torch.manual_seed(i)
        got = outcome(compiled, given_again(i))
        assert same(wanted, got), (i, wanted, got)
