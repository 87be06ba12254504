"""The bounds of random_() and randint(): what a dtype can hold, and what a float of few digits makes of them."""

from __future__ import annotations

import warnings
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.rules import type_name, type_word

_INT64 = (-(2**63), 2**63 - 1)
_DIGITS: dict[Any, int] = {_core.float64: 53, _core.float32: 24, _core.float16: 11, _core.bfloat16: 8}


def _rounded(value: int, digits: int) -> int:
    """The nearest number of so many binary digits, ties to even."""
    shift = max(abs(value).bit_length() - digits, 0)
    if not shift:
        return value
    whole, rest = divmod(abs(value), 1 << shift)
    half = 1 << (shift - 1)
    whole += rest > half or (rest == half and whole % 2 == 1)
    return (whole << shift) * (1 if value > 0 else -1)


def _step(value: int, digits: int) -> int:
    return 1 << max(abs(value).bit_length() - digits, 0)


def _limits(dtype: Any) -> tuple[int, int]:
    from shim_torch._impl.tensor.type_info import finfo, iinfo

    if dtype == _core.bool:
        return 0, 1
    if dtype in _DIGITS:
        return max(int(finfo(dtype).min), _INT64[0]), min(int(finfo(dtype).max), _INT64[1])
    return max(iinfo(dtype).min, _INT64[0]), iinfo(dtype).max


def check_countable(dtype: Any, n: int) -> None:
    """RuntimeError where ``dtype`` cannot tell the numbers below ``n`` apart."""
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if dtype.is_complex or dtype == _core.bool:
        raise NotImplementedError(f""""randperm" not implemented for '{type_name(dtype)}'""")
    digits = _DIGITS.get(dtype)
    if digits and dtype != _core.bfloat16 and n > 2**digits + 1:
        most = "2049" if dtype == _core.float16 else f"2^{digits}+1"
        raise RuntimeError(f"n cannot be greater than {most} for {type_name(dtype)} type.")
    if not digits and n - 1 > _limits(dtype)[1]:
        word = {"int32": "int", "int64": "int64_t"}.get(name := str(dtype).removeprefix("torch."), f"{name}_t")
        raise RuntimeError(f"value cannot be converted to type {word} without overflow")


def end_of(dtype: Any) -> int:
    """One more than the greatest number random_() draws: of a float the last one below which none is left out."""
    last = 2 ** _DIGITS[dtype] if dtype in _DIGITS else 0 if dtype.is_complex else _limits(dtype)[1]
    return min(last, _INT64[1] - 1) + 1


def check_uniform(dtype: Any, low: float, high: float) -> None:
    """RuntimeError where uniform_() cannot draw from [low, high) in a floating ``dtype``."""
    from shim_torch._impl.tensor.type_info import finfo

    most = finfo(dtype).max
    for name, value in (("from", low), ("to", high)):
        if not -most <= value <= most:
            raise RuntimeError(f"{name} is out of bounds for {type_word(dtype)}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > most:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{type_name(dtype)}>::max(), but found to={high:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )


def checked(dtype: Any, low: int, high: int) -> tuple[int, int]:
    """``low`` and ``high`` (exclusive) as numbers of ``dtype``; RuntimeError where they are none or leave nothing between."""
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    digits = _DIGITS.get(dtype)
    if digits:
        if _rounded(low + 1, digits) < low:
            low = _rounded(low + 1, digits) + _step(low + 1, digits)
        if _rounded(high - 1, digits) >= high:
            high = _rounded(high - 1, digits) - _step(high - 1, digits)
        if low >= high:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
                f"from={low} >= to={high}"
            )
    if dtype.is_complex:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    least, most = _limits(dtype)
    for name, value in (("from", low), ("to - 1", high - 1)):
        if not least <= value <= most:
            raise RuntimeError(f"{name} is out of bounds for {type_word(dtype)}")
    for name, value in (("from", low), ("to - 1", high - 1)):
        if digits and abs(value) > 2**digits:
            warnings.warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {type_word(dtype)} can "
                "support discrete uniform distribution only within this range. This warning will become an error in version "
                "1.7 release, please fix the code in advance",
                stacklevel=4,
            )
    return low, high
