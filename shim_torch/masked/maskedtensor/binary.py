"""Operators of two operands, one a MaskedTensor at least; two have the same mask."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch._impl.native import _core
from shim_torch.masked.maskedtensor.core import (
    _map_mt_args_kwargs,
    _masks_match,
    _same_indices,
    _wrap_result,
    is_masked_tensor,
)
from shim_torch.masked.maskedtensor.unary import with_values

__all__: list[str] = []

BINARY_NAMES = """add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide floor_divide
fmod logaddexp logaddexp2 mul multiply nextafter remainder sub subtract true_divide eq ne le ge greater greater_equal gt less_equal
lt less maximum minimum fmax fmin not_equal""".split()
INPLACE_BINARY_NAMES = [f"{n}_" for n in BINARY_NAMES if hasattr(torch.Tensor, f"{n}_")]


def _get_at_least_one_mask(a: Any, b: Any) -> Any:
    if not is_masked_tensor(a) and not is_masked_tensor(b):
        raise TypeError("At least one of `a` and `b` must be a MaskedTensor")
    if not _masks_match(a, b):
        raise ValueError("a and b must have matching masks")
    return a.get_mask() if is_masked_tensor(a) else b.get_mask()


def _of_sparse(packet: Any, data: list[Any]) -> Any:
    """The operator on the values; ValueError unless the indices are the same."""
    first, second = data[0], data[1]
    if isinstance(second, _core.TensorBase) and second.layout == first.layout:
        if not _same_indices(first, second):
            raise ValueError(
                f"sparse_{'coo' if first.layout == _core.sparse_coo else 'csr'} indices must match. "
                "If you need support for this, please open an issue on Github."
            )
        if first.size() != second.size():
            raise ValueError("input1 and input2 must have the same size for binary functions.")
        data = [first, second.values(), *data[2:]]
    return with_values(first, packet(first.values(), *data[1:]))


def _binary(packet: Any, inplace: bool) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise ValueError("len(kwargs) must equal 0")
        if any(isinstance(a, _core.TensorBase) for a in args[2:]):
            raise TypeError("MaskedTensor binary ops do not support Tensor arguments aside from the lhs and rhs")
        if not _masks_match(*args[:2]):
            raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
        data, _ = _map_mt_args_kwargs(args, {}, lambda x: x._masked_data)
        strided = not isinstance(data[0], _core.TensorBase) or data[0].layout == _core.strided
        result = packet(*data) if strided else _of_sparse(packet, data)
        if inplace:
            args[0]._set_data_mask(result, args[0].get_mask())
            return args[0]
        mask = _get_at_least_one_mask(*args[:2])
        return _wrap_result(result, mask.expand_as(result) if strided else mask)

    return run


def _table(names: list[str], inplace: bool) -> dict[Any, Any]:
    packets = (getattr(torch.ops.aten, name) for name in names)
    return {packet: _binary(packet, inplace) for packet in packets}


NATIVE_BINARY_MAP = _table(BINARY_NAMES, False)
NATIVE_INPLACE_BINARY_MAP = _table(INPLACE_BINARY_NAMES, True)
NATIVE_BINARY_FNS, NATIVE_INPLACE_BINARY_FNS = list(NATIVE_BINARY_MAP), list(NATIVE_INPLACE_BINARY_MAP)


def _is_native_binary(fn: Any) -> bool:
    return fn in NATIVE_BINARY_MAP or fn in NATIVE_INPLACE_BINARY_MAP


def _apply_native_binary(fn: Any, *args: Any, **kwargs: Any) -> Any:
    found = NATIVE_BINARY_MAP.get(fn) or NATIVE_INPLACE_BINARY_MAP.get(fn)
    return found(*args, **kwargs) if found else NotImplemented
