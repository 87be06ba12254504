"""What modes of functions see of devices, and the warning of a ``__torch_function__`` that is a plain method."""

import pytest

import shim_torch as torch
from shim_torch.overrides import BaseTorchFunctionMode, TorchFunctionMode
from shim_torch.utils._device import DeviceContext


def test_a_mode_sees_devices_being_made():
    seen = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            if func is torch.device and args == (0,):
                args = ("meta",)
            return func(*args, **(kwargs or {}))

    with Mode():
        assert torch.device(0) == torch.device("meta")
        assert torch.device(type="cpu", index=1) == torch.device("cpu:1")
    assert torch.device in seen
    assert torch.device("cpu").type == "cpu"


def test_the_default_device_is_the_lowest_mode():
    def stack():
        return [torch._C._get_function_stack_at(i) for i in range(torch._C._len_torch_function_stack())]

    assert stack() == []
    mode = BaseTorchFunctionMode()
    try:
        torch.set_default_device("meta")
        with mode:
            torch.set_default_device("cpu")
            context, other = stack()
            assert isinstance(context, DeviceContext) and context.device == torch.device("cpu") and other is mode
        assert len(stack()) == 1
    finally:
        torch.set_default_device(None)
    assert stack() == []


def test_a_plain_method_is_warned_of():
    class Plain:
        def __torch_function__(self, *args, **kwargs):
            return "answered"

    with pytest.warns(DeprecationWarning, match="as a plain method is deprecated"):
        assert torch.nn.functional.dropout(Plain()) == "answered"
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="as a plain method is deprecated"):
            assert torch.abs(Plain()) == "answered"
    finally:
        torch.set_warn_always(False)
