"""Which operators MaskedTensors have, and what they do: two tables, of functions of torch and of ATen's operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import shim_torch as torch
from native import _core
from shim_torch.autograd import Function
from shim_torch.masked.maskedtensor.binary import NATIVE_BINARY_MAP, NATIVE_INPLACE_BINARY_MAP
from shim_torch.masked.maskedtensor.core import (
    MaskedTensor,
    _get_data,
    _masks_match,
    _maybe_get_mask,
    _tensors_match,
    is_masked_tensor,
)
from shim_torch.masked.maskedtensor.passthrough import PASSTHROUGH_FNS, _apply_pass_through_fn
from shim_torch.masked.maskedtensor.reductions import NATIVE_REDUCE_MAP, TENSOR_REDUCE_MAP, TORCH_REDUCE_MAP
from shim_torch.masked.maskedtensor.unary import NATIVE_INPLACE_UNARY_MAP, NATIVE_UNARY_MAP

__all__: list[str] = []
_TENSOR: Any = _core.Tensor

_MASKEDTENSOR_FUNCTION_TABLE: dict[Any, Callable[..., Any]] = {
    **NATIVE_REDUCE_MAP, **TORCH_REDUCE_MAP, **TENSOR_REDUCE_MAP,
}  # fmt: skip
_MASKEDTENSOR_DISPATCH_TABLE: dict[Any, Callable[..., Any]] = {
    **NATIVE_REDUCE_MAP, **NATIVE_UNARY_MAP, **NATIVE_INPLACE_UNARY_MAP, **NATIVE_BINARY_MAP, **NATIVE_INPLACE_BINARY_MAP,
    **{fn: partial(_apply_pass_through_fn, fn) for fn in PASSTHROUGH_FNS},
}  # fmt: skip


def _register(table: dict[Any, Callable[..., Any]], ops: Any) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        for op in ops:
            table[op] = partial(function, op)
        return function

    return decorate


def register_function_func(ops: Any) -> Callable[[Any], Any]:
    """A decorator: ``function(func, *args, **kwargs)`` is what these functions of torch do with MaskedTensors."""
    return _register(_MASKEDTENSOR_FUNCTION_TABLE, ops)


def register_dispatch_func(aten_ops: Any) -> Callable[[Any], Any]:
    """A decorator: ``function(func, *args, **kwargs)`` is what these operators of ``torch.ops.aten`` do with MaskedTensors."""
    return _register(_MASKEDTENSOR_DISPATCH_TABLE, aten_ops)


def _check_args_kwargs_length(
    args: Any, kwargs: Any, error_prefix: str, len_args: int | None = None, len_kwargs: int | None = None
) -> None:
    for name, wanted, given in (("args", len_args, args), ("kwargs", len_kwargs, kwargs)):
        if wanted is not None and wanted != len(given):
            raise ValueError(f"{error_prefix}: len({name}) must be {wanted} but got {len(given)}")


class _Relaid(Function):
    """Data and mask in another layout, or contiguous; gradients go back to the old layout."""

    @staticmethod
    def forward(ctx: Any, masked: Any, to: str) -> Any:  # type: ignore[override]
        ctx.layout, ctx.to = masked.layout, to
        data, mask = masked._masked_data, masked._masked_mask
        if to == "contiguous":
            return masked if data.is_contiguous() else MaskedTensor(data.contiguous(), mask.contiguous())
        if to == "dense":
            return masked if masked.layout == _core.strided else MaskedTensor(data.to_dense(), mask.to_dense())
        if masked.layout == (_core.sparse_coo if to == "coo" else _core.sparse_csr):
            return masked
        pattern = mask.to_sparse_coo().coalesce() if to == "coo" else mask.to_sparse_csr()
        return MaskedTensor(data.sparse_mask(pattern), pattern)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override]
        if ctx.to == "contiguous" or not is_masked_tensor(grad) or grad.layout == ctx.layout:
            return grad, None
        to = {_core.sparse_coo: "coo", _core.sparse_csr: "csr"}.get(ctx.layout, "dense")
        return _Relaid.apply(grad, to), None  # not by its methods: backward() of a masked tensor keeps __torch_function__ off


class _Where(Function):
    @staticmethod
    def forward(ctx: Any, cond: Any, one: Any, other: Any) -> Any:  # type: ignore[override]
        ctx.save_for_backward(cond)
        return torch.ops.aten.where(cond, one, other)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override]
        (cond,) = ctx.saved_tensors
        none = MaskedTensor(grad._masked_data, torch.zeros_like(grad._masked_mask))
        return None, torch.ops.aten.where(cond, grad, none), torch.ops.aten.where(cond, none, grad)


@register_function_func([_TENSOR.where, torch.where])
def _function_where(func: Any, *args: Any, **kwargs: Any) -> Any:
    _check_args_kwargs_length(args, kwargs, "__torch_function__, torch.where", len_args=3, len_kwargs=0)
    return _Where.apply(*args)


_LAYOUT_METHODS = dict(contiguous="contiguous", to_dense="dense", to_sparse="coo", to_sparse_coo="coo", to_sparse_csr="csr")
for _method, _to in _LAYOUT_METHODS.items():

    @register_function_func([getattr(_core.Tensor, _method)])
    def _function_relay(func: Any, masked: Any, *args: Any, _to: str = _to, **kwargs: Any) -> Any:
        if _to == "contiguous" and masked.is_sparse:
            raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
        if _to == "csr" and masked.dim() != 2:
            raise ValueError(
                f"Only 2D tensors can be converted to the SparseCsr layout but got shape: {masked._masked_data.size()}"
            )
        return _Relaid.apply(masked, _to)


@register_function_func([_TENSOR.is_contiguous])
def _function_is_contiguous(func: Any, masked: Any, *args: Any, **kwargs: Any) -> Any:
    if masked.is_sparse:
        raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
    return masked._masked_data.is_contiguous(*args, **kwargs)


_aten: Any = torch.ops.aten


@register_dispatch_func([_aten.contiguous])
def contiguous(func: Any, *args: Any, **kwargs: Any) -> Any:
    if _get_data(args[0]).is_sparse:
        raise ValueError("MaskedTensors with sparse data do not have contiguous")
    return _Relaid.apply(args[0], "contiguous")


@register_dispatch_func([_aten.new_empty_strided])
def new_empty_strided(func: Any, *args: Any, **kwargs: Any) -> Any:
    _check_args_kwargs_length(args, kwargs, f"__torch_dispatch__, {func}", len_args=3)
    data = _get_data(args[0])
    for i, name in ((1, "size"), (2, "stride")):
        if tuple(args[i]) != tuple(getattr(data, name)()):
            raise ValueError(f"__torch_dispatch__, {func}: args[{i}] expected to be the same as data.{name}()")
    return MaskedTensor(func(data, args[1], args[2], **kwargs), _maybe_get_mask(args[0]))


@register_dispatch_func([_aten._local_scalar_dense])
def _local_scalar_dense(func: Any, *args: Any, **kwargs: Any) -> Any:
    if not _maybe_get_mask(args[0]):
        raise ValueError(f"__torch_dispatch__, {func}: expected a mask tensor")
    return func(_get_data(args[0]))


@register_dispatch_func([_aten.detach, _aten.clone, _aten.ones_like, _aten.zeros_like])
def _apply_fn_on_data(func: Any, *args: Any, **kwargs: Any) -> Any:
    return MaskedTensor(func(_get_data(args[0]), *args[1:], **kwargs), _maybe_get_mask(args[0]))


@register_dispatch_func([_aten._to_copy])
def _to_copy(func: Any, *args: Any, **kwargs: Any) -> Any:
    mask = func(_maybe_get_mask(args[0]), *args[1:], **{**kwargs, "dtype": _core.bool})
    return MaskedTensor(func(_get_data(args[0]), *args[1:], **kwargs), mask)


@register_dispatch_func([_aten._softmax])
def _softmax(func: Any, *args: Any, **kwargs: Any) -> Any:
    _check_args_kwargs_length(args, kwargs, f"__torch_dispatch__, {func}", len_args=3, len_kwargs=0)
    data, mask = _get_data(args[0]), _maybe_get_mask(args[0])
    return MaskedTensor(torch.masked.softmax(data, args[1], mask=mask), mask)


@register_dispatch_func([_aten._softmax_backward_data])
def _softmax_backward_data(func: Any, *args: Any, **kwargs: Any) -> Any:
    _check_args_kwargs_length(args, kwargs, f"__torch_dispatch__, {func}", len_args=4)
    grad, output, dim, _ = args
    if not is_masked_tensor(grad) or not is_masked_tensor(output):
        raise ValueError(f"__torch_dispatch__, {func}: grad and output must both be MaskedTensors")
    if not _masks_match(grad, output):
        raise ValueError(f"__torch_dispatch__, {func}: expected the masks of grad and output to match")
    mask = _maybe_get_mask(grad)
    g, out = (x._masked_data.masked_fill(~mask, 0) for x in (grad, output))
    return MaskedTensor(out * (g - (g * out).sum(dim, keepdim=True)), mask)


@register_dispatch_func([_aten.copy_])
def copy_(func: Any, *args: Any, **kwargs: Any) -> Any:
    _check_args_kwargs_length(args, kwargs, f"__torch_dispatch__, {func}", len_args=2)
    if all(map(is_masked_tensor, args)) and not _tensors_match(*map(_maybe_get_mask, args)):
        raise ValueError("args[0] mask and args[1] mask must match but do not")
    func(_get_data(args[0]), _get_data(args[1]))
    return args[0]


def _whole(x: Any) -> Any:
    return x if is_masked_tensor(x) else MaskedTensor(x, torch.ones_like(x, dtype=_core.bool))


@register_dispatch_func([_aten.where])
def where(func: Any, *args: Any, **kwargs: Any) -> Any:
    _check_args_kwargs_length(args, kwargs, f"__torch_dispatch__, {func}", len_args=3, len_kwargs=0)
    if not isinstance(args[0], _core.TensorBase):
        raise ValueError(f"__torch_dispatch__, {func}: expected args[0] to be a tensor")
    one, other = map(_whole, args[1:])
    mask = func(args[0], one._masked_mask, other._masked_mask)
    return MaskedTensor(func(args[0], one._masked_data, other._masked_data), mask)


@register_dispatch_func([_aten.is_same_size])
def is_same_size(func: Any, *args: Any, **kwargs: Any) -> Any:
    _check_args_kwargs_length(args, kwargs, f"__torch_dispatch__, {func}", len_args=2)
    return _get_data(args[0]).size() == _get_data(args[1]).size()


@register_dispatch_func([_aten._is_any_true])
def _is_any_true(func: Any, *args: Any, **kwargs: Any) -> Any:
    _check_args_kwargs_length(args, kwargs, f"__torch_dispatch__, {func}", len_args=1, len_kwargs=0)
    data, mask = _get_data(args[0]), _maybe_get_mask(args[0])
    if mask is None:
        raise ValueError(f"__torch_dispatch__, {func}: expected args[0] to be a MaskedTensor")
    if data.dtype != _core.bool:
        raise ValueError(f"__torch_dispatch__, {func}: expected a boolean tensor")
    if data.is_sparse:
        raise ValueError(f"MaskedTensors with sparse data do not have {func}")
    return MaskedTensor((data & mask).any(), torch.tensor(True))
