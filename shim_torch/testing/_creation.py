"""Random tensors for tests."""

from __future__ import annotations

import math
import warnings
from typing import Any


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """A tensor of random values in [low, high): floats [-9, 9), integers [-9, 10), unsigned [0, 10), bool [0, 2).

    Bounds beyond what dtype holds are taken as its least and largest value. noncontiguous: every second element of a
    tensor twice as wide. exclude_zero: zeros become 1, or the least normal number of a floating or complex dtype.
    ValueError for an empty interval, for one that dtype holds nothing of, and for NaN.
    """
    import shim_torch as torch

    sizes = list(shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape)
    inexact = dtype.is_floating_point or dtype.is_complex
    if memory_format is not None and noncontiguous:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous=True and memory_format={memory_format}"
        )
    if requires_grad and not inexact:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
        )
    step = 2 if noncontiguous and math.prod(sizes) > 1 else 1
    if step > 1:
        sizes[-1] *= step
    draw = _inexact if inexact else _integers
    result = draw(sizes, dtype, device, *_interval(torch, dtype, low, high))
    if step > 1:
        result = result[..., 1::step]
    if memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = torch.finfo(dtype).tiny if inexact else 1
    return result.requires_grad_(requires_grad) if inexact else result


def _integers(sizes: list[int], dtype: Any, device: Any, low: float, high: float) -> Any:
    import shim_torch

    # the least integers that are not smaller than the bounds: the upper one is exclusive
    return shim_torch.randint(math.ceil(low), math.ceil(high), sizes, device=device, dtype=dtype)


def _inexact(sizes: list[int], dtype: Any, device: Any, low: float, high: float) -> Any:
    """Numbers of [low, high), whose width may be more than the dtype's largest number."""
    import shim_torch as torch

    # the kinds of float8 have no draws of their own
    result = torch.empty(sizes, device=device, dtype=torch.float32 if dtype.itemsize == 1 else dtype)
    values = torch.view_as_real(result) if dtype.is_complex else result
    if high - low < torch.finfo(values.dtype).max:
        values.uniform_(low, high)
    else:
        values.uniform_(low / 2, high / 2).mul_(2)
    return result.to(dtype)


def _limits(torch: Any, dtype: Any) -> tuple[Any, Any, Any, Any]:
    """The least value of dtype, the bound above its values, and the default interval."""
    if dtype is torch.bool:
        return 0, 2, 0, 2
    if dtype.is_floating_point or dtype.is_complex:
        return torch.finfo(dtype).min, torch.finfo(dtype).max, -9, 9
    info = torch.iinfo(dtype)
    # randint takes its bounds as int64: the largest of that dtype is never drawn
    return info.min, info.max + (dtype is not torch.int64), -9, 10


def _interval(torch: Any, dtype: Any, low: Any, high: Any) -> tuple[Any, Any]:
    least, bound, default_low, default_high = _limits(torch, dtype)
    low = default_low if low is None else low
    high = default_high if high is None else high
    if any(value != value for value in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low == high and (dtype.is_floating_point or dtype.is_complex):
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and will be "
            "removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= bound:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), "
            f"but {dtype} only supports [{least}, {bound})"
        )
    return min(max(low, least), bound), min(max(high, least), bound)
