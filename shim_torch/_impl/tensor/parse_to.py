"""The arguments of ``Tensor.to`` and ``Module.to``."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.arguments import as_dtype

_REST = "bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)"


def _refused(args: tuple[Any, ...]) -> TypeError:
    """The error for arguments that no form takes."""
    got = ", ".join(
        f"torch.{type(a).__name__}" if isinstance(a, (_core.dtype, _core.device)) else type(a).__name__ for a in args
    )
    return TypeError(
        f"to() received an invalid combination of arguments - got ({got}), but expected one of:\n"
        f" * (torch.device device = None, torch.dtype dtype = None, {_REST}\n * (torch.dtype dtype, {_REST}\n"
        f" * (Tensor tensor, {_REST}\n"
    )


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
        if given:
            if given[0] is not None and not isinstance(given[0], _core.dtype):
                raise _refused(args)
            dtype = given.pop(0)
    elif given:
        raise _refused(args)
    if len(args) > 4:
        raise TypeError(f"to() takes from 0 to 4 positional arguments but {len(args)} were given")
    if not all(isinstance(x, bool) for x in given):
        raise _refused(args)
    if given:
        non_blocking = given.pop(0)
    if other is not None:
        device, dtype = other.device, other.dtype
    if device is not None and not isinstance(device, _core.device):
        device = _core.device(device)
    return device, dtype, non_blocking, memory_format
