"""What ``__torch_function__`` of an object beside a tensor sees: PyTorch's own callables, which libraries look up in tables."""

from __future__ import annotations

import operator

import pytest

import shim_torch as torch


class Other:
    """Notes what it is asked for."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen = func, args
        return "asked"


x = torch.ones(2, 2)
T = torch.Tensor


@pytest.mark.parametrize("name", "add sub mul matmul eq ne lt le gt ge".split())
def test_symbols_are_the_methods(name):
    other = Other()
    assert getattr(operator, name)(x, other) == "asked"
    assert Other.seen[0] is getattr(T, name)
    assert Other.seen[1][0] is x and Other.seen[1][1] is other


@pytest.mark.parametrize(
    ("symbol", "seen"),
    [("truediv", T.div), ("mod", T.remainder), ("pow", T.__pow__), ("floordiv", T.__floordiv__), ("and_", T.__and__),
     ("iadd", T.add_), ("itruediv", T.div_), ("ipow", T.__ipow__), ("iand", T.__iand__), ("ilshift", T.__ilshift__)],
)  # fmt: skip
def test_symbols_of_other_names(symbol, seen):
    assert getattr(operator, symbol)(x, Other()) == "asked" and Other.seen[0] is seen


@pytest.mark.parametrize(
    ("symbol", "seen"),
    [
        ("add", T.add),
        ("mul", T.mul),
        ("sub", T.__rsub__),
        ("matmul", T.__rmatmul__),
        ("truediv", T.__rdiv__),
        ("lt", T.gt),
    ],
)
def test_reflected_symbols(symbol, seen):
    other = Other()
    assert getattr(operator, symbol)(other, x) == "asked"
    assert Other.seen[0] is seen and Other.seen[1][0] is x and Other.seen[1][1] is other


@pytest.mark.parametrize("key", [Other(), (0, Other()), [Other()], (0, [Other()])])
def test_keys_are_asked(key):
    assert x[key] == "asked" and Other.seen[0] is T.__getitem__ and Other.seen[1][1] is key
    x[key] = 1
    assert Other.seen[0] is T.__setitem__ and Other.seen[1][1:] == (key, 1)


def test_assigned_values_are_asked():
    other = Other()
    x[0] = other
    assert Other.seen[0] is T.__setitem__ and Other.seen[1][2] is other
    with pytest.raises(TypeError, match="can't assign a"):
        x[0] = object()
