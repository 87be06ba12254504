"""PyTorch's errors for arguments of functions written in Python; of its own the operator table says the same."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core

_TORCH_TYPES = (_core.dtype, _core.device, _core.layout, _core.memory_format, _core.Size)


def type_name(value: Any) -> str:
    """The type as errors name it: NoneType, Tensor, torch.dtype."""
    name = type(value).__name__
    return f"torch.{name}" if isinstance(value, _TORCH_TYPES) else name


_PYTHON_TYPES = {float: _core.float64, int: _core.int64, bool: _core.bool, complex: _core.complex128}


def as_dtype(given: Any) -> Any:
    """What ``dtype=`` means where Python's own number types may stand for a dtype; anything else unchanged."""
    return _PYTHON_TYPES.get(given, given) if isinstance(given, type) else given


def refuse_type(value: Any, function: str, argument: str, position: int | None, wanted: str) -> None:
    """Raises the TypeError that says what the argument must be, and what was given."""
    where = "" if position is None else f" (position {position})"
    raise TypeError(f"{function}(): argument '{argument}'{where} must be {wanted}, not {type_name(value)}")


def need_tensor(value: Any, function: str, argument: str = "input", position: int | None = 1) -> None:
    """TypeError unless ``value`` is a tensor, or something that answers ``__torch_function__`` as one."""
    if not isinstance(value, _core.TensorBase) and not hasattr(type(value), "__torch_function__"):
        refuse_type(value, function, argument, position, "Tensor")


def need_tensors(values: Any) -> None:
    """TypeError unless every element of a function's first argument is a tensor."""
    for i, t in enumerate(values):
        if not isinstance(t, _core.TensorBase):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_name(t)}")


def refuse_one(value: Any, function: str) -> Any:
    """Raises the TypeError of a function that takes one tensor or several."""
    raise TypeError(
        f"{function}() received an invalid combination of arguments - got ({type_name(value)}), but expected one of:\n"
        " * (Tensor input)\n * (tuple of Tensors tensors)\n"
    )


def need_bool(value: Any, function: str, argument: str, position: int | None = 1) -> None:
    """TypeError unless ``value`` is True or False."""
    if not isinstance(value, bool):
        refuse_type(value, function, argument, position, "bool")


def need_int(value: Any, function: str, argument: str, position: int | None = 1) -> None:
    """TypeError unless ``value`` is an integer: Python's, NumPy's or a tensor of one; True and False are none."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        refuse_type(value, function, argument, position, "int")


def need_dtype(value: Any, function: str, argument: str, position: int | None = None) -> None:
    """TypeError unless ``value`` is a torch.dtype."""
    if not isinstance(value, _core.dtype):
        refuse_type(value, function, argument, position, "torch.dtype")


def need_device(value: Any, function: str, argument: str = "device", position: int | None = None) -> None:
    """TypeError unless ``value`` is what a device is made of: a torch.device, a string or the number of a GPU."""
    if isinstance(value, bool) or not isinstance(value, (_core.device, str, int)):
        refuse_type(value, function, argument, position, "torch.device")


def need_str(value: Any, function: str, argument: str, position: int | None = 1) -> None:
    """TypeError unless ``value`` is a string."""
    if not isinstance(value, str):
        refuse_type(value, function, argument, position, "str")


def need_two(dims: Any) -> None:
    """RuntimeError unless they are what tensordot sums over: the dims of one tensor and those of the other."""
    if not isinstance(dims, (list, tuple)) or len(dims) != 2:
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, but got "
            f"dims={dims}"
        )
