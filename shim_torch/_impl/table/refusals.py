"""Dtypes that PyTorch's CPU kernels do not take, with its errors: ``refusing("floor", rule)`` is a rule that checks.

The letters are the kinds of the compute dtype: b bool, i integer, f floating point, c complex.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.rules import type_name

_NEGATION = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)
_SIGN = "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
_NO_COMPLEX = "{} is not supported for complex inputs"
# A text without a space is the name of a kernel that does not have the dtype.
_TABLE: dict[str, tuple[tuple[str, type[Exception], str], ...]] = {
    "abs": (("b", NotImplementedError, "abs_cpu"),),
    "deg2rad": (("c", RuntimeError, "deg2rad is not supported for complex tensors."),),
    "rad2deg": (("c", RuntimeError, "rad2deg is not supported for complex tensors."),),
    "digamma": (("c", NotImplementedError, "digamma"),),
    "lgamma": (("c", NotImplementedError, "lgamma_vml_cpu"),),
    "erf": (("c", NotImplementedError, "erf_vml_cpu"),),
    "erfc": (("c", NotImplementedError, "erfc_vml_cpu"),),
    "erfinv": (("c", NotImplementedError, "erfinv_vml_cpu"),),
    "logit": (("c", NotImplementedError, "logit_cpu"),),
    "frac": (("bic", NotImplementedError, "frac_cpu"),),
    "isposinf": (("c", RuntimeError, "isposinf does not support complex inputs."),),
    "isneginf": (("c", RuntimeError, "isneginf does not support complex inputs."),),
    "neg": (("b", RuntimeError, _NEGATION),),
    "positive": (("b", RuntimeError, "The `+` operator, on a bool tensor is not supported."),),
    "round": (("bc", NotImplementedError, "round_vml_cpu"),),
    "round.none": (("bic", NotImplementedError, "round_vml_cpu"),),
    "round.decimals": (("bic", NotImplementedError, "round_cpu"),),
    "sign": (("c", NotImplementedError, _SIGN),),
    "signbit": (("c", NotImplementedError, "signbit is not implemented for complex tensors."),),
    "relu": (
        ("c", NotImplementedError, "clamp is not supported for complex types"),
        ("b", RuntimeError, "Boolean inputs not supported for relu"),
    ),
    "clamp": (
        ("c", NotImplementedError, "clamp is not supported for complex types"),
        ("b", NotImplementedError, "clamp_scalar_cpu"),
    ),
    "clamp.Tensor": (
        ("c", NotImplementedError, "clamp is not supported for complex types"),
        ("b", NotImplementedError, "clamp_cpu"),
    ),
    "clamp_min": (
        ("c", NotImplementedError, "clamp is not supported for complex types"),
        ("b", NotImplementedError, "clamp_min_scalar_cpu"),
    ),
    "clamp_max": (
        ("c", NotImplementedError, "clamp is not supported for complex types"),
        ("b", NotImplementedError, "clamp_max_scalar_cpu"),
    ),
    "clamp_min.Tensor": (("c", NotImplementedError, "maximum_cpu"),),
    "clamp_max.Tensor": (("c", NotImplementedError, "minimum_cpu"),),
    "remainder": (("bc", NotImplementedError, "remainder_cpu"),),
    "fmod": (("bc", NotImplementedError, "fmod_cpu"),),
    "floor_divide": (("bc", NotImplementedError, "div_floor_cpu"),),
    "atan2": (("c", NotImplementedError, "atan2_cpu"),),
    "hypot": (("bic", NotImplementedError, "hypot_cpu"),),
    "copysign": (("c", NotImplementedError, "copysign_cpu"),),
    "xlogy": (("c", NotImplementedError, "xlogy_cpu"),),
    "logaddexp": (("bi", NotImplementedError, "logaddexp_cpu"),),
    "logaddexp2": (("bic", NotImplementedError, "logaddexp2_cpu"),),
    "igamma": (("bic", NotImplementedError, "igamma_cpu"),),
    "igammac": (("bic", NotImplementedError, "igammac_cpu"),),
    "special_zeta": (("c", NotImplementedError, "zeta_cpu"),),
    "special_xlog1py": (("c", NotImplementedError, "xlog1py_cpu"),),
    "i0": (("c", NotImplementedError, "i0_vml_cpu"),),
    "nextafter": (("bic", NotImplementedError, "nextafter_cpu"),),
    "heaviside": (("c", RuntimeError, "heaviside is not yet implemented for complex tensors."),),
    "median": (("bc", NotImplementedError, "median_cpu"),),
    "mode": (("c", NotImplementedError, "mode_cpu"),),
    "kthvalue": (("bc", NotImplementedError, "kthvalue_cpu"),),
    "sort": (("c", RuntimeError, " Sort does not support complex dtypes on CPU"),),
    "topk": (
        ("c", RuntimeError, " topk does not support complex dtypes on CPU"),
        ("b", RuntimeError, "topk does not support bool dtypes on CPU"),
    ),
    "amax": (("c", NotImplementedError, "max_values_cpu"),),
    "amin": (("c", NotImplementedError, "min_values_cpu"),),
    "max": (("c", NotImplementedError, "max_all"),),
    "min": (("c", NotImplementedError, "min_all"),),
    "max.dim": (("c", RuntimeError, "max(): does not support complex input"),),
    "min.dim": (("c", RuntimeError, "min(): does not support complex input"),),
    "aminmax": (("c", NotImplementedError, "aminmax_cpu"),),
    "cummax": (("c", NotImplementedError, "cummax_cpu"),),
    "cummin": (("c", NotImplementedError, "cummin_cpu"),),
    "logcumsumexp": (("bi", NotImplementedError, "logcumsumexp_out_cpu"),),
    "pow": (("b", NotImplementedError, "pow"),),
    "gcd": (("bfc", NotImplementedError, "gcd_cpu"),),
    "lcm": (("bfc", NotImplementedError, "lcm_cpu"),),
    "bitwise_not": (("fc", NotImplementedError, "bitwise_not_cpu"),),
    "bitwise_left_shift": (("bfc", NotImplementedError, "lshift_cpu"),),
    "bitwise_right_shift": (("bfc", NotImplementedError, "rshift_cpu"),),
}
for _name in ("argmax", "argmin"):
    _TABLE[_name] = (
        ("c", RuntimeError, f"{_name}(): does not support complex input"),
        ("b", RuntimeError, f"{_name}(): does not support bool input"),
    )
for _name in ("floor", "ceil", "trunc"):
    _TABLE[_name] = (
        ("c", NotImplementedError, _NO_COMPLEX.format(_name)),
        ("b", NotImplementedError, f"{_name}_vml_cpu"),
    )
for _name in ("maximum", "minimum", "fmax", "fmin"):
    _TABLE[_name] = (("c", RuntimeError, f"{_name} not implemented for complex tensors."),)
for _name in ("lt", "le", "gt", "ge"):
    _TABLE[_name] = (("c", NotImplementedError, f"{_name}_cpu"),)
for _name in ("and", "or", "xor"):
    _TABLE[f"bitwise_{_name}"] = (("fc", NotImplementedError, f"bitwise_{_name}_cpu"),)


def kind(dtype: Any) -> str:
    """b, i, f or c."""
    if dtype.is_complex:
        return "c"
    if dtype.is_floating_point:
        return "f"
    return "b" if dtype is _core.bool else "i"


def refuse(name: str, dtype: Any, meta: bool = False) -> None:
    """Raises PyTorch's error where the operator does not take the dtype; meta tensors know no kernels."""
    for kinds, error, text in _TABLE.get(name, ()):
        if kind(dtype) in kinds and not (meta and " " not in text):
            raise error(text if " " in text else f"\"{text}\" not implemented for '{type_name(dtype)}'")


def refusing(name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    """The dtype rule ``rule`` of all operands, checked; ``rule`` itself where nothing is refused."""
    if name not in _TABLE:
        return rule

    def checked(*arguments: Any) -> Any:
        found = rule(*arguments)
        compute = found[0] if isinstance(found, tuple) else found
        without = any(isinstance(a, _core.TensorBase) and a.is_meta for a in arguments)
        refuse(name, compute if compute is not None else _core.result_type(*arguments), without)
        return found

    checked.takes_all = True  # type: ignore[attr-defined]
    return checked


def refusing_like(name: str, *others: Any) -> Callable[..., Any]:
    """The dtype rule of results like the input (and others), where the operator takes the dtype."""

    def rule(self: Any) -> Any:
        refuse(name, self.dtype)
        return (self.dtype, [self.dtype, *others]) if others else self.dtype

    return rule
