"""Context managers as decorators, as libraries derive their own from them."""

import contextlib

import pytest

import shim_torch as torch
from shim_torch.utils._contextlib import _DecoratorContextManager, context_decorator

seen: list[str] = []


class Noted(_DecoratorContextManager):
    def __init__(self, name: str = "") -> None:
        self.name = name

    def __enter__(self) -> None:
        seen.append(f"+{self.name}")

    def __exit__(self, *_: object) -> None:
        seen.append(f"-{self.name}")

    def clone(self):
        return type(self)(self.name)


@pytest.fixture(autouse=True)
def _clean():
    seen.clear()


def test_functions_and_generators():
    @Noted("a")
    def f(x):
        return x + 1

    @Noted("g")
    def g():
        yield 1
        yield 2

    assert f(1) == 2 and list(g()) == [1, 2]
    assert seen == ["+a", "-a", "+g", "-g", "+g", "-g", "+g", "-g"]


def test_context_decorator():
    @contextlib.contextmanager
    def made():
        seen.append("in")
        yield
        seen.append("out")

    assert context_decorator(made, lambda x: x * 2)(4) == 8
    assert seen == ["in", "out"]
    assert context_decorator(lambda: torch.no_grad(), torch.is_grad_enabled)() is False
    with pytest.raises(TypeError, match="both callable and also a valid context manager"):
        context_decorator(torch.no_grad(), lambda: 0)
