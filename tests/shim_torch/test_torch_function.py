"""``__torch_function__`` and modes: who is asked before an operator runs."""

import threading

import pytest
from table import f, tensor, values

from shim_torch import overrides
from shim_torch._impl.native import _core


@pytest.fixture
def x():
    return tensor([[1, 2, 3], [4, 5, 6]])


class Sub(_core.Tensor):
    seen: list = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append((func.__name__, types))
        return super().__torch_function__(func, types, args, kwargs or {})


class Foreign:
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return "foreign", func.__name__


class TestTorchFunction:
    def test_subclass_results(self, x):
        Sub.seen.clear()
        s = x.as_subclass(Sub)
        result = f.tanh(s)
        assert type(result) is Sub and Sub.seen == [("tanh", (Sub,))]
        assert values(result) == values(f.tanh(x))
        with overrides.DisableTorchFunctionSubclass():
            assert type(f.tanh(s)) is _core.Tensor
        assert len(Sub.seen) == 1

    def test_foreign_objects(self, x):
        assert f.add(x, Foreign()) == ("foreign", "add")
        assert f.cat([x, Foreign()]) == ("foreign", "cat")
        assert overrides.has_torch_function((x, Foreign())) and not overrides.has_torch_function((x, 1))
        assert overrides.handle_torch_function(f.add, (Foreign(),), x, 1) == ("foreign", "add")

    def test_modes_nest(self, x):
        calls = []

        class Mode(overrides.TorchFunctionMode):
            def __init__(self, name):
                self.name = name

            def __torch_function__(self, func, types, args=(), kwargs=None):
                calls.append((self.name, func.__name__))
                return func(*args, **(kwargs or {}))

        with Mode("outer"), Mode("inner"):
            f.tanh(x)
        f.tanh(x)
        assert calls == [("inner", "tanh"), ("outer", "tanh")]


class TestModes:
    def test_default_device(self):
        with _core.device("meta"):
            assert f.zeros(2).device.type == "meta"
            assert f.zeros(2, device="cpu").device.type == "cpu"
        assert f.zeros(2).device.type == "cpu"
        _core.set_default_device("meta")
        try:
            assert f.zeros(2).device.type == "meta" and _core.get_default_device().type == "meta"
        finally:
            _core.set_default_device(None)

    def test_autocast_state_is_of_the_thread(self):
        found = []
        _core.set_autocast_enabled("cpu", True)
        try:
            other = threading.Thread(target=lambda: found.append(_core.is_autocast_enabled("cpu")))
            other.start()
            other.join()
            assert _core.is_autocast_enabled("cpu") and found == [False]
            assert _core.get_autocast_dtype("cpu") is _core.bfloat16
        finally:
            _core.set_autocast_enabled("cpu", False)


def test_symbols_leave_the_word_to_the_other_side(x):
    add, radd = _core.symbol_method("__add__", "tst::add"), _core.symbol_method("__radd__", "tst::add", True)
    assert values(add(x, 1)) == [[2, 3, 4], [5, 6, 7]]
    assert values(radd(x, 1)) == [[2, 3, 4], [5, 6, 7]]
    assert add(x, "a") is NotImplemented
