"""``torch._check`` and its like: conditions with an error of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core


def _fail(error: type[Exception], message: Callable[[], object] | str | None) -> None:
    if message is None:
        raise error(
            "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an enhancement request to PyTorch.)"
        )
    if isinstance(message, str):
        raise TypeError("message must be a callable")
    raise error(str(message()))


def _check_with(error_type: type[Exception], cond: Any, message: Callable[[], object] | None = None) -> None:
    """``error_type`` with ``message()`` unless ``cond``, which is a bool."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        _fail(error_type, message)


def _make(name: str, error: type[Exception]) -> Callable[..., None]:
    def check(cond: Any, message: Callable[[], object] | None = None) -> None:
        _check_with(error, cond, message)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"{error.__name__} with ``message()`` unless ``cond``."
    return check


_check = _make("_check", RuntimeError)
_check_index = _make("_check_index", IndexError)
_check_value = _make("_check_value", ValueError)
_check_type = _make("_check_type", TypeError)
_check_not_implemented = _make("_check_not_implemented", NotImplementedError)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Callable[[], object] | None = None) -> None:
    """``error_type`` unless every element of a bool tensor holds."""
    if not hasattr(cond, "dtype"):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if str(cond.dtype) != "torch.bool":
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all()), message)


def _check_tensor_all(cond: Any, message: Callable[[], object] | None = None) -> None:
    """RuntimeError unless every element of a bool tensor holds."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _test_check_tensor(x: Any) -> Any:
    """The check of a tensor's elements with a message of its own, for tests of checks."""
    _check_tensor_all(x, lambda: "Test message for TORCH_CHECK_TENSOR_ALL")
    return x.clone()


def _check_is_size(i: Any, message: Callable[[], object] | None = None, *, max: Any = None) -> None:
    """RuntimeError unless ``0 <= i`` (and ``i <= max``)."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _assert(condition: Any, message: str) -> Any:
    """AssertionError unless the condition holds; the ``__torch_function__`` of a condition handles the call."""
    if type(condition) is not bool:
        if _core._has_torch_function((condition,)):
            return _core._handle_torch_function(_assert, (condition,), condition, message)
    if not condition:
        raise AssertionError(message)
    return None
