"""Random tensors for tests."""

from __future__ import annotations

from typing import Any

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

    noncontiguous: every second element of a tensor twice as wide.
    """
    import shim_torch as torch

    if len(shape) == 1 and isinstance(shape[0], (list, tuple)):
        shape = tuple(shape[0])
    sizes = list(shape)
    wanted_gaps = noncontiguous
    if noncontiguous and sizes and all(n > 0 for n in sizes) and torch.Size(sizes).numel() >= 2:
        sizes[-1] *= 2
    else:
        noncontiguous = False
    _check(dtype, low, high, requires_grad, wanted_gaps, memory_format)
    unsigned = str(dtype).startswith("torch.uint")
    if dtype is torch.bool:
        low, high = (0 if low is None else low), (2 if high is None else high)
        result = torch.randint(int(low), int(high), sizes, device=device, dtype=torch.int64).to(torch.bool)
    elif dtype.is_floating_point or dtype.is_complex:
        low, high = (-9 if low is None else low), (9 if high is None else high)
        wide = torch.float32 if dtype.itemsize <= 2 else dtype
        parts = 2 if dtype.is_complex else 1
        real = torch.float64 if dtype is torch.complex128 else torch.float32 if dtype.is_complex else wide
        values = torch.empty([*sizes, *([2] if parts == 2 else [])], device=device, dtype=real).uniform_(low, high)
        result = torch.complex(values[..., 0], values[..., 1]).to(dtype) if parts == 2 else values.to(dtype)
    else:
        low = (0 if unsigned else -9) if low is None else low
        high = 10 if high is None else high
        result = torch.randint(int(low), int(high), sizes, device=device, dtype=torch.int64).to(dtype)
    if noncontiguous:
        result = result[..., ::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result = torch.where(result == 0, torch.ones((), dtype=dtype, device=device), result)
    return result.requires_grad_() if requires_grad else result


def _check(dtype: Any, low: Any, high: Any, requires_grad: bool, noncontiguous: bool, memory_format: Any) -> None:
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
        )
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous=True and memory_format={memory_format}"
        )
    if any(value is not None and value != value for value in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low is not None and low == high and (dtype.is_floating_point or dtype.is_complex):
        import warnings

        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and will be "
            "removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif low is not None and high is not None and low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")

__getattr__ = _asked_of(__name__)
