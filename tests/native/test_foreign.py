"""Tensors of a PyTorch that shares the process: told apart, refused with what to do, never taken for ours."""

from __future__ import annotations

import re

import pytest

import shim_torch as torch

Base = type("torch._C.TensorBase", (), {})  # tp_name of PyTorch's static type


class Tensor(Base):  # type: ignore[misc, valid-type]
    """As PyTorch's: its default handler calls the function again."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda t, x: torch.add(t, x), "torch.add"),
        (lambda t, x: torch.stack([t, x]), "torch.stack"),
        (lambda t, x: torch.nn.functional.linear(x, t), "torch.nn.functional.linear"),
        (lambda t, x: t.copy_(x), "torch.Tensor.copy_"),
        (lambda t, x: torch.add(t, t, out=x), "torch.add"),
        (lambda t, x: torch.nn.functional.cross_entropy(x, t), "torch.nn.functional.cross_entropy"),
    ],
)
def test_a_foreign_tensor_is_refused(call, name):
    text = f"{name}: got a Tensor of the PyTorch that is installed here; "
    with pytest.raises(TypeError, match=re.escape(text) + ".*from_dlpack"):
        call(torch.ones(2, 2), Tensor())


def test_foreign_dtypes_and_devices_are_told_apart():
    dtype, device = type("torch.dtype", (), {})(), type("torch.device", (), {})()
    with pytest.raises(
        TypeError, match="must be torch.dtype, not torch.dtype of the PyTorch that is installed here; give"
    ):
        torch.ones(2, dtype=dtype)
    with pytest.raises(TypeError, match=r"of the PyTorch that is installed here; give str\(device\)"):
        torch.ones(2, device=device)


def test_assigning_a_foreign_tensor():
    Real = type("Tensor", (Base,), {"__module__": "torch"})
    with pytest.raises(TypeError, match="can't assign a torch.Tensor to a torch.FloatTensor; .*from_dlpack"):
        torch.zeros(2)[0] = Real()


def test_a_foreign_function_over_our_tensors_is_refused():
    def relu(x):  # as PyTorch's functions ask the handlers of types that they do not know
        return type(x).__torch_function__(relu, (type(x),), (x,), {})

    relu.__module__ = "torch.nn.functional"
    with pytest.raises(
        TypeError, match="torch.nn.functional.relu of the PyTorch that is installed here was called with"
    ):
        relu(torch.ones(2))


def test_the_handler_of_subclasses_still_nests():
    class Logged(torch.Tensor):
        calls: list[str] = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls.append(func.__name__)
            inner = super().__torch_function__(func, types, args, kwargs)
            again = super().__torch_function__(func, types, args, kwargs)
            assert torch.equal(inner.as_subclass(torch.Tensor), again.as_subclass(torch.Tensor))
            return inner

    out = torch.add(torch.ones(2).as_subclass(Logged), 1)
    assert type(out) is Logged and out.as_subclass(torch.Tensor).tolist() == [2.0, 2.0] and "add" in Logged.calls

    def twice(x):
        with torch._C.DisableTorchFunctionSubclass():
            return torch.Tensor.__torch_function__(torch.add, (torch.Tensor,), (x, x), {})

    assert twice(torch.ones(2)).tolist() == [2.0, 2.0]
