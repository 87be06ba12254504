"""The class of ``.data`` and ``detach()``: as __torch_function__ gives it, a plain tensor where that is disabled."""

from __future__ import annotations

import pytest

import shim_torch as torch


class Sub(torch.Tensor):
    pass


class Plain(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


class Weight(torch.nn.Parameter):
    pass


class Quantized(torch.nn.Parameter):
    """As quantization libraries write it: what changes a weight's device is overridden."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})

    def to(self, *args, **kwargs):
        return "quantized " + str(self.data.contiguous().to("cpu").tolist())


def made(cls):
    return torch.Tensor._make_subclass(cls, torch.tensor([1.0, 2.0]), False)


@pytest.mark.parametrize(("cls", "kept"), [(Sub, True), (Plain, False), (Weight, False), (Quantized, False)])
def test_class(cls, kept):
    t = made(cls)
    expected = cls if kept else torch.Tensor
    for result in (t.data, t.detach(), torch.detach(t)):
        assert type(result) is expected and result.tolist() == [1, 2] and result.data_ptr() == t.data_ptr()
    assert type(t.contiguous()) is cls


def test_a_method_that_uses_data_does_not_meet_itself():
    assert made(Quantized).to("cpu") == "quantized [1.0, 2.0]"


def test_subclasses_switched_off():
    t = made(Sub)
    with torch._C.DisableTorchFunctionSubclass():
        assert type(t.detach()) is torch.Tensor and type(t.data) is torch.Tensor
    assert type(t.detach()) is Sub
