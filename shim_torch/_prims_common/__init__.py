"""``torch._prims_common``: questions about shapes, strides and dtypes that libraries ask."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from enum import Enum
from itertools import accumulate
from operator import mul
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.transforms.prims.dtypes import (
    _ORDER,
    _complex_dtypes,
    _dtype_of,
    _integer_dtypes,
    _low_precision_dtypes,
    corresponding_complex_dtype,
    corresponding_real_dtype,
    dtype_to_type,
    get_acc_type,
    get_computation_dtype,
    get_higher_dtype,
    get_higher_type,
    is_boolean_dtype,
    is_complex_dtype,
    is_float_dtype,
    is_integer_dtype,
    is_low_precision_dtype,
    number_type,
    type_to_dtype,
)
from shim_torch._impl.transforms.prims.strides import is_contiguous

Tensor, Number = _core.Tensor, int | float | bool
TensorLike, NumberType, IntLike, FloatLike, BoolLike = Tensor, Number, int, float, bool
Dim, ShapeType, StrideType = int, Sequence[int], Sequence[int]
TensorLikeType, TensorSequenceType, DimsType, DimsSequenceType = Any, Any, Any, Any
DeviceLikeType, NumberTypeType = Any, type


class ELEMENTWISE_TYPE_PROMOTION_KIND(Enum):
    """How the result's dtype follows from the promoted one."""

    DEFAULT = 0
    NO_OPMATH = 1
    INT_TO_FLOAT = 2
    ALWAYS_BOOL = 3
    COMPLEX_TO_FLOAT = 4
    BOOL_TO_LONG = 5


class REDUCTION_OUTPUT_TYPE_KIND(Enum):
    """How a reduction's dtype follows from its input's."""

    SAME = 0
    COMPLEX_TO_FLOAT = 1
    KEEP_PROMOTED_TYPE = 2
    ALWAYS_BOOL = 3


class RETURN_TYPE(Enum):
    """What an operator gives."""

    NEW = 0
    VIEW = 1
    INPLACE = 2
    NONE = 3


def elementwise_dtypes(*args: Any, type_promotion_kind: ELEMENTWISE_TYPE_PROMOTION_KIND) -> tuple[Any, Any]:
    """(dtype to compute in, dtype of the result) of a pointwise operator on tensors and numbers.

    Errors: ValueError for other arguments, or an unknown kind.
    """
    promoted = _promote_many(args)
    if type_promotion_kind not in _PROMOTION:
        raise ValueError(f"Unknown type promotion kind {type_promotion_kind}")
    result_of, computed_in = _PROMOTION[type_promotion_kind]
    result = result_of(promoted)
    return computed_in(promoted, result), result


def _same(dtype: Any) -> Any:
    return dtype


def _wide_result(promoted: Any, result: Any) -> Any:
    return get_computation_dtype(result)


def _wide_input(promoted: Any, result: Any) -> Any:
    return get_computation_dtype(promoted)


# The result's dtype of the promoted one, and the dtype to compute in of the two.
_PROMOTION: dict[Any, tuple[Any, Any]] = {
    ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT: (_same, _wide_result),
    ELEMENTWISE_TYPE_PROMOTION_KIND.NO_OPMATH: (_same, lambda promoted, result: result),
    ELEMENTWISE_TYPE_PROMOTION_KIND.INT_TO_FLOAT: (
        lambda d: _core.get_default_dtype() if dtype_to_type(d) in (bool, int) else d,
        _wide_result,
    ),
    ELEMENTWISE_TYPE_PROMOTION_KIND.ALWAYS_BOOL: (lambda d: _core.bool, _wide_input),
    ELEMENTWISE_TYPE_PROMOTION_KIND.COMPLEX_TO_FLOAT: (
        lambda d: corresponding_real_dtype(d) if is_complex_dtype(d) else d,
        _wide_input,
    ),
    ELEMENTWISE_TYPE_PROMOTION_KIND.BOOL_TO_LONG: (
        lambda d: _core.int64 if is_boolean_dtype(d) else d,
        _wide_result,
    ),
}


def _promote_many(args: Sequence[Any]) -> Any:
    """Tensors with dims count most, then tensors without, then numbers; a higher kind of number wins. Of None alone: bool."""
    groups: list[Any] = [None, None, None]
    for x in args:
        if x is None:
            continue
        if not isinstance(x, (Tensor, *_ORDER, _core.dtype)):
            raise ValueError(f"Unexpected type {type(x)} when computing elementwise type promotion!")
        which = 2 if not isinstance(x, Tensor) else 0 if x.dim() else 1
        groups[which] = get_higher_dtype(groups[which], _dtype_of(x))
    result, *others = [g for g in groups if g is not None] or [_core.bool]
    for lower in others:
        if _ORDER.index(dtype_to_type(lower)) > _ORDER.index(dtype_to_type(result)):
            to_complex = dtype_to_type(lower) is complex and is_float_dtype(result)
            result = corresponding_complex_dtype(result) if to_complex else lower
    return result


is_contiguous_or_false = is_contiguous  # sizes are numbers here: none is unknown


def alert_not_deterministic(caller: str) -> None:
    """A RuntimeError, or a warning, where ``use_deterministic_algorithms`` asks for one."""
    import shim_torch as torch

    if not torch.are_deterministic_algorithms_enabled():
        return
    if torch.is_deterministic_algorithms_warn_only_enabled():
        warnings.warn(
            f"{caller} does not have a deterministic implementation, but you set "
            "'torch.use_deterministic_algorithms(True, warn_only=True)'. You can file an issue at "
            "https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support for this operation.",
            stacklevel=2,
        )
        return
    raise RuntimeError(
        f"{caller} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True)'. You "
        "can turn off determinism just for this operation, or you can use the 'warn_only=True' option, if that's acceptable for "
        "your application. You can also file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding "
        "deterministic support for this operation."
    )


def canonicalize_device(device: Any) -> Any:
    """A device, given as one, as a word or as a number."""
    return device if isinstance(device, _core.device) else _core.device(device)


def device_or_default(device: Any) -> Any:
    """The device, or for None the default one."""
    return canonicalize_device(device) if device is not None else (_core.get_default_device() or _core.device("cpu"))


def dtype_or_default(dtype: Any) -> Any:
    """The dtype, or for None the default of floating point numbers."""
    return dtype if dtype is not None else _core.get_default_dtype()


def check(b: bool, s: Any, exc_type: type[Exception] = RuntimeError) -> None:
    """Raises ``exc_type(s())`` unless ``b``."""
    if not b:
        raise exc_type(s())


def check_same_shape(*args: Any, allow_cpu_scalar_tensors: bool = True) -> None:
    """RuntimeError unless all tensors have one shape."""
    shapes = [tuple(a.shape) for a in args if isinstance(a, Tensor) and not (allow_cpu_scalar_tensors and a.dim() == 0)]
    if len(set(shapes)) > 1:
        raise RuntimeError(f"Shape {list(shapes[1])} is not the expected shape {list(shapes[0])}!")


def check_same_dtype(*args: Any) -> None:
    """RuntimeError unless all tensors have one dtype."""
    found = {a.dtype for a in args if isinstance(a, Tensor)}
    if len(found) > 1:
        raise RuntimeError(f"Tensors have different dtypes: {sorted(map(str, found))}")


def check_same_device(*args: Any, allow_cpu_scalar_tensors: bool) -> None:
    """RuntimeError unless all tensors are on one device."""
    found = {str(a.device) for a in args if isinstance(a, Tensor) and not (allow_cpu_scalar_tensors and a.dim() == 0)}
    if len(found) > 1:
        raise RuntimeError(f"Tensors on different devices: {sorted(found)}")


def _passed_through() -> set[Any]:
    """Questions about a tensor that a mode on torch's functions lets pass."""
    import shim_torch

    methods = "dim numel size storage_offset stride is_contiguous __format__ __repr__".split()
    fields = "ndim dtype is_sparse shape device requires_grad layout".split()
    found = {shim_torch.device, shim_torch.sym_not, shim_torch.sym_float, shim_torch.sym_int}
    return found | {getattr(Tensor, m) for m in methods} | {getattr(Tensor, f).__get__ for f in fields}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for part in ("layouts", "shapes", "strides", "dims") if not name.startswith("__") else ():
        served = vars(import_module(f"shim_torch._impl.transforms.prims.{part}"))
        if name in served:
            return served[name]
    if name == "torch_function_passthrough":
        return _passed_through()
    from shim_torch._impl.surface.missing import missing

    return missing("torch._prims_common", name)
