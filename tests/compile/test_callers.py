"""What torch.compile gives is a function like the one that it was given, though its calls run no code of their own."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import types
import weakref

import pytest

import shim_torch as torch
from shim_torch._impl.compile.calls import counts


def scaled(x, *, by: int = 2):
    """Of a tensor."""
    return x * by


plain, scaled = scaled, torch.compile(scaled)


class Layer:
    by = 3

    @torch.compile
    def method(self, x, plus=1):
        """A method."""
        return x * self.by + plus

    @staticmethod
    @torch.compile
    def static(x):
        return x + 1

    @classmethod
    @torch.compile
    def of_class(cls, x):
        return x + cls.by


def test_it_is_a_function():
    assert isinstance(scaled, types.FunctionType) and inspect.isfunction(scaled) and inspect.isroutine(scaled)
    assert (scaled.__doc__, scaled.__name__, scaled.__module__) == ("Of a tensor.", "scaled", __name__)
    assert scaled.__wrapped__ is plain and inspect.signature(scaled) == inspect.signature(plain)
    assert scaled.__annotations__ == plain.__annotations__ and repr(scaled).startswith("<function scaled at 0x")
    assert pickle.loads(pickle.dumps(scaled)) is scaled
    assert copy.copy(scaled) is scaled and copy.deepcopy(scaled) is scaled
    assert isinstance(scaled.__code__, types.CodeType) and weakref.ref(scaled)() is scaled
    scaled.extra = 1
    assert vars(scaled).pop("extra") == 1


def test_it_is_called_as_the_function():
    x = torch.ones(2)
    for _ in range(3):
        assert torch.equal(scaled(x), x * 2) and torch.equal(scaled(x, by=3), x * 3)
        assert torch.equal(scaled(*[x], by=4), x * 4) and torch.equal(next(map(scaled, [x])), x * 2)
    for given, named, text in [
        ((), {}, "missing 1 required positional argument: 'x'"),
        ((x,), {"to": 1}, "got an unexpected keyword argument 'to'"),
        ((x, 1), {}, "takes 1 positional argument but 2 "),
    ]:
        with pytest.raises(TypeError, match=text):
            scaled(*given, **named)
    copied = types.FunctionType(scaled.__code__, {}, "copied", None, scaled.__closure__)
    assert torch.equal(copied(x, by=5), x * 5)  # its code does the same


def test_methods():
    layer, x = Layer(), torch.ones(2)
    bound = layer.method
    assert bound.__self__ is layer and list(inspect.signature(bound).parameters) == ["x", "plus"]
    for _ in range(3):
        assert torch.equal(layer.method(x), x * 3 + 1) and torch.equal(bound(x, plus=2), x * 3 + 2)
        assert torch.equal(Layer.method(layer, x, 5), x * 3 + 5)
        assert torch.equal(layer.static(x), x + 1) and torch.equal(Layer.of_class(x), x + 3)


def test_calls_look_at_what_is_set_around_them():
    compiled, x = torch.compile(lambda x: x * 2 + 1), torch.ones(2)

    def deferred():
        before = counts["deferred"]
        assert torch.equal(compiled(x), x * 2 + 1)
        return counts["deferred"] - before

    assert [deferred() for _ in range(3)] == [0, 2, 2]
    with torch.compiler.set_stance("force_eager"):
        assert deferred() == 0
    assert deferred() == 2
    torch.compiler.reset()
    assert [deferred() for _ in range(2)] == [0, 2]
    torch._dynamo.explain(compiled)(x)
    assert deferred() == 2


def test_functions_that_nobody_has_are_collected():
    compiled = torch.compile(lambda x: x + 1)
    compiled(torch.ones(2))
    gone = weakref.ref(compiled._shim_compiled)
    del compiled
    gc.collect()
    assert gone() is None
