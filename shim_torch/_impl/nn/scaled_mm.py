"""Scaled and grouped matrix products of ``torch.nn.functional``, with the names of their scalings."""

from __future__ import annotations

from enum import Enum
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nn.calls import operators


class _Numbered(Enum):
    """An enumeration whose members are converted to integers, and are none."""

    def __int__(self) -> int:
        return int(self.value)

    __index__ = __int__

    def __hash__(self) -> int:
        return int(self.value)


class ScalingType(_Numbered):
    """The granularity of scales: tensor, row or block."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(_Numbered):
    """How the scales of blocks lie in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


for _type in (ScalingType, SwizzleType):
    _type.__module__ = "torch.nn.functional"


def _only(name: str, value: Any) -> Any:
    """The one element of a list of one; NotImplementedError for scalings of several levels."""
    if isinstance(value, (list, tuple)):
        if len(value) != 1:
            raise NotImplementedError(
                f"torch.nn.functional.{name}: several scales for one matrix are not supported by shim-torch"
            )
        return value[0]
    return value


def _listed(value: Any) -> list[Any]:
    """A value as a list of one; a list as it is."""
    return list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]


def _numbers(members: Any) -> list[int]:
    return [m.value for m in _listed(members)]


def _checked(name: str, recipes: tuple[Any, Any], swizzles: tuple[Any, Any]) -> None:
    for recipe in recipes:
        kind = _only(name, recipe)
        if kind in (ScalingType.BlockWise1x16, ScalingType.BlockWise1x32):
            raise NotImplementedError(f"torch.nn.functional.{name}: {kind.name} scaling is not supported by shim-torch")
    for swizzle in swizzles:
        if swizzle is not None and _only(name, swizzle) is not SwizzleType.NO_SWIZZLE:
            raise NotImplementedError(f"torch.nn.functional.{name}: swizzled scales are not supported by shim-torch")


def _aten() -> Any:
    return operators


def _bfloat16() -> Any:
    return _core.bfloat16


_DEFAULT: Any = object()


def scaled_mm(
    mat_a: Any, mat_b: Any, scale_a: Any, scale_recipe_a: Any, scale_b: Any, scale_recipe_b: Any,
    swizzle_a: Any = None, swizzle_b: Any = None, bias: Any = None, output_dtype: Any = _DEFAULT,
    contraction_dim: Any = (), use_fast_accum: bool = False,
) -> Any:  # fmt: skip
    """(mat_a · scale_a) @ (mat_b · scale_b) + bias of float8 matrices, scales by tensor, row or block of 128."""
    a, b = (_listed(scale_a), _numbers(scale_recipe_a)), (_listed(scale_b), _numbers(scale_recipe_b))
    swizzles = _numbers(swizzle_a), _numbers(swizzle_b)
    dtype = _bfloat16() if output_dtype is _DEFAULT else output_dtype
    scales = (*a, swizzles[0], *b, swizzles[1])
    return _aten()._scaled_mm_v2(mat_a, mat_b, *scales, bias, dtype, list(contraction_dim), use_fast_accum)


def scaled_grouped_mm(
    mat_a: Any, mat_b: Any, scale_a: Any, scale_recipe_a: Any, scale_b: Any, scale_recipe_b: Any,
    swizzle_a: Any = None, swizzle_b: Any = None, bias: Any = None, offs: Any = None, output_dtype: Any = _DEFAULT,
    contraction_dim: Any = (), use_fast_accum: bool = False,
) -> Any:  # fmt: skip
    """A product of float8 matrices for each group, scales by row and column."""
    _checked("scaled_grouped_mm", (scale_recipe_a, scale_recipe_b), (swizzle_a, swizzle_b))
    dtype = _bfloat16() if output_dtype is _DEFAULT else output_dtype
    scales = _only("scaled_grouped_mm", scale_a), _only("scaled_grouped_mm", scale_b)
    return _aten()._scaled_grouped_mm(mat_a, mat_b, *scales, offs, bias, None, dtype, use_fast_accum)


def grouped_mm(mat_a: Any, mat_b: Any, *, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """A product for each group of rows, columns, or of the summed dim; ``offs`` (int32) holds the groups' ends."""
    return _aten()._grouped_mm(mat_a, mat_b, offs, bias, out_dtype)


def functions() -> dict[str, Any]:
    """The functions that nn.functional takes from here, by name."""
    return {k: globals()[k] for k in ("ScalingType", "SwizzleType", "scaled_mm", "scaled_grouped_mm", "grouped_mm")}
