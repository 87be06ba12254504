"""Shapes, dims and types of ``torch._prims_common`` that decompositions ask about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch

Tensor = _core.Tensor
_ordered_types = (bool, int, float, complex)


def validate_dim_length(length: int) -> None:
    """AssertionError for a negative length."""
    if length < 0:
        raise AssertionError(f"Expected non-negative length, got {length}")


def validate_shape(shape: Sequence[int]) -> None:
    """AssertionError for a negative length."""
    for length in shape:
        validate_dim_length(length)


def validate_strides(strides: Sequence[int]) -> None:
    """AssertionError for a negative stride."""
    if any(s < 0 for s in strides):
        raise AssertionError(f"Expected non-negative strides, got {tuple(strides)}")


def validate_idx(rank: int, idx: int) -> None:
    """AssertionError unless ``idx``, which is not negative, names a dim; 0 names one of a scalar too."""
    if not (0 <= idx < rank or idx == 0):
        raise AssertionError(f"idx {idx} is out of bounds for rank {rank}")


def validate_dimension_indices(rank: int, indices: Sequence[int]) -> None:
    """AssertionError unless all of ``indices`` are dims of a tensor of ``rank`` dims."""
    for idx in indices:
        validate_idx(rank, idx)


def validate_exclusive_idx(rank: int, ex_idx: int) -> None:
    """AssertionError unless 0 < ``ex_idx`` <= ``rank``."""
    if not 0 < ex_idx <= rank:
        raise AssertionError(f"ex_idx {ex_idx} is out of bounds for rank {rank} (must be in (0, rank])")


def validate_no_repeating_dims(dims: Sequence[int]) -> None:
    """RuntimeError where a dim is named twice."""
    if len(dims) != len(set(dims)):
        raise RuntimeError("duplicate value in the list of dims")


def is_valid_permutation(rank: int, perm: Any) -> bool:
    """Whether ``perm`` has each of 0 .. rank - 1 once."""
    return isinstance(perm, Sequence) and sorted(perm) == list(range(rank))


def compute_reduction_output_shape(shape: Sequence[int], dimensions: Sequence[int]) -> tuple[int, ...]:
    """``shape`` without the dims named."""
    validate_dimension_indices(len(shape), dimensions)
    return tuple(size for d, size in enumerate(shape) if d not in dimensions)


def extract_shape(*args: Any, allow_cpu_scalar_tensors: bool) -> Any:
    """The one shape of the tensors among ``args``; None where they differ or something is no tensor and no number."""
    from shim_torch._impl.transforms.prims.layouts import is_cpu_scalar_tensor

    tensors = [a for a in args if not isinstance(a, (int, float))]
    if not all(isinstance(t, Tensor) for t in tensors):
        return None
    large = [t for t in tensors if not (allow_cpu_scalar_tensors and is_cpu_scalar_tensor(t))] or tensors[-1:]
    shapes = {tuple(t.shape) for t in large}
    return large[0].shape if len(shapes) == 1 else None


def extract_dims_from_varargs(dims: Any) -> Any:
    """``f(1, 2)`` and ``f((1, 2))`` as one sequence."""
    if not dims or not isinstance(dims[0], Sequence):
        return dims
    if len(dims) != 1:
        raise AssertionError(f"Expected exactly 1 element in dims when first element is a Sequence, got {len(dims)}")
    return dims[0]


def infer_size_shapes(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The shape that both broadcast to."""
    ndim = max(len(a), len(b))
    x, y = (1,) * (ndim - len(a)) + tuple(a), (1,) * (ndim - len(b)) + tuple(b)
    for d in reversed(range(ndim)):
        if x[d] != y[d] and 1 not in (x[d], y[d]):
            message = f"The size of tensor a ({x[d]}) must match the size of tensor b ({y[d]})"
            raise RuntimeError(f"{message} at non-jagged dimension {d}")
    return tuple(q if p == 1 else p for p, q in zip(x, y, strict=True))


def is_grad_dtype(dtype: Any) -> bool:
    """Whether the dtype can have gradients."""
    return bool(dtype.is_floating_point or dtype.is_complex)


def dtype_to_type_ctor(dtype: Any) -> Any:
    """The Python type that constructs numbers of the dtype."""
    from shim_torch._prims_common import dtype_to_type

    return dtype_to_type(dtype)


def get_dtype(x: Any) -> Any:
    """The dtype of a tensor, or of a Python number's type."""
    from shim_torch._prims_common import type_to_dtype

    return x.dtype if isinstance(x, Tensor) else type_to_dtype(type(x))


def check_fp_or_complex(dtype: Any, fn_name: str, allow_low_precision_dtypes: bool = True) -> None:
    """RuntimeError unless the dtype is floating point or complex."""
    if not is_grad_dtype(dtype):
        raise RuntimeError(f"{fn_name}: Expected a floating point or complex tensor as input. Got {dtype}")
    if not allow_low_precision_dtypes and dtype in (_core.float16, _core.bfloat16, _core.complex32):
        raise RuntimeError(f"{fn_name}: Half precision dtypes not supported. Got {dtype}")


def check_is_matrix(A: Any, f_name: str, arg_name: str = "A") -> None:
    """RuntimeError for fewer than 2 dims."""
    if A.dim() < 2:
        raise RuntimeError(f"{f_name}: The input tensor {arg_name} must have at least 2 dimensions.")


def check_pin_memory(pin_memory: bool) -> None:
    """NotImplementedError where pinned memory is asked for."""
    if pin_memory:
        raise NotImplementedError("PrimTorch does not support pinned memory")


def check_layout(layout: Any) -> None:
    """NotImplementedError for layouts other than strided."""
    if layout != _core.strided:
        raise NotImplementedError(f"PrimTorch doesn't support layout={layout}")


def is_weakly_lesser_type(a: type, b: type) -> bool:
    """Whether ``a`` comes no later than ``b`` among bool, int, float, complex."""
    if a not in _ordered_types or b not in _ordered_types:
        raise RuntimeError(f"Expected builtin numeric types, found {a}, {b}")
    return _ordered_types.index(a) <= _ordered_types.index(b)


def can_safe_cast_to(*, cast_to: Any, cast_from: Any) -> bool:
    """Whether the kind of ``cast_from`` (bool, integer, float, complex) is no wider than that of ``cast_to``."""
    from shim_torch._prims_common import dtype_to_type

    return is_weakly_lesser_type(dtype_to_type(cast_from), dtype_to_type(cast_to))


def reduction_dtypes(arg: Any, output_dtype_kind: Any, dtype: Any = None) -> tuple[Any, Any]:
    """(what a reduction computes in, its result's dtype; None where that stays what it computes in)."""
    from shim_torch import _prims_common as common

    kinds, given = common.REDUCTION_OUTPUT_TYPE_KIND, dtype if dtype is not None else arg.dtype
    if output_dtype_kind == kinds.KEEP_PROMOTED_TYPE:
        result = None
    elif output_dtype_kind == kinds.ALWAYS_BOOL:
        result = _core.bool
    elif output_dtype_kind == kinds.COMPLEX_TO_FLOAT and common.is_complex_dtype(given):
        result = common.corresponding_real_dtype(given)
    else:
        result = given
    return common.get_computation_dtype(given), result


def set_correction(unbiased: bool | None = None, correction: Any = None) -> float:
    """The correction of a variance, from either way of saying it; 1 without."""
    if correction is not None and unbiased is not None:
        raise RuntimeError("cannot specify both correction and unbiased arguments")
    if correction is None:
        correction = 0.0 if unbiased is False else 1.0
    if not isinstance(correction, (int, float)):
        raise ValueError("correction argument should be integer or float")
    return float(correction)


def mask_tensor(mask: Any, t: Any) -> Any:
    """``t`` where the mask is true, else 0; of a bool tensor a bool one."""
    return mask.logical_and(t) if t.dtype is _core.bool else torch.where(mask, t, 0)


def check_in_bounds_for_storage(a: Any, shape: Sequence[int], strides: Sequence[int], storage_offset: int) -> None:
    """ValueError where a geometry does not fit the storage ``a``."""
    from shim_torch._prims_common import compute_required_storage_length

    needed = compute_required_storage_length(shape, strides, storage_offset)
    if a.size() < needed:
        message = f"Can't view a storage of size {a.size()} with an offset of {storage_offset}, shape of {shape}"
        raise ValueError(f"{message}, and strides of {strides}, which requires a storage of size {needed}")
