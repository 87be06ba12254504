"""Attributes and calls of modules are C++ (native/src/python/nn_module.cpp) while a class has Module's own methods; whatever a class,
an instance or a patch of Module puts in their place is what runs."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Generic, TypeVar

import pytest

import shim_torch as torch
from shim_torch import nn

X = torch.ones(2)


class Plus(nn.Module):
    def __init__(self, n=1.0):
        super().__init__()
        self.weight = nn.Parameter(torch.full((2,), n))
        self.register_buffer("count", torch.zeros(()))
        self.inner = nn.Identity()

    def forward(self, x, *more, scale=1.0, **named):
        return (self.inner(x) + self.weight + sum(more) + sum(named.values())) * scale


def value(t):
    return float(t.detach().sum())


def test_attributes():
    m = Plus()
    assert m.weight is m._parameters["weight"] and m.count is m._buffers["count"] and m.inner is m._modules["inner"]
    assert m.training is True and m.forward.__self__ is m
    with pytest.raises(AttributeError, match="^'Plus' object has no attribute 'nothing'$"):
        _ = m.nothing
    assert not hasattr(m, "nothing") and getattr(m, "nothing", 3) == 3
    with pytest.raises(AttributeError, match="has no attribute 'weight'"):
        _ = Plus.__new__(Plus).weight


def test_what_an_instance_has_comes_first():
    m = Plus()
    m.__dict__["weight"] = 5
    assert m.weight == 5
    del m.__dict__["weight"]
    assert isinstance(m.weight, nn.Parameter)


def test_properties_that_fail_fall_back_to_tables():
    class Odd(Plus):
        @property
        def weight(self):
            raise AttributeError("not this one")

        @property
        def other(self):
            raise AttributeError("nor this one")

    m = Odd.__new__(Odd)
    nn.Module.__init__(m)
    m._parameters["weight"] = nn.Parameter(torch.ones(2))
    assert m.weight is m._parameters["weight"]
    with pytest.raises(AttributeError, match="'Odd' object has no attribute 'other'"):
        _ = m.other


def test_getattr_of_a_subclass():
    class Lazy(Plus):
        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                if not name.startswith("any"):
                    raise
                return "made " + name

    m = Lazy()
    assert m.anything == "made anything" and isinstance(m.weight, nn.Parameter) and value(m(X)) == 4

    class Watching(Plus):
        seen: list = []

        def __getattribute__(self, name):
            type(self).seen.append(name)
            return super().__getattribute__(name)

    m = Watching()
    assert isinstance(m.weight, nn.Parameter) and "weight" in Watching.seen


def test_getattr_that_is_put_on_a_class_later(monkeypatch):
    class Later(Plus):
        pass

    m, other = Later(), Plus()
    assert isinstance(m.weight, nn.Parameter)
    Later.__getattr__ = lambda self, name: name.upper()
    assert m.weight == "WEIGHT"
    del Later.__getattr__
    assert isinstance(m.weight, nn.Parameter)
    with monkeypatch.context() as patch:
        patch.setattr(nn.Module, "__getattr__", lambda self, name: "patched")
        assert m.weight == "patched" and other.count == "patched"
    assert isinstance(m.weight, nn.Parameter)


def test_tables_of_other_classes():
    class Loud(OrderedDict):
        def __getitem__(self, name):
            return "loud " + name

    m = Plus()
    m.__dict__["_parameters"] = Loud(m._parameters)
    assert m.weight == "loud weight"
    m.__dict__["_parameters"] = OrderedDict(other=1)
    assert m.other == 1


def test_calls():
    m = Plus()
    assert value(m(X)) == 4 and value(m(X, 1, 2)) == 10
    assert value(m(X, scale=2.0)) == 8 and value(m(X, 1, scale=2.0, a=1)) == 16
    assert value(m(X, *range(9), **{f"k{i}": i for i in range(9)})) == 148
    assert value(m(x=X)) == 4
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        m()
    with pytest.raises(NotImplementedError, match='missing the required "forward" function'):
        nn.Module()(X)


def test_forward_of_an_instance_and_other_kinds():
    m = Plus()
    m.forward = lambda x: x * 0
    assert value(m(X)) == 0
    del m.forward
    assert value(m(X)) == 4

    class Static(nn.Module):
        forward = staticmethod(lambda x: x * 3)

    class Of(nn.Module):
        @classmethod
        def forward(cls, x):
            return cls, x

    class Callable_:
        def __call__(self, x):
            return x * 7

    class Attribute(nn.Module):
        forward = Callable_()

    assert value(Static()(X)) == 6 and Of()(X)[0] is Of and value(Attribute()(X)) == 14


def test_hooks_of_instances_and_of_all_modules():
    m, seen = Plus(), []
    handles = [
        m.register_forward_pre_hook(lambda m, a: seen.append("before")),
        m.register_forward_hook(lambda m, a, y: y * 0),
    ]
    assert value(m(X)) == 0 and seen == ["before"]
    for one in handles:
        one.remove()
    assert value(m(X)) == 4
    everywhere = nn.modules.module.register_module_forward_hook(lambda m, a, y: seen.append(type(m).__name__))
    m(X)
    everywhere.remove()
    m(X)
    assert seen == ["before", "Identity", "Plus"]


def test_calls_that_are_put_in_place(monkeypatch):
    class Own(Plus):
        def __call__(self, x):
            return "own", super().__call__(x)

    assert Own()(X)[0] == "own"

    class Inner(Plus):
        def _call_impl(self, x):
            return "inner"

    assert Inner()(X) == "inner"
    m = Plus()
    m._call_impl = lambda x: "of the instance"
    assert m(X) == "of the instance"
    del m._call_impl
    original = nn.Module.__call__
    with monkeypatch.context() as patch:
        patch.setattr(nn.Module, "__call__", lambda self, *a: ("patched", original(self, *a)))
        assert nn.Identity()(X)[0] == "patched" and nn.Sequential()(X)[0] == "patched"
    assert value(m(X)) == 4
    with monkeypatch.context() as patch:
        patch.setattr(nn.Module, "_call_impl", lambda self, *a: "all")
        assert m(X) == "all"
    assert value(m(X)) == 4
    m.compile(backend="eager")
    assert m._compiled_call_impl is not None and value(m(X)) == 4


def test_classes_of_other_kinds():
    T = TypeVar("T")

    class Meta(type):
        pass

    class First(nn.Module, Generic[T], metaclass=Meta):
        def forward(self, x):
            return x

    class Second(Generic[T], nn.Module):
        def __init_subclass__(cls, tag=None):  # does not ask the others
            cls.tag = tag

        def forward(self, x):
            return x

    class Third(Second[int], tag="t"):
        pass

    for cls in (First, First[int], Second, Third):
        assert value(cls()(X)) == 2
    assert Third.tag == "t"
    m = Third()
    m.part = nn.Identity()
    assert m.part is m._modules["part"]
    with pytest.raises(TypeError, match="takes no keyword arguments"):
        type("Wrong", (nn.Module,), {}, what=1)


def test_errors_copies_and_pickles():
    class Failing(nn.Module):
        def forward(self, x):
            raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        Failing()(X)
    for other in (copy.deepcopy(Plus(2.0)), pickle.loads(pickle.dumps(Plus(2.0)))):
        assert value(other(X)) == 6 and isinstance(other.weight, nn.Parameter)


def test_deep_nesting_ends_in_a_recursion_error():
    class Again(nn.Module):
        def forward(self, x):
            return self(x)

    with pytest.raises(RecursionError):
        Again()(X)
