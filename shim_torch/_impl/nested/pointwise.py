"""Functions of one element at a time: of the values where the operands fit them, part by part where they do not."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch._impl.nested.base import HANDLERS, is_nested
from shim_torch.nested._internal.nested_tensor import NestedTensor

_ONE = (
    "abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bernoulli bitwise_not ceil celu "
    "clamp clamp_max clamp_min clip conj conj_physical cos cosh deg2rad digamma dropout alpha_dropout elu erf erfc erfinv exp exp2 "
    "expm1 fix floor frac gelu hardshrink hardsigmoid hardswish hardtanh i0 isfinite isinf isnan isneginf isposinf isreal leaky_relu "
    "lgamma log log10 log1p log2 logical_not logit logsigmoid log_sigmoid mish mvlgamma nan_to_num neg negative polygamma positive "
    "rad2deg reciprocal relu relu6 round rrelu rsqrt selu sgn sigmoid sign signbit silu sin sinc sinh softplus softshrink softsign "
    "sqrt square tan tanh tanhshrink threshold trunc native_dropout feature_dropout feature_alpha_dropout real imag "
    "special_bessel_j0 special_bessel_j1 special_entr special_erfcx special_i0 special_i0e special_i1 special_i1e special_log_ndtr "
    "special_ndtr special_ndtri view_as_real dropout1d xlog1py _neg_view resolve_conj resolve_neg"
).split()
_SEVERAL = (
    "add addcdiv addcmul atan2 arctan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign div divide "
    "eq float_power floor_divide fmax fmin fmod ge greater greater_equal gt heaviside hypot isclose ldexp le lerp less less_equal "
    "logaddexp logaddexp2 logical_and logical_or logical_xor lt masked_fill maximum minimum mul multiply ne nextafter not_equal pow "
    "remainder rsub sub subtract true_divide where xlogy __and__ __or__ __xor__ __radd__ __rmul__ __rsub__ __rtruediv__ __rpow__ "
    "__rdiv__ __rfloordiv__ __rmod__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __pow__ __invert__ __iand__ __ior__ __ixor__ __idiv__ "
    "__lshift__ __rshift__ __rand__ __ror__ __rxor__ __add__ __sub__ __mul__ __truediv__ __floordiv__ __mod__ __ipow__ __div__ "
    "__iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __neg__ __abs__ __pos__ masked_fill threshold_backward "
    "polar complex special_xlog1py special_zeta gcd lcm"
).split()
_IN_PLACE_ONLY = "fill_ zero_ normal_ uniform_ random_ bernoulli_ exponential_ cauchy_ geometric_ log_normal_".split()


def _mapped(x: Any, change: Any) -> Any:
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return type(x)(_mapped(i, change) for i in x)
    return change(x) if isinstance(x, torch.Tensor) else x


def _tensors(args: Any, kwargs: Any) -> list[Any]:
    found: list[Any] = []
    _mapped([*args, *kwargs.values()], lambda t: found.append(t))
    return found


def _refuse_shapes(func: Any, tensors: list[Any]) -> None:
    shapes = " and ".join(
        str(t.shape) if isinstance(t, NestedTensor) or not is_nested(t) else "nested" for t in tensors
    )
    raise RuntimeError(f"cannot call binary pointwise function {func.__name__}.Tensor with inputs of shapes {shapes}")


def _fits_values(x: NestedTensor, t: Any) -> bool:
    """Whether a plain tensor broadcasts with the values as it does with the rows: only dimensions after the varying one count."""
    inner = x._values.dim() - x._ragged_idx
    return t.dim() == 0 or t.dim() <= inner or all(n == 1 for n in t.shape[: t.dim() - inner]) and t.dim() <= x.dim()


def _whole(func: Any, x: NestedTensor, args: Any, kwargs: Any) -> Any:
    """One call of the values."""

    def plain(t: Any) -> Any:
        if is_nested(t):
            return t._values
        while t.dim() > x._values.dim():
            t = t.squeeze(0)
        return t

    return func(*_mapped(list(args), plain), **{k: _mapped(v, plain) for k, v in kwargs.items()})


def _by_parts(func: Any, x: Any, args: Any, kwargs: Any) -> list[Any]:
    rows = len(x.parts())
    tables = {id(t): t.parts() for t in _tensors(args, kwargs) if is_nested(t)}

    def part(i: int) -> Any:
        def of(t: Any) -> Any:
            if is_nested(t):
                return tables[id(t)][i]
            return t[i if t.shape[0] != 1 else 0] if t.dim() == x.dim() else t

        return func(*_mapped(list(args), of), **{k: _mapped(v, of) for k, v in kwargs.items()})

    return [part(i) for i in range(rows)]


def _check_structure(func: Any, x: Any, tensors: list[Any]) -> None:
    for t in tensors:
        if is_nested(t) and type(t) is not type(x):
            raise RuntimeError(f"{func.__name__}: nested tensors of two layouts do not go together")
        if isinstance(t, NestedTensor) and (t.symbol() != x.symbol() or t._ragged_idx != x._ragged_idx):
            _refuse_shapes(func, tensors)
        if is_nested(t) and t.size(0) != x.size(0):
            raise RuntimeError(f"{func.__name__}: Expected both nested tensors to have the same number of parts")
        if not is_nested(t) and (t.dim() > x.dim() or (t.dim() == x.dim() and t.shape[0] not in (1, x.size(0)))):
            _refuse_shapes(func, tensors)


def _check_strided(name: str, x: Any, tensors: list[Any]) -> None:
    nested = [t for t in tensors if is_nested(t)]
    for t in tensors:
        if not is_nested(t) and t.dim() and t.numel() != 1 and t.dim() < x.dim() and len(tensors) == 2:
            operands = "a nested self and non-nested other" if t is tensors[1] else "a non-nested self and nested other"
            raise RuntimeError(f"Expected both self and other to be nested, but got {operands}")
    if (
        name == "div"
        and len(nested) > 1
        and any(
            p.stride() != q.stride() and p.shape == q.shape
            for t in nested[1:]
            for p, q in zip(x._parts, t._parts, strict=True)
        )
    ):
        raise RuntimeError(f"{name} requires strides to match when given NestedTensors")
    if len(tensors) == 1 and name in _ONE and "dropout" not in name and not x.contiguous_parts():
        raise RuntimeError("NestedTensor must be contiguous to get buffer.")


def pointwise(func: Any, args: Any, kwargs: Any) -> Any:
    """A function of corresponding elements; numbers and plain tensors broadcast. RuntimeError for rows that differ."""
    tensors = _tensors(args, kwargs)
    x = next(t for t in tensors if is_nested(t))
    _check_structure(func, x, tensors)
    name = func.__name__.partition(".")[0]
    inplace = (name.endswith("_") and not name.endswith("__")) or name.startswith("__i") and name != "__invert__"
    inplace = inplace or kwargs.get("inplace") is True
    if isinstance(x, NestedTensor) and all(is_nested(t) or _fits_values(x, t) for t in tensors):
        found = _whole(func, x, args, kwargs)
        if inplace:
            return x
        return tuple(x.with_values(f) for f in found) if isinstance(found, tuple) else x.with_values(found)
    if not isinstance(x, NestedTensor):
        _check_strided(name.strip("_"), x, tensors)
    parts = _by_parts(func, x, args, kwargs)
    if inplace:
        return args[0]
    if parts and isinstance(parts[0], tuple):
        return tuple(x.of_parts(list(column)) for column in zip(*parts, strict=True))
    return x.of_parts(parts)


for _name in (*_ONE, *_SEVERAL):
    for _n in (_name, _name if _name.startswith("__") else _name + "_"):
        HANDLERS.setdefault(_n, pointwise)
for _name in _IN_PLACE_ONLY:
    HANDLERS.setdefault(_name, pointwise)


def _fill(func: Any, args: Any, kwargs: Any) -> Any:
    value = args[1] if len(args) > 1 else kwargs["value"]
    if isinstance(value, torch.Tensor) and value.dim():
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions."
        )
    return pointwise(func, args, kwargs)


HANDLERS["fill_"] = _fill
