"""Operators of one MaskedTensor that keep its mask."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch._impl.native import _core
from shim_torch.masked.maskedtensor.core import _map_mt_args_kwargs, _wrap_result

__all__: list[str] = []

UNARY_NAMES = """abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not ceil
clamp clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac lgamma log log10 log1p log2 logit i0
isnan nan_to_num neg negative positive pow rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt square tan
tanh trunc""".split()
INPLACE_UNARY_NAMES = [f"{n}_" for n in UNARY_NAMES if hasattr(torch.Tensor, f"{n}_")]
UNARY_NAMES_UNSUPPORTED = """atan2 arctan2 bitwise_left_shift bitwise_right_shift copysign float_power fmod frexp gradient imag ldexp
lerp logical_not hypot igamma igammac mvlgamma nextafter polygamma real remainder true_divide xlogy""".split()


def with_values(like: Any, values: Any) -> Any:
    """A sparse tensor with the indices of ``like``."""
    if like.layout == _core.sparse_coo:
        return torch.sparse_coo_tensor(like.indices(), values, like.size())
    return torch.sparse_csr_tensor(like.crow_indices(), like.col_indices(), values, like.size())


def _unary(packet: Any, inplace: bool) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise ValueError(
                "MaskedTensor unary ops require that len(kwargs) == 0. If you need support for this, please open an issue on Github."
            )
        if any(isinstance(a, _core.TensorBase) for a in args[1:]):
            raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
        masked = args[0]
        (data, *rest), _ = _map_mt_args_kwargs(args, {}, lambda x: x._masked_data)
        if data.layout == _core.strided:
            result = packet(data, *rest)
        else:
            data = data.coalesce() if data.is_sparse else data
            result = with_values(data, packet(data.values(), *rest))
        if not inplace:
            return _wrap_result(result, masked.get_mask())
        masked._set_data_mask(result, masked.get_mask())
        return masked

    return run


def _table(names: list[str], inplace: bool) -> dict[Any, Any]:
    packets = (getattr(torch.ops.aten, name) for name in names)
    return {packet: _unary(packet, inplace) for packet in packets}


NATIVE_UNARY_MAP = _table(UNARY_NAMES, False)
NATIVE_INPLACE_UNARY_MAP = _table(INPLACE_UNARY_NAMES, True)
NATIVE_UNARY_FNS, NATIVE_INPLACE_UNARY_FNS = list(NATIVE_UNARY_MAP), list(NATIVE_INPLACE_UNARY_MAP)


def _is_native_unary(fn: Any) -> bool:
    return fn in NATIVE_UNARY_MAP or fn in NATIVE_INPLACE_UNARY_MAP


def _apply_native_unary(fn: Any, *args: Any, **kwargs: Any) -> Any:
    found = NATIVE_UNARY_MAP.get(fn) or NATIVE_INPLACE_UNARY_MAP.get(fn)
    return found(*args, **kwargs) if found else NotImplemented
