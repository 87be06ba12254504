"""``assert_close`` with PyTorch's default tolerances and messages."""

from __future__ import annotations

import cmath
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from native import _core

Tensor = _core.Tensor

_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


def default_tolerances(*inputs: Any) -> tuple[float, float]:
    """(rtol, atol) of the least precise input dtype; (0, 0) for integers."""
    names = [str(x.dtype if isinstance(x, Tensor) else x).removeprefix("torch.") for x in inputs]
    pairs = [_TOLERANCES.get(n, (1.3e-6, 1e-5) if n.startswith("float8") else (0.0, 0.0)) for n in names]
    return max(p[0] for p in pairs), max(p[1] for p in pairs)


class _Settings:
    def __init__(self, **options: Any) -> None:
        self.rtol, self.atol = options["rtol"], options["atol"]
        self.equal_nan, self.check_device = options["equal_nan"], options["check_device"]
        self.check_dtype, self.check_layout = options["check_dtype"], options["check_layout"]
        self.check_stride, self.allow_subclasses = options["check_stride"], options["allow_subclasses"]
        self.msg = options["msg"]

    def fail(self, text: str, where: str, kind: type[Exception] = AssertionError) -> None:
        if where:
            text += f"\n\nThe failure occurred for item {where}"
        if callable(self.msg):
            text = self.msg(text)
        elif self.msg is not None:
            text = self.msg
        raise kind(text)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raises AssertionError unless |actual - expected| <= atol + rtol |expected| everywhere.

    Takes tensors, numbers, arrays, and sequences or mappings of them. rtol and atol come together; their defaults
    depend on the dtype (float32 1.3e-6 and 1e-5). Errors also for different shapes, and as asked, dtypes, devices,
    layouts and strides.
    """
    if (rtol is None) ^ (atol is None):
        raise ValueError(
            f"Both 'rtol' and 'atol' must be either specified or unspecified, but got no {'rtol' if rtol is None else 'atol'}"
        )
    settings = _Settings(
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=check_device,
        check_dtype=check_dtype,
        check_layout=check_layout,
        check_stride=check_stride,
        allow_subclasses=allow_subclasses,
        msg=msg,
    )
    _compare(actual, expected, settings, "")


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Deprecated: ``assert_close`` without device and dtype checks."""
    actual = actual if isinstance(actual, Tensor) else _tensor(actual)
    expected = expected if isinstance(expected, Tensor) else _tensor(expected)
    if rtol is None and atol is None:
        rtol, atol = default_tolerances(actual, expected)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        msg=msg or None,
    )


def _tensor(x: Any) -> Any:
    import shim_torch

    return shim_torch.as_tensor(x)


def _compare(actual: Any, expected: Any, settings: _Settings, where: str) -> None:
    if (
        isinstance(actual, Sequence)
        and isinstance(expected, Sequence)
        and not isinstance(actual, str)
        and not isinstance(expected, str)
    ):
        if len(actual) != len(expected):
            settings.fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", where)
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            _compare(a, e, settings, f"{where}[{i}]")
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            text = "The keys of the mappings do not match:\n"
            text += f"Missing keys in the actual mapping: {sorted(set(expected) - set(actual), key=str)}\n"
            text += f"Additional keys in the actual mapping: {sorted(set(actual) - set(expected), key=str)}"
            settings.fail(text, where)
        for key in actual:
            _compare(actual[key], expected[key], settings, f"{where}[{key!r}]")
    elif actual is None or expected is None:
        if actual is not expected:
            settings.fail(f"None mismatch: {actual} is not {expected}", where)
    elif isinstance(actual, (bool, numbers.Number)) and isinstance(expected, (bool, numbers.Number)):
        _compare_numbers(actual, expected, settings, where)
    else:
        _compare_tensors(actual, expected, settings, where)


def _compare_numbers(actual: Any, expected: Any, settings: _Settings, where: str) -> None:
    if isinstance(actual, bool) or isinstance(expected, bool):
        if bool(actual) is not bool(expected) or type(actual) is not type(expected):
            settings.fail(f"Booleans mismatch: {actual} is not {expected}", where)
        return
    if settings.check_dtype and type(actual) is not type(expected):
        settings.fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.", where)
    kinds = {int: _core.int64, float: _core.float64, complex: _core.complex128}
    rtol, atol = settings.rtol, settings.atol
    if rtol is None:
        rtol, atol = default_tolerances(
            kinds.get(type(actual), _core.float64), kinds.get(type(expected), _core.float64)
        )
    if actual == expected or settings.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
        return
    difference = abs(actual - expected)
    if cmath.isfinite(difference) and difference <= atol + rtol * abs(expected):
        return
    if rtol == 0 and atol == 0:
        settings.fail(
            f"Scalars are not equal!\n\nExpected {expected} but got {actual}.\n"
            f"Absolute difference: {difference}\nRelative difference: {_relative(difference, expected)}",
            where,
        )
    settings.fail(
        f"Scalars are not close!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference} (up to {atol} allowed)\n"
        f"Relative difference: {_relative(difference, expected)} (up to {rtol} allowed)",
        where,
    )


def _relative(difference: float, expected: Any) -> float:
    return difference / abs(expected) if expected else float("inf")


def _compare_tensors(actual: Any, expected: Any, settings: _Settings, where: str) -> None:
    pair = []
    for value in (actual, expected):
        if isinstance(value, Tensor):
            pair.append(value)
            continue
        try:
            pair.append(_tensor(value))
        except Exception:
            settings.fail(
                f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.",
                where,
                TypeError,
            )
    a, e = (t.detach() for t in pair)
    if not settings.allow_subclasses and type(actual) is not type(expected):
        settings.fail(f"The types do not match: {type(actual)} != {type(expected)}.", where, TypeError)
    if a.shape != e.shape:
        settings.fail(f"The values for attribute 'shape' do not match: {a.shape} != {e.shape}.", where)
    for name, wanted in (("device", settings.check_device), ("dtype", settings.check_dtype)):
        if wanted and getattr(a, name) != getattr(e, name):
            settings.fail(
                f"The values for attribute '{name}' do not match: {getattr(a, name)} != {getattr(e, name)}.", where
            )
    if settings.check_stride and a.stride() != e.stride():
        settings.fail(f"The values for attribute 'stride()' do not match: {a.stride()} != {e.stride()}.", where)
    if a.is_meta or e.is_meta:
        return
    rtol, atol = settings.rtol, settings.atol
    if rtol is None:
        rtol, atol = default_tolerances(a, e)
    _compare_values(a.cpu(), e.cpu(), rtol, atol, settings, where)


def _compare_values(a: Any, e: Any, rtol: float, atol: float, settings: _Settings, where: str) -> None:
    import shim_torch

    dtype = _core.promote_types(a.dtype, e.dtype) if a.dtype != e.dtype else a.dtype
    if dtype.itemsize == 1 and dtype.is_floating_point:
        dtype = _core.float32
    if str(dtype) in ("torch.uint16", "torch.uint32", "torch.uint64", "torch.bool"):
        dtype = _core.int64
    a, e = a.to(dtype), e.to(dtype)
    if rtol == 0 and atol == 0 and not dtype.is_floating_point and not dtype.is_complex:
        matches = a == e
    else:
        matches = shim_torch.isclose(a, e, rtol=rtol, atol=atol, equal_nan=settings.equal_nan)
    if bool(matches.all()):
        return
    wrong = ~matches
    count, total = int(wrong.sum()), a.numel()
    if dtype.is_floating_point or dtype.is_complex:
        wide_a, wide_e = a.to(shim_torch.result_type(a, 1.0)), e
    else:
        wide_a, wide_e = a.to(_core.float64), e.to(_core.float64)
    difference = (wide_a - wide_e).abs()
    difference = shim_torch.where(matches, shim_torch.zeros_like(difference), difference)
    relative = difference / wide_e.abs()
    relative = shim_torch.where(matches, shim_torch.zeros_like(relative), relative)
    exact = rtol == 0 and atol == 0
    head = f"{'Tensor-likes' if a.dim() or True else 'Scalars'} are not {'equal' if exact else 'close'}!\n\n"
    head = head if a.dim() else head.replace("Tensor-likes", "Scalars")
    if a.dim() == 0:
        text = head + f"Expected {e.item()} but got {a.item()}.\n"
        text += f"Absolute difference: {difference.item()}" + ("\n" if exact else f" (up to {atol} allowed)\n")
        text += f"Relative difference: {relative.item()}" + ("" if exact else f" (up to {rtol} allowed)")
        settings.fail(text, where)
    text = head + f"Mismatched elements: {count} / {total} ({count / total:.1%})\n"
    for name, values, limit in (("absolute", difference, atol), ("relative", relative, rtol)):
        flat = values.reshape(-1)
        place = int(flat.argmax())
        index = tuple(int(i) for i in _unravel(place, values.shape))
        text += f"Greatest {name} difference: {flat[place].item()} at index {index}"
        text += "\n" if exact else f" (up to {limit} allowed)\n"
    settings.fail(text.rstrip("\n"), where)


def _unravel(place: int, shape: Any) -> list[int]:
    index = []
    for n in reversed(shape):
        index.append(place % n)
        place //= n
    return index[::-1]
