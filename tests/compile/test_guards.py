"""What a call must have in common with the one that was learned: with a check left out, an answer is stale."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
import shim_torch_proxy
from shim_torch._impl.native import _core


def _flag(x, flag):
    return torch.add(x, 1) if flag else torch.sub(x, 1)


def _layer(x, wanted):
    with torch.set_grad_enabled(wanted):
        return F.max_pool1d(x, 2)


def _times(x):
    return x * 2 + 1


def _two(a, b):
    a.add_(1)
    return b * 1


def _cleared(a, b):
    a.zero_()
    return b + 0


def _read_then_written(x, array):
    y = x * 2
    array[...] = 0
    return y


def _sum(x, dim):
    return x.sum(dim)


def _halves(whole):
    return whole / 2


SCALE = 2.0


def _scaled(x):
    return x * SCALE


def _larger_scale():
    global SCALE
    SCALE = 3.0
    return (_vector(),)


def _by(x, number):
    return x * number


def _squared(x):
    return torch.mul(x, x)


def _same(a, b):
    return a + 1 if a is b else a - b


def _vector(n=6):
    return torch.arange(float(n))


def _shared():
    x = _vector()
    return x, x


def _of_numpy():
    array = np.arange(6, dtype=np.float32)
    return torch.from_numpy(array), array


def _apart():
    return _vector(), np.zeros(6, dtype=np.float32)


def _float64():
    torch.set_default_dtype(torch.float64)
    return (torch.arange(4),)


# Of a check: a function, what makes the arguments that it is learned with, and others that it must not take for the same.
CASES = {
    "op": (_flag, lambda: (_vector(), True), lambda: (_vector(), False)),
    "gradient": (
        _layer,
        lambda: (torch.ones(2, 2, requires_grad=True), False),
        lambda: (torch.ones(2, 2, requires_grad=True), True),
    ),
    "dtype": (_times, lambda: (_vector(),), lambda: (torch.arange(6, dtype=torch.int32),)),
    "sizes": (_times, lambda: (_vector().view(2, 3),), lambda: (_vector().view(3, 2),)),
    "offset": (_times, lambda: (_vector()[:3],), lambda: (_vector()[3:],)),
    "bits": (_times, lambda: (torch.tensor([1j, 2.0]),), lambda: (torch.tensor([1j, 2.0]).conj(),)),
    "memory": (_two, _shared, lambda: (_vector(), _vector() + 5)),
    "fresh": (_cleared, lambda: (_vector(), _vector()), _shared),
    "shared": (_read_then_written, _apart, _of_numpy),
    "constants": (
        _sum,
        lambda: (torch.eye(3)[:2, :2], 0),
        lambda: (torch.tensor([[1.0, 2.0, 0], [3, 4, 0]])[:, :2], 1),
    ),
    "modes": (_halves, lambda: (torch.arange(4),), _float64),
    "whole_names": (_scaled, lambda: (_vector(),), _larger_scale),
    "whole_constants": (_by, lambda: (_vector(), 2.0), lambda: (_vector(), 3.0)),
    "whole_tensors": (_squared, lambda: (_vector().view(2, 3),), lambda: (_vector().view(3, 2),)),
    "whole_memory": (_same, _shared, lambda: (_vector(), _vector() + 5)),
    "whole_modes": (_squared, lambda: (_vector(),), lambda: (_vector().requires_grad_(),)),
}


@contextlib.contextmanager
def left_out(name):
    _core.trace_leave_out(name)
    try:
        yield
    finally:
        _core.trace_leave_out(None)
        torch.set_default_dtype(torch.float32)
        globals().update(SCALE=2.0)


def described(result):
    if not isinstance(result, torch.Tensor):
        return [described(r) for r in result]
    values = torch.Tensor.tolist(result.detach())
    return type(result).__name__, result.dtype, tuple(result.shape), result.requires_grad, values


def whole_calls():
    return shim_torch_proxy.torch_proxy_status()["compile"].get("whole", 0)


def stale(name, without):
    """Whether an answer of the compiled function differs from the function's."""
    function, learned, other = CASES[name]
    compiled = torch.compile(function, dynamic=False)
    with left_out(without):
        before = whole_calls()
        for _ in range(4 if name.startswith("whole") else 2):
            compiled(*learned())
        assert (whole_calls() > before) == name.startswith("whole")
        wanted = described(function(*other()))
        try:
            return described(compiled(*other())) != wanted
        except RuntimeError:
            return True  # it noticed too late


def test_all_checks_have_a_case():
    assert set(_core.trace_checks()) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_answers_are_stale_without_the_check(name):
    assert not stale(name, None)
    assert stale(name, name)


def test_what_is_left_out_must_exist():
    with pytest.raises(ValueError, match="there is no check of names"):
        _core.trace_leave_out("names")
