"""Which ``__torch_function__`` overrides are on, as one value: ``torch._C._TorchFunctionState``."""

from __future__ import annotations

from enum import Enum
from typing import Any

from shim_torch._impl.native import _core


class _TorchFunctionState(Enum):
    ENABLED = 0
    SUBCLASSES_DISABLED = 1
    ALL_DISABLED = 2

    def __repr__(self) -> str:
        return f"<{self}: {self.value}>"


_TorchFunctionState.__module__ = "torch._C"
_PAIRS = {(False, False): 0, (True, False): 1, (True, True): 2}  # (subclasses', all) overrides are disabled


def _get_torch_function_state() -> _TorchFunctionState:
    """The state of the calling thread."""
    pair = _core._set_torch_function_disabled(True, True)
    _core._set_torch_function_disabled(*pair)
    return _TorchFunctionState(_PAIRS[bool(pair[0]), bool(pair[1])])


def _set_torch_function_state(state: _TorchFunctionState) -> None:
    _core._set_torch_function_disabled(state.value > 0, state.value > 1)


def _is_torch_function_all_disabled() -> bool:
    return _get_torch_function_state() is _TorchFunctionState.ALL_DISABLED


def _default_context() -> Any:
    """The mode as which PyTorch keeps the default device, below all others; None without one."""
    from shim_torch._impl.tensor import python_functions

    device = python_functions._process_device
    if device is None:
        return None
    from shim_torch.utils._device import DeviceContext

    return DeviceContext(device)


def _len_torch_function_stack() -> int:
    """How many modes of functions are on, that of the default device with them."""
    return int(_core._len_torch_function_stack()) + (_default_context() is not None)


def _get_function_stack_at(index: int) -> Any:
    """The mode at a place, the innermost last."""
    context = _default_context()
    if context is None:
        return _core._get_function_stack_at(index)
    return context if index == 0 else _core._get_function_stack_at(index - 1)
