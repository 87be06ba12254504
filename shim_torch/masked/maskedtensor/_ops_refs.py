"""Which operators MaskedTensors have, and what they do: two tables, of functions of torch and of ATen's operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import shim_torch as torch
from shim_torch._impl.native import _core
from shim_torch.autograd import Function
from shim_torch.masked.maskedtensor.binary import NATIVE_BINARY_MAP, NATIVE_INPLACE_BINARY_MAP
from shim_torch.masked.maskedtensor.core import (
    MaskedTensor,
    _get_data,
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


def _register_on_parts(
    aten_ops: Any, len_args: int | None = None, len_kwargs: int | None = None
) -> Callable[[Any], Any]:
    """A decorator: ``function(refuse, func, data, mask, *rest, **kwargs)`` gets the first argument's data and mask.

    refuse: makes the ValueError of a text. A pair that it returns is the data and the mask of the result.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        def run(func: Any, *args: Any, **kwargs: Any) -> Any:
            prefix = f"__torch_dispatch__, {func}"
            _check_args_kwargs_length(args, kwargs, prefix, len_args, len_kwargs)
            parts = _get_data(args[0]), _maybe_get_mask(args[0])
            result = function(lambda text: ValueError(f"{prefix}: {text}"), func, *parts, *args[1:], **kwargs)
            return MaskedTensor(*result) if isinstance(result, tuple) else result

        register_dispatch_func(aten_ops)(run)
        return run

    return decorate


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
        return _Relaid.apply(
            grad, to
        ), None  # not by its methods: backward() of a masked tensor keeps __torch_function__ off


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


_LAYOUT_METHODS = dict(
    contiguous="contiguous", to_dense="dense", to_sparse="coo", to_sparse_coo="coo", to_sparse_csr="csr"
)
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
    """A contiguous masked tensor; ValueError for sparse data."""
    if _get_data(args[0]).is_sparse:
        raise ValueError("MaskedTensors with sparse data do not have contiguous")
    return _Relaid.apply(args[0], "contiguous")


@_register_on_parts([_aten.new_empty_strided], len_args=3)
def new_empty_strided(refuse: Any, func: Any, data: Any, mask: Any, size: Any, stride: Any, **kwargs: Any) -> Any:
    """A tensor like data and mask; the size and stride asked for must be theirs."""
    for place, name, given in ((1, "size", size), (2, "stride", stride)):
        if tuple(given) != tuple(getattr(data, name)()):
            raise refuse(f"args[{place}] expected to be the same as data.{name}()")
    return func(data, size, stride, **kwargs), mask


@_register_on_parts([_aten._local_scalar_dense])
def _local_scalar_dense(refuse: Any, func: Any, data: Any, mask: Any) -> Any:
    if not mask:
        raise refuse("expected a mask tensor")
    return func(data)


@_register_on_parts([_aten.detach, _aten.clone, _aten.ones_like, _aten.zeros_like])
def _apply_fn_on_data(refuse: Any, func: Any, data: Any, mask: Any, *rest: Any, **kwargs: Any) -> Any:
    return func(data, *rest, **kwargs), mask


@_register_on_parts([_aten._to_copy])
def _to_copy(refuse: Any, func: Any, data: Any, mask: Any, *rest: Any, **kwargs: Any) -> Any:
    return func(data, *rest, **kwargs), func(mask, *rest, **{**kwargs, "dtype": _core.bool})


@_register_on_parts([_aten._softmax], len_args=3, len_kwargs=0)
def _softmax(refuse: Any, func: Any, data: Any, mask: Any, dim: int, half_to_float: bool) -> Any:
    return torch.masked.softmax(data, dim, mask=mask), mask


@_register_on_parts([_aten._softmax_backward_data], len_args=4)
def _softmax_backward_data(refuse: Any, func: Any, g: Any, mask: Any, output: Any, dim: int, dtype: Any) -> Any:
    if mask is None or not is_masked_tensor(output):
        raise refuse("grad and output must both be MaskedTensors")
    if not _tensors_match(mask, output.get_mask()):
        raise refuse("expected the masks of grad and output to match")
    g, out = (x.masked_fill(~mask, 0) for x in (g, output._masked_data))
    return out * (g - (g * out).sum(dim, keepdim=True)), mask


@register_dispatch_func([_aten.copy_])
def copy_(func: Any, *args: Any, **kwargs: Any) -> Any:
    """Copies the data; the mask stays, whatever that of the source is."""
    _check_args_kwargs_length(args, kwargs, f"__torch_dispatch__, {func}", len_args=2)
    into, source = args
    func(into._masked_data, _get_data(source))
    return into


@_register_on_parts([_aten.where], len_args=3, len_kwargs=0)
def where(refuse: Any, func: Any, condition: Any, mask: Any, one: Any, other: Any) -> Any:
    """Elements of one or the other by a plain condition; masks are chosen with the data."""
    if not isinstance(condition, _core.TensorBase):
        raise refuse("expected args[0] to be a tensor")

    def kept(side: Any) -> Any:
        return side.get_mask() if is_masked_tensor(side) else torch.ones_like(side, dtype=_core.bool)

    return func(condition, _get_data(one), _get_data(other)), func(condition, kept(one), kept(other))


@_register_on_parts([_aten.is_same_size], len_args=2)
def is_same_size(refuse: Any, func: Any, data: Any, mask: Any, other: Any) -> Any:
    """Whether data and ``other`` have equal sizes."""
    return data.size() == _get_data(other).size()


@_register_on_parts([_aten._is_any_true], len_args=1, len_kwargs=0)
def _is_any_true(refuse: Any, func: Any, data: Any, mask: Any) -> Any:
    if data.dtype != _core.bool:
        raise refuse("expected a boolean tensor")
    if data.is_sparse:
        raise ValueError(f"MaskedTensors with sparse data do not have {func}")
    return data.logical_and(mask).any(), torch.tensor(True)
