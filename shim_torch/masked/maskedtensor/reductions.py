"""Reductions over the elements that count."""

from __future__ import annotations

import warnings
from typing import Any

import shim_torch as torch
from shim_torch._impl.native import _core
from shim_torch.autograd import Function
from shim_torch.masked.maskedtensor.core import _REQUESTS, MaskedTensor, is_masked_tensor

__all__: list[str] = []

REDUCE_NAMES = ["sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "all", "norm", "var", "std"]


class _Result(Function):
    """What a reduction of plain data made, with its mask; the data's gradient is plain again."""

    @staticmethod
    def forward(ctx: Any, data: Any, mask: Any) -> Any:  # type: ignore[override]
        return MaskedTensor(data, mask)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override]
        return (grad._masked_data if is_masked_tensor(grad) else grad), None


def _any(mask: Any, dim: Any, keepdim: bool) -> Any:
    for d in sorted([dim] if isinstance(dim, int) else dim, reverse=True):
        mask = torch.any(mask, dim=d, keepdim=keepdim)
    return mask


def _of_all(name: str, masked: Any) -> Any:
    data, mask = masked.get_data(), masked.get_mask()
    kept = mask.values() if masked.is_sparse else mask
    values = data.values() if masked.is_sparse else data
    if name == "all":
        result = values.masked_fill(~kept, True).all()
    else:
        result = getattr(torch.masked, name)(values, mask=kept)
        if name in ("argmin", "argmax") and masked.is_sparse_coo():  # an entry's place in the whole tensor
            entry = data.indices()[:, result.long()]
            size = torch.tensor(data.size())
            result = (entry * (data.numel() / size.cumprod(0))).sum()
    return _Result.apply(result, torch.any(kept))


def _along(name: str, masked: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
    if masked.is_sparse:
        warnings.warn(f"The sparse version of {name} is not implemented in reductions.\n{_REQUESTS}", stacklevel=3)
        return NotImplemented
    if not is_masked_tensor(masked):
        raise TypeError("Input to reduce_dim must be a MaskedTensor")
    data, mask = masked.get_data(), masked.get_mask()
    if name == "all":
        result = torch.all(data.masked_fill(~mask, True), dim=dim, keepdim=keepdim)
    else:
        result = getattr(torch.masked, name)(data, dim=dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return _Result.apply(result, _any(mask, dim, keepdim))


def _reduction(name: str) -> Any:
    def reduce(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs:
            return _of_all(name, args[0])
        return _along(name, *args, **kwargs)

    return reduce


NATIVE_REDUCE_MAP = {getattr(torch.ops.aten, name): _reduction(name) for name in REDUCE_NAMES}
TORCH_REDUCE_MAP = {getattr(torch, name): _reduction(name) for name in REDUCE_NAMES}
TENSOR_REDUCE_MAP = {getattr(_core.Tensor, name): _reduction(name) for name in REDUCE_NAMES}
NATIVE_REDUCE_FNS, TORCH_REDUCE_FNS, TENSOR_REDUCE_FNS = map(
    list, (NATIVE_REDUCE_MAP, TORCH_REDUCE_MAP, TENSOR_REDUCE_MAP)
)


def _is_reduction(fn: Any) -> bool:
    return any(fn in table for table in (NATIVE_REDUCE_MAP, TORCH_REDUCE_MAP, TENSOR_REDUCE_MAP))


def _apply_reduction(fn: Any, *args: Any, **kwargs: Any) -> Any:
    for table in (NATIVE_REDUCE_MAP, TORCH_REDUCE_MAP, TENSOR_REDUCE_MAP):
        if fn in table:
            return table[fn](*args, **kwargs)
    return NotImplemented
