"""Argument checks of TypedStorage and of the classes of one dtype, with PyTorch's error texts."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Sequence
from typing import Any

from shim_torch._impl.native import _core

_TYPED = """TypedStorage.__init__ received an invalid combination of arguments. Expected one of:
 * (*, torch.device device, torch.dtype dtype)
 * (int size, *, torch.device device, torch.dtype dtype)
 * (Sequence data, *, torch.device device, torch.dtype dtype)
 * (*, UntypedStorage wrap_storage, torch.dtype dtype)
"""
_LEGACY = """.__new__ received an invalid combination of arguments. Expected one of:
 * no arguments
 * (int size)
 * (Sequence data)
 * (*, UntypedStorage wrap_storage)
"""


def _common(head: str, args: tuple[Any, ...], wrapped: Any) -> None:
    if wrapped is not None:
        if args:
            raise RuntimeError(f"{head}No positional arguments should be given when using 'wrap_storage'")
        if not isinstance(wrapped, _core.UntypedStorage):
            raise TypeError(f"{head}Argument 'wrap_storage' must be UntypedStorage, but got {type(wrapped)}")
    elif len(args) > 1:
        raise RuntimeError(f"{head}Too many positional arguments")
    elif args and isinstance(args[0], (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(args[0]).__name__}'")
    elif args and not isinstance(args[0], Sequence) and not _is_count(args[0]):
        raise TypeError(f"{head}Argument type not recognized: {type(args[0])}")


def _is_count(given: Any) -> bool:
    try:
        return operator.index(given) is not None and not isinstance(given, _core.TensorBase)
    except TypeError:
        return False


def place_of(index: Any, count: int, storage: Any, kind: Any) -> int:
    """An index of one element; TypeError for what is no int, IndexError for one beyond the ``count`` that there are."""
    if isinstance(index, bool) or not isinstance(index, numbers.Integral):  # which NumPy's integers are
        raise TypeError(f"can't index a {storage} with {kind}")
    place = int(index)
    if not -count <= place < count:
        raise IndexError(f"index {place} out of range for storage of size {count}")
    return place


def check_typed(args: tuple[Any, ...], wrapped: Any, dtype: Any, device: Any) -> None:
    """Refuses arguments of TypedStorage() that do not go together."""
    _common(_TYPED, args, wrapped)
    if wrapped is not None and dtype is None:
        raise RuntimeError(f"{_TYPED}Argument 'dtype' must be specified")
    if dtype is not None and not isinstance(dtype, _core.dtype):
        raise TypeError(f"{_TYPED}Argument 'dtype' must be torch.dtype, not {type(dtype)}")
    if wrapped is not None and device is not None:
        raise RuntimeError(f"{_TYPED}Argument 'device' should not be specified when 'wrap_storage' is given")
    if device is not None:
        kind = device if isinstance(device, _core.device) else _core.device(device)
        if kind.type not in ("cpu", "cuda", "meta"):
            raise RuntimeError(f"torch.UntypedStorage(): Storage device not recognized: {kind.type}")


def check_legacy(cls: Any, args: tuple[Any, ...], wrapped: Any, others: dict[str, Any]) -> None:
    """Refuses arguments of FloatStorage() and its like."""
    head = f"{cls}{_LEGACY}"
    for name in others:
        if name in ("device", "dtype"):
            raise RuntimeError(f"{head}Keyword argument '{name}' cannot be specified")
        if name != "_internal":
            raise TypeError(f"TypedStorage.__new__() got an unexpected keyword argument '{name}'")
    _common(head, args, wrapped)
    if wrapped is not None and wrapped.device.type != cls._device_type:
        raise RuntimeError(f"{head}Device of 'wrap_storage' must be {cls._device_type}, but got {wrapped.device.type}")


def not_for_cuda(name: str) -> Any:
    """A static method that storages on CUDA do not have."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"{name}: Not available for CUDA storage")

    return staticmethod(refuse)


class OnlyChildren:
    """``_LegacyStorage``, which has no instances of its own."""

    def __new__(cls, *_: Any, **__: Any) -> Any:
        raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
