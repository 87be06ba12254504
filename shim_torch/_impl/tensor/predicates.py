"""Questions about tensors: functions of ``torch`` that are not operators."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._impl.table.arguments import need_tensor

Tensor = _core.Tensor
_overridden = _core._has_torch_function_unary
__all__ = [
    "is_tensor", "is_storage", "is_floating_point", "is_complex", "is_signed", "is_conj", "is_neg",
    "is_inference", "is_nonzero", "is_same_size",
]  # fmt: skip


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether ``obj`` is a storage."""
    return isinstance(obj, _core.UntypedStorage) or type(obj).__name__ == "TypedStorage"


def is_floating_point(input: Any) -> bool:
    """Whether the dtype is a real floating point one; complex is none."""
    if _overridden(input):
        return _core._handle_torch_function(is_floating_point, (input,), input)
    need_tensor(input, "is_floating_point")
    return input.is_floating_point()


def is_complex(input: Any) -> bool:
    """Whether the dtype is complex."""
    if _overridden(input):
        return _core._handle_torch_function(is_complex, (input,), input)
    need_tensor(input, "is_complex")
    return input.is_complex()


def is_signed(input: Any) -> bool:
    """Whether the dtype has negative numbers."""
    if _overridden(input):
        return _core._handle_torch_function(is_signed, (input,), input)
    need_tensor(input, "is_signed")
    return input.is_signed()


def is_conj(input: Any) -> bool:
    """Whether the tensor's memory has the conjugates of its values."""
    if _overridden(input):
        return _core._handle_torch_function(is_conj, (input,), input)
    need_tensor(input, "is_conj")
    return input.is_conj()


def is_neg(input: Any) -> bool:
    """Whether the tensor's memory has the negatives of its values."""
    if _overridden(input):
        return _core._handle_torch_function(is_neg, (input,), input)
    need_tensor(input, "is_neg")
    return input.is_neg()


def is_inference(input: Any) -> bool:
    """Whether the tensor was made in inference mode, so that autograd cannot use it."""
    if _overridden(input):
        return _core._handle_torch_function(is_inference, (input,), input)
    need_tensor(input, "is_inference")
    return input.is_inference()


def is_nonzero(input: Any) -> bool:
    """The truth of a one-element tensor."""
    if _overridden(input):
        return _core._handle_torch_function(is_nonzero, (input,), input)
    need_tensor(input, "is_nonzero")
    return bool(input)


def is_same_size(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape."""
    if _overridden(input) or _overridden(other):
        return _core._handle_torch_function(is_same_size, (input, other), input, other)
    need_tensor(input, "is_same_size")
    need_tensor(other, "is_same_size", "other", 2)
    return input.shape == other.shape


naming.present(globals(), "torch")
