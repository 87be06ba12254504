"""Ranges: arange, range, linspace and logspace."""

from __future__ import annotations

import math
import warnings
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import type_name, type_word

_OPTIONS = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def _range(start: Any, end: Any, step: Any, dtype: Any, device: Any) -> Any:
    if any(isinstance(v, complex) for v in (start, end, step)):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if any(isinstance(v, float) and not math.isfinite(v) for v in (start, end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is None:
        dtype = _core.int64 if all(isinstance(v, int) for v in (start, end, step)) else _core.get_default_dtype()
    if dtype is _core.bool or dtype.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{type_name(dtype)}'")
    if not (end - start) / step < 2**63:
        raise RuntimeError("invalid size, possible overflow?")
    return aten._arange(start, end, step, dtype, device)


def _range_size(start: Any, end: Any, step: Any, dtype: Any) -> int:
    """How many steps there are; for int64 between the ends cut to whole numbers."""
    if dtype is not _core.int64 or all(isinstance(v, int) for v in (start, end, step)):
        return max(0, math.ceil((end - start) / step))
    first, last, by = int(start), int(end), int(step)
    if not by:
        raise ValueError("step must be nonzero")
    return max(0, int((last - first + by - (1 if by > 0 else -1)) / by))


@op(
    "_arange(Scalar start, Scalar end, Scalar step, ScalarType dtype, Device? device) -> Tensor",
    function=False,
    method=False,
    module="_C",
    shape=lambda start, end, step, dtype: (_range_size(start, end, step, dtype),),
    dtype=lambda dtype: dtype,
)
def _arange(xp, start, end, step, dtype, device):
    n = _range_size(start, end, step, dtype)
    if not (dtype.is_floating_point or dtype.is_complex):  # whole steps from a whole start
        start, step = int(start), int(step)
    whole = all(isinstance(v, int) for v in (start, step))
    values = xp.arange(n, dtype="int64" if whole else "float64") * step + start
    if dtype.is_floating_point:
        return values.astype("float64" if dtype == _core.float64 else "float32")
    return values.astype(str(dtype).removeprefix("torch."))


@composite(
    f"arange(Scalar end, {_OPTIONS}) -> Tensor",
    native="arange",
    foreseen="any",
    out=True,
    any_out_shape=True,
    out_error_name="aten::arange",
    out_resize="rounded",
)
def arange(end, dtype, layout, device, pin_memory):
    """Numbers from ``start`` (0) in steps of ``step`` (1) up to ``end``, which is left out.

    Shapes:  (⌈(end - start) / step⌉,)
    Dtypes:  unless ``dtype`` is given int64 for ints, else the default float dtype; neither bool nor complex
    Errors:  RuntimeError for a step of 0 or away from ``end``, and for ends that are not finite
    """
    return _range(0, end, 1, dtype, device)


@composite(
    f"arange.start(Scalar start, Scalar end, {_OPTIONS}) -> Tensor",
    native="arange",
    foreseen="any",
    any_out_shape=True,
    out_error_name="aten::arange",
    out_resize="rounded",
)
def arange_start(start, end, dtype, layout, device, pin_memory):
    """Numbers from ``start`` in steps of 1 up to ``end``, which is left out."""
    return _range(start, end, 1, dtype, device)


@composite(
    f"arange.start_step(Scalar start, Scalar end, Scalar step=1, {_OPTIONS}) -> Tensor",
    out=True,
    native="arange",
    foreseen="any",
    any_out_shape=True,
    out_error_name="aten::arange",
    out_resize="rounded",
    out_overload="start_out",
)
def arange_step(start, end, step, dtype, layout, device, pin_memory):
    """Numbers from ``start`` in steps of ``step`` up to ``end``, which is left out."""
    return _range(start, end, step, dtype, device)


@composite(f"range.step(Scalar start, Scalar end, Scalar step=1, {_OPTIONS}) -> Tensor", out=True, any_out_shape=True)
def range_(start, end, step, dtype, layout, device, pin_memory):
    """As ``arange``, but with ``end`` where a step meets it, and in the default float dtype. Deprecated: it warns.

    Shapes:  (⌊(end - start) / step⌋ + 1,)
    """
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's "
        "range builtin. Instead, use torch.arange, which produces values in [start, end).",
        stacklevel=2,
    )
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    made = dtype or _core.get_default_dtype()
    if not made.is_floating_point:  # as PyTorch: of the ends and the step as integers
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise RuntimeError("step must be nonzero")
    n = math.floor((end - start) / step) + 1
    return _range(start, start + n * step, step, made, device)


def _steps(steps):
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if steps >= 2**59:  # of 16 bytes each, more than 64 bits count
        raise RuntimeError(f"Storage size calculation overflowed with sizes=[{steps}]")
    return (steps,)


def _spaced_dtype_of(name: str) -> Any:
    def rule(start, end, dtype):
        """``dtype``, or the default one of the ends' kind."""
        found = dtype or _core.get_default_dtype()
        if isinstance(start, complex) or isinstance(end, complex):
            natural = _core.get_default_dtype().to_complex()
            if dtype is None:
                return natural
            if not found.is_complex:
                raise RuntimeError(
                    f"torch.{name}(): inferred dtype {type_word(natural)} can't be safely cast to passed dtype {type_name(dtype)}"
                )
        if found is _core.bool:
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
        return found

    return rule


_linspace_dtype, _logspace_dtype = _spaced_dtype_of("linspace"), _spaced_dtype_of("logspace")


def _spaced_by_tensors(name: str, more: str) -> None:
    """The overloads whose ends are 0-d tensors."""
    for overload in ("Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor"):
        first, second = overload.split("_")

        def body(start, end, steps, *rest):
            wrong = [
                f"{end_name} with {value.dim()} dimension(s)"
                for end_name, value in (("start", start), ("end", end))
                if isinstance(value, _core.TensorBase) and value.dim()
            ]
            if wrong:
                raise RuntimeError(
                    f"{name} only supports 0-dimensional start and end tensors, but got {' and '.join(wrong)}."
                )
            if any(isinstance(v, _core.TensorBase) and v.is_meta for v in (start, end)):  # the values do not matter
                start, end = 0.0, 1.0
            numbers = [v.item() if isinstance(v, _core.TensorBase) else v for v in (start, end)]
            base = rest[:-4]
            dtype, _, device, _ = rest[-4:]
            return getattr(torch, name)(*numbers, steps, *base, dtype=dtype, device=device)

        composite(
            f"{name}.{overload}({first} start, {second} end, int steps, {more}{_OPTIONS}) -> Tensor",
            out=True,
            method=False,
            any_out_shape=True,
            out_error_name=f"aten::{name}",
        )(body)


_spaced_by_tensors("linspace", "")


@op(
    f"linspace(Scalar start, Scalar end, int steps, {_OPTIONS}) -> Tensor",
    native="linspace",
    shape=_steps,
    out=True,
    dtype=_linspace_dtype,
    any_out_shape=True,
    out_error_name="aten::linspace",
)
def linspace(xp, start, end, steps, dtype, layout, device, pin_memory):
    """``steps`` numbers at equal distances from ``start`` to ``end``, which are the first and the last.

    The ends are numbers or 0-d tensors. Dtype: unless given the default float one, complex if an end is; an integer
    dtype cuts towards 0. RuntimeError for a negative number of steps.
    """
    found = _linspace_dtype(start, end, dtype)
    return _as(xp, _spaced(xp, *_ends(start, end, found), steps), found)


def _ends(start: Any, end: Any, dtype: Any) -> tuple[Any, Any]:
    """Both ends, cut towards 0 and wrapped where ``dtype`` is an integer one."""
    if dtype.is_floating_point or dtype.is_complex:
        return start, end
    first, last = (torch.full((), int(v), dtype=dtype).item() for v in (start, end))
    return first, last


def _spaced(xp, start, end, steps, span=None):
    i = xp.arange(steps, dtype="float64")
    if steps < 2:
        return i + start
    step = (end - start if span is None else span) / (steps - 1)
    return xp.where(i < steps // 2, start + step * i, end - step * (steps - 1 - i))


def _as(xp, values, dtype):
    if dtype.is_complex:
        return values.astype("complex128" if dtype == _core.complex128 else "complex64")
    if dtype.is_floating_point:
        return values.astype("float64" if dtype == _core.float64 else "float32")
    return values.astype(str(dtype).removeprefix("torch."))


_spaced_by_tensors("logspace", "float base=10.0, ")


@op(
    f"logspace(Scalar start, Scalar end, int steps, float base=10.0, {_OPTIONS}) -> Tensor",
    shape=_steps,
    out=True,
    dtype=_logspace_dtype,
    any_out_shape=True,
    out_error_name="aten::logspace",
)
def logspace(xp, start, end, steps, base, dtype, layout, device, pin_memory):
    """``base`` to the powers that ``linspace(start, end, steps)`` has, in a dtype found as there.

    The powers are computed in double precision, between ends whose distance is rounded, as they are, where the dtype has
    16 bits. RuntimeError for a negative number of steps.
    """
    found = _logspace_dtype(start, end, dtype)
    if found in (_core.float16, _core.bfloat16):
        start, end = (torch.full((), v, dtype=found).item() for v in (start, end))
        span = torch.full((), end - start, dtype=found).item()
        return _as(xp, xp.power(float(base), _spaced(xp, start, end, steps, span)), found)
    return _as(xp, xp.power(float(base), _spaced(xp, *_ends(start, end, found), steps)), found)
