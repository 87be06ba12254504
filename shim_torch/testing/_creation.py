"""Random tensors for tests."""

from __future__ import annotations

import math
import warnings
from typing import Any

from shim_torch import _torch_names
from shim_torch._missing import asked_of as _asked_of


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

    if len(shape) == 1 and isinstance(shape[0], (list, tuple)):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous=True and memory_format={memory_format}"
        )
    numbers = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not numbers:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
        )
    noncontiguous = noncontiguous and torch.Size(shape).numel() > 1
    sizes = (*shape[:-1], 2 * shape[-1]) if noncontiguous else shape
    low, high = _interval(torch, dtype, low, high)
    if not numbers:
        # the least integers that are not smaller than the bounds: the upper one is exclusive
        result = torch.randint(math.ceil(low), math.ceil(high), sizes, device=device, dtype=dtype)
    else:
        narrow = dtype.itemsize == 1  # the kinds of float8 have no draws of their own
        result = torch.empty(sizes, device=device, dtype=torch.float32 if narrow else dtype)
        _draw(torch, torch.view_as_real(result) if dtype.is_complex else result, low, high)
        result = result.to(dtype) if narrow else result
    if noncontiguous:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = torch.finfo(dtype).tiny if numbers else 1
    return result.requires_grad_() if requires_grad else result


def _draw(torch: Any, values: Any, low: float, high: float) -> None:
    """Fills with numbers of [low, high), whose width may be more than the dtype's largest number."""
    if high - low >= torch.finfo(values.dtype).max:
        values.uniform_(low / 2, high / 2).mul_(2)
    else:
        values.uniform_(low, high)


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


__getattr__ = _asked_of(__name__)

_torch_names.present(globals())
