"""The arguments of ``Tensor.to`` and ``Module.to``."""

from __future__ import annotations

from typing import Any

from native import _core
from shim_torch._arguments import as_dtype


def parse_to(
    *args: Any,
    device: Any = None,
    dtype: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
    other: Any = None,
    tensor: Any = None,
) -> tuple[Any, Any, bool, Any]:
    """(device or None, dtype or None, non_blocking, memory_format or None) of to(device), to(dtype), to(other), ..."""
    given, dtype = [as_dtype(a) for a in args], as_dtype(dtype)
    if other is None and tensor is not None:
        other = tensor
    if given and isinstance(given[0], _core.TensorBase):
        other = given.pop(0)
    elif given and isinstance(given[0], _core.dtype):
        dtype = given.pop(0)
    elif given and (
        given[0] is None or isinstance(given[0], (_core.device, str, int)) and not isinstance(given[0], bool)
    ):
        device = given.pop(0)
        if given and (given[0] is None or isinstance(given[0], _core.dtype)):
            dtype = given.pop(0)
    elif given:
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({type(given[0]).__name__}), but expected one of:\n"
            " * (torch.device device, torch.dtype dtype, bool non_blocking, bool copy, *, torch.memory_format memory_format)\n"
            " * (torch.dtype dtype, bool non_blocking, bool copy, *, torch.memory_format memory_format)\n"
            " * (Tensor tensor, bool non_blocking, bool copy, *, torch.memory_format memory_format)\n"
        )
    if given:
        non_blocking = bool(given.pop(0))
    if other is not None:
        device, dtype = other.device, other.dtype
    if device is not None and not isinstance(device, _core.device):
        device = _core.device(device)
    return device, dtype, non_blocking, memory_format
