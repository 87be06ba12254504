"""What ``torch.overrides`` says can be overridden, called with something that overrides it."""

from __future__ import annotations

import copy
import inspect

import pytest

import shim_torch as torch
from shim_torch import overrides


class Like:
    """No tensor, but ``__torch_function__`` answers for it."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return -1


class Odd(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return -1


def required(function):
    return [
        p
        for p in inspect.signature(overrides.get_testing_overrides()[function]).parameters.values()
        if p.default is p.empty
    ]


@pytest.mark.parametrize("space", [torch.special, torch.fft], ids=["special", "fft"])
def test_every_function_of_a_namespace_asks(space):
    for function in overrides.get_overridable_functions()[space]:
        assert function(*[Like() for _ in required(function)]) == -1, function


def test_every_operator_method_asks():
    met = 0
    for function in overrides.get_overridable_functions()[torch.Tensor]:
        if function.__name__ in (
            "add",
            "abs",
            "mul_",
            "__add__",
            "__getitem__",
            "__radd__",
            "view",
            "item",
            "register_hook",
        ):
            met += 1
            assert function(*[Odd(torch.ones(2)) for _ in required(function)]) == -1, function
    assert met == 9


def test_names_lead_back_to_the_functions():
    spaces = overrides.get_overridable_functions()
    for function in [f for of_space in spaces.values() for f in of_space]:
        assert eval(overrides.resolve_name(function), {"torch": torch}) == function
    assert overrides.resolve_name(torch.Tensor.grad.__get__) == "torch.Tensor.grad.__get__"
    assert overrides.resolve_name(torch.functional.split) == "torch.functional.split"
    assert overrides.resolve_name(len) is None


def test_kinds():
    assert overrides.is_tensor_method_or_property(torch.Tensor.add)
    assert overrides.is_tensor_method_or_property(torch.Tensor.shape.__get__)
    assert not overrides.is_tensor_method_or_property(torch.add)
    ignored = overrides.get_ignored_functions()
    assert torch.zeros in ignored and torch.Tensor.stride in ignored and torch.add not in ignored
    assert not ignored & set(overrides.get_testing_overrides())


def test_a_mode_whose_handler_is_a_classmethod_is_refused():
    class Mode(overrides.TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(RuntimeError, match="classmethod is not supported, please make it a plain method"), Mode():
        pass


def test_modes_see_constructors_and_what_modules_parse():
    class Mode(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return -1

    with Mode():
        assert torch.sparse_coo_tensor(1, 1, 1) == torch.sparse_csr_tensor(1, 1, 1) == -1
        assert torch._C._nn._parse_to("cpu") == -1


def test_a_mode_sees_no_types_while_subclasses_are_off():
    def function(a):
        return overrides.handle_torch_function(function, (a,), a) if overrides.has_torch_function((a,)) else a

    class Mode(overrides.TorchFunctionMode):
        def __init__(self):
            self.types = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.types.append(types)
            return NotImplemented if types else func(*args, **(kwargs or {}))

    class Sub(torch.Tensor):
        pass

    with Mode() as mode:
        assert type(function(Sub())) is Sub
    assert mode.types == [(Sub,), ()]


def test_overrides_are_switched_on_again():
    class Sub(torch.Tensor):
        pass

    x = Sub(torch.ones(2))
    with torch._C.DisableTorchFunctionSubclass():
        on = torch._C._EnableTorchFunction()
        assert type(torch.sum(x)) is Sub
        del on
        assert type(torch.sum(x)) is torch.Tensor


def test_a_tensor_of_a_tensor_is_a_view_with_history():
    x = torch.ones(2, requires_grad=True)
    same = torch.Tensor(x)
    assert same._base is x and same.grad_fn is not None
    same.sum().backward()
    assert x.grad.tolist() == [1, 1]
    assert torch.FloatTensor(x).requires_grad and x.new(x).requires_grad


def test_stream_of_the_cpu():
    s = torch.Stream("cpu")
    assert s.device == torch.device("cpu") and s.query() and s == torch.Stream(device="cpu", priority=1)
    assert repr(s) == "torch.Stream device_type=cpu, device_index=-1, stream_id=0"
    assert (
        isinstance(s, torch.Stream)
        and issubclass(torch.cuda.Stream, torch.Stream)
        and not isinstance(s, torch.cuda.Stream)
    )
    other = torch.Stream(stream_id=1, device_index=2, device_type=14)
    assert (other.stream_id, other.device_index, other.device_type, other.device) == (1, 2, 14, torch.device("meta", 2))
    with s as entered, pytest.raises(RuntimeError, match="cpu backend doesn't support events."):
        entered.record_event()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.bmm(x, x, torch.float32),
        lambda x: torch.baddbmm(x, x, x, out_dtype=torch.float32),
    ],
)
def test_products_to_another_dtype_are_cudas(call):
    with pytest.raises(NotImplementedError, match="with arguments from the 'CPU' backend"):
        call(torch.ones(1, 2, 2))


def test_chain_matmul_asks_its_list():
    assert torch.chain_matmul([Like(), Like()]) == torch.chain_matmul(Like(), Like()) == -1


def test_methods_copy_as_themselves():
    for name in ("__getitem__", "add", "norm", "unique"):
        method = getattr(torch.Tensor, name)
        assert copy.deepcopy(method) is method
        assert copy.copy(method) is method
