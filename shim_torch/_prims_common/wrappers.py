"""``torch._prims_common.wrappers``."""

from __future__ import annotations

import inspect
import warnings
from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from shim_torch._impl.native import _core

__all__ = ["elementwise_type_promotion_wrapper", "elementwise_unary_scalar_wrapper", "out_wrapper"]

_OUT_MARK = "_torch_decompositions_out_wrapper"


def _maybe_convert_to_dtype(a: Any, dtype: Any) -> Any:
    """A tensor, a number or a sequence of them in another dtype; None stays None."""
    from shim_torch._prims_common import dtype_to_type

    match a:
        case _core.Tensor():
            return a.to(dtype)
        case list() | tuple():
            return tuple(_maybe_convert_to_dtype(x, dtype) for x in a)
        case int() | float() | complex():
            return dtype_to_type(dtype)(a)
        case None:
            return None
    raise ValueError(f"Received unsupported type {type(a)}. Expected TensorLike, Number, or Sequence.")


def _maybe_convert_to_type(a: Any, typ: type) -> Any:
    """A number as another type of number, where no value is lost by the kind. Errors: ValueError, TypeError."""
    order = {bool: 0, int: 1, float: 2, complex: 3}
    if not isinstance(a, (bool, int, float, complex)):
        raise AssertionError(f"Found unknown type {type(a)} when trying to convert scalars!")
    if order[type(a)] > order[typ]:
        raise AssertionError(f"Scalar {a} of type {type(a)} cannot be safely cast to type {typ}!")
    return typ(a)


def _resize_output_check(out: Any, shape: Sequence[int]) -> bool:
    """Whether ``out`` must be resized; warns where it has elements, as PyTorch does."""
    if tuple(out.shape) == tuple(shape):
        return False
    if out.numel() != 0:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {out.shape!s} "
            f"which does not match the required output shape {shape!s}. "
            "This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they have "
            "zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
            "t.resize_(0).",
            stacklevel=2,
        )
    return True


def _maybe_resize_out(out: Any, shape: Sequence[int], memory_format: Any = None) -> Any:
    """``out`` of the sizes ``shape``."""
    if not _resize_output_check(out, shape):
        return out
    return (
        out.resize_(tuple(shape)) if memory_format is None else out.resize_(tuple(shape), memory_format=memory_format)
    )


def is_cpu_scalar(x: Any) -> bool:
    """Whether a tensor is one number on the CPU."""
    return x.dim() == 0 and x.device.type == "cpu"


def check_copy_devices(*, copy_from: Any, copy_to: Any) -> None:
    """Raises RuntimeError where tensors are on different devices."""
    if copy_from.device != copy_to.device:
        raise RuntimeError(
            f"Attempting to copy from device {copy_from.device} to device {copy_to.device}, but cross-device copies are not allowed!"
        )


def _safe_copy_out(*, copy_from: Any, copy_to: Any, exact_dtype: bool = False) -> Any:
    """Writes a result into an out. Errors: RuntimeError where its dtype cannot hold it, or is another and must not be."""
    from shim_torch._prims_common import can_safe_cast_to

    if not is_cpu_scalar(copy_from):
        check_copy_devices(copy_from=copy_from, copy_to=copy_to)
    if exact_dtype and copy_from.dtype != copy_to.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {copy_from.dtype} but got {copy_to.dtype} instead")
    if not exact_dtype and not can_safe_cast_to(cast_from=copy_from.dtype, cast_to=copy_to.dtype):
        raise RuntimeError(
            f"Attempting to cast from {copy_from.dtype} to out tensor with dtype {copy_to.dtype}, "
            "but this can't be cast because it is not safe!"
        )
    return copy_to.copy_(copy_from)


def out_wrapper(
    *out_names: str, exact_dtype: bool = False, pass_is_out: bool = False, preserve_memory_format: bool = False
) -> Callable[[Any], Any]:
    """A decorator: gives a function ``out=``, one tensor or as many as there are names."""
    names = out_names or ("out",)
    single = len(names) == 1

    def decorate(fn: Any) -> Any:
        result_type: Any = None if single else namedtuple(f"return_types_{fn.__name__}", names)

        def run(*args: Any, out: Any = None, **kwargs: Any) -> Any:
            if pass_is_out:
                kwargs["is_out"] = out is not None
            found = fn(*args, **kwargs)
            if out is None:
                return found if single else result_type(*found)
            pairs = [(found, out)] if single else list(zip(found, out, strict=True))
            for value, target in pairs:
                _maybe_resize_out(target, value.shape)
                _safe_copy_out(copy_from=value, copy_to=target, exact_dtype=exact_dtype)
            return out if single else result_type(*out)

        @wraps(fn)
        def wrapped(*args: Any, out: Any = None, **kwargs: Any) -> Any:
            if single or not any(n in kwargs for n in names):
                return run(*args, out=out, **kwargs)
            return run(*args, out=tuple(kwargs.pop(n) for n in names), **kwargs)

        signature = inspect.signature(fn)
        added = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
        kept = [
            p for p in signature.parameters.values() if p.kind != inspect.Parameter.VAR_KEYWORD and p.name != "is_out"
        ]
        wrapped.__signature__ = signature.replace(parameters=[*kept, added])  # type: ignore[attr-defined]
        setattr(wrapped, _OUT_MARK, "The out wrapper")
        return wrapped

    return decorate


def _maybe_remove_out_wrapper(fn: Any) -> Any:
    """The function without ``out=`` where ``out_wrapper`` gave it that."""
    return inspect.unwrap(fn, stop=lambda f: not hasattr(f, _OUT_MARK))


class elementwise_type_promotion_wrapper:
    """A decorator: named arguments are promoted together, the result is cast to what they give."""

    def __init__(self, *, type_promotion_kind: Any, type_promoting_args: Sequence[str] | None = None) -> None:
        self.type_promoting_arg_names = type_promoting_args
        self.type_promotion_kind = type_promotion_kind

    def __call__(self, fn: Any) -> Any:
        signature = inspect.signature(fn)

        @wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            from shim_torch._prims_common import elementwise_dtypes

            bound = signature.bind(*args, **kwargs)
            names = [n for n in self.type_promoting_arg_names or () if bound.arguments.get(n) is not None]
            flat = [x for n in names for x in _leaves(bound.arguments[n])]
            compute, result = elementwise_dtypes(*flat, type_promotion_kind=self.type_promotion_kind)
            for n in names:
                bound.arguments[n] = _maybe_convert_to_dtype(bound.arguments[n], compute)
            found = fn(*bound.args, **bound.kwargs)
            if isinstance(found, _core.TensorBase):
                return _maybe_convert_to_dtype(found, result)
            return tuple(_maybe_convert_to_dtype(x, result) for x in found)

        wrapped.__signature__ = signature  # type: ignore[attr-defined]
        return wrapped


def _leaves(value: Any) -> list[Any]:
    return [x for part in value for x in _leaves(part)] if isinstance(value, (list, tuple)) else [value]


def elementwise_unary_scalar_wrapper(fn: Any) -> Any:
    """A decorator: a number given for the tensor is computed as a tensor and comes back as a number."""

    @wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], (bool, int, float, complex)):
            import shim_torch
            from shim_torch._prims_common import type_to_dtype

            given = shim_torch.tensor(args[0], dtype=type_to_dtype(type(args[0])))
            return fn(given, *args[1:], **kwargs).item()
        return fn(*args, **kwargs)

    return wrapped
