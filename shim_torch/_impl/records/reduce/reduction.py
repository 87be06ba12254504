"""Sums, means and products over dims."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import axes_of, conjugate, reduced_count, spread, with_dims
from shim_torch._impl.records.shared.matrices import on_cuda
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import int_to_float, reduced, sum_dtype, type_name

_ALL = {"shape": lambda self: ()}


def _mean_dtype(self: Any, dtype: Any) -> Any:
    kind = dtype or self.dtype
    if not (kind.is_floating_point or kind.is_complex):
        what = "Input dtype" if dtype is None else "Optional dtype"
        got = f"Got: {_core.scalar_name(kind)}"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {what} must be either a floating point or complex dtype. {got}"
        )
    return kind


@op(
    "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    foreseen="floats",
    **_ALL,
    dtype=sum_dtype,
    native="sum_all",
    grad={"self": lambda g, self_shape: g.expand(self_shape)},
    autocast="float32_cuda",
    overlap="unchecked",
    sums_in_out_dtype=True,
)
def sum_all(xp, self, dtype):
    """The sum of all elements, or sums over ``dim``; integers and bool are added in int64 without ``dtype``."""
    return self.any() if self.dtype.kind == "b" else self.sum()  # bool only where dtype= says so


@op(
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    foreseen="floats",
    shape=reduced,
    dtype=sum_dtype,
    native="sum",
    out=True,
    channels_last="read",
    grad={"self": lambda g, self_shape, dim, keepdim: spread(g, self_shape, dim, keepdim)},
    nested="reduction",
    autocast="float32_cuda",
    overlap="unchecked",
    sums_in_out_dtype=True,
)
def sum_dim(xp, self, dim, keepdim, dtype):
    """The sums over ``dim`` (all dims where it is None or empty)."""
    add = self.any if self.dtype.kind == "b" else self.sum
    return add(axis=axes_of(dim, self.ndim), keepdims=keepdim)


@op(
    "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    shape=reduced,
    dtype=sum_dtype,
    native="nansum",
    out=True,
    grad={"self": lambda g, self, dim, keepdim: spread(g, self.shape, dim, keepdim) * ~self.isnan()},
    nested="reduction",
    sums_in_out_dtype=True,
)
def nansum(xp, self, dim, keepdim, dtype):
    """Sums over ``dim`` (all dims without it) in which NaN counts as 0.

    Integers and bool are added in int64 without a ``dtype``. Complex is refused on the CPU.
    """
    if self.dtype.kind == "c" and not on_cuda(self):
        raise RuntimeError("nansum on CPU does not support complex inputs")
    add = xp.any if self.dtype.kind == "b" else xp.nansum
    return add(self, axis=axes_of(dim, self.ndim), keepdims=keepdim)


def _mean(self, axis, keepdim):
    if self.dtype.kind != "c":
        return self.mean(axis=axis, keepdims=keepdim)
    # The count is a complex number to PyTorch: dividing by it, an infinity makes the other part NaN.
    total = self.sum(axis=axis, keepdims=keepdim)
    return total / self.dtype.type(self.size // max(total.size, 1) if total.size else 0)


@op(
    "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    foreseen="floats",
    **_ALL,
    dtype=_mean_dtype,
    out=True,
    native="mean_all",
    out_overload="dtype_out",
    grad={"self": lambda g, self_shape: g.expand(self_shape) / max(reduced_count(self_shape, None), 1)},
    overlap="unchecked",
    sums_in_out_dtype=True,
)
def mean_all(xp, self, dtype):
    """The mean of all elements, or means over ``dim``.

    Floating and complex dtypes, or any with such a ``dtype``; others raise RuntimeError.
    """
    return _mean(self, None, False)


@op(
    "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    foreseen="floats",
    gradient_name="MeanBackward1",
    shape=reduced,
    dtype=_mean_dtype,
    native="mean",
    out=True,
    channels_last="read",
    grad={
        "self": lambda g, self_shape, dim, keepdim: (
            spread(g, self_shape, dim, keepdim) / max(reduced_count(self_shape, dim), 1)
        )
    },
    nested="reduction",
    overlap="unchecked",
    sums_in_out_dtype=True,
    out_overload="out",
)
def mean_dim(xp, self, dim, keepdim, dtype):
    """The means over ``dim`` (all dims where it is None or empty)."""
    return _mean(self, axes_of(dim, self.ndim), keepdim)


@composite(
    "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    out=True,
    nested="reduction",
    refuses=(("bi", "nanmean(): expected input to have floating point or complex dtype but got {}"),),
    batching="along_dim",
    out_error_name="nansum",
)
def nanmean(self, dim, keepdim, dtype):
    """Means over ``dim`` (all dims without it) of what is not NaN; NaN where nothing is left. Integers are refused."""
    return self.nansum(dim, keepdim, dtype=dtype) / (~self.isnan()).sum(dim, keepdim)


def _prod_grad(g, self, result):
    if self.numel() == 0:
        return self.new_zeros(self.shape)
    zeros = self == 0
    if not bool(zeros.any()):
        return g * conjugate(result / self)
    flat = self.reshape(-1)
    ones = flat.new_ones(1)
    left = torch.cat([ones, flat[:-1].cumprod(0)])
    right = torch.cat([ones, flat.flip(0)[:-1].cumprod(0)]).flip(0)
    return g * conjugate(left * right).reshape(self.shape)


@op(
    "prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    **_ALL,
    dtype=sum_dtype,
    native="prod",
    grad={"self": _prod_grad},
    autocast="float32",
    overlap="unchecked",
    sums_in_out_dtype=True,
)
def prod_all(xp, self, dtype):
    """The product of all elements, or products along ``dim``; integers and bool multiply in int64 without ``dtype``."""
    return self.all() if self.dtype == "bool" else self.prod()


def _prod_dim_grad(g, self, result, dim, keepdim):
    if self.dim() == 0:
        return g
    g, result = with_dims(g, self.shape, (dim,), keepdim), with_dims(result, self.shape, (dim,), keepdim)
    if not bool((self == 0).any()):
        return g * conjugate(result / self)
    ones = self.narrow(dim, 0, 1) * 0 + 1
    n = self.size(dim)
    left = torch.cat([ones, self.narrow(dim, 0, n - 1).cumprod(dim)], dim)
    flipped = self.flip(dim)
    right = torch.cat([ones, flipped.narrow(dim, 0, n - 1).cumprod(dim)], dim).flip(dim)
    return g * conjugate(left * right)


@op(
    "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    shape=lambda self, dim, keepdim: reduced(self, (dim,), keepdim),
    dtype=sum_dtype,
    native="prod",
    out=True,
    grad={"self": _prod_dim_grad},
    nested="reduction",
    batching="along_dim",
    autocast="float32",
    overlap="unchecked",
    sums_in_out_dtype=True,
)
def prod_dim(xp, self, dim, keepdim, dtype):
    """The products along ``dim``."""
    axis = axes_of((dim,), self.ndim)
    return self.all(axis=axis, keepdims=keepdim) if self.dtype == "bool" else self.prod(axis=axis, keepdims=keepdim)


@op(
    "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    foreseen="floats",
    shape=reduced,
    dtype=int_to_float,
    out=True,
    native="logsumexp",
    grad={
        "self": lambda g, self, result, dim, keepdim: (
            with_dims(g, self.shape, dim, keepdim)
            * conjugate((self - with_dims(result, self.shape, dim, keepdim)).exp())
        )
    },
    nested="reduction",
    batching="along_dim",
    autocast="float32_cuda",
    cast_error="logsumexp(): Expected floating point type for result tensor, but got: {O}",
)
def logsumexp(xp, self, dim, keepdim):
    """log Σ exp(x) over ``dim``, without overflow; integers give the default dtype."""
    axes = axes_of(dim, self.ndim)
    if self.size == 0:
        return xp.log(xp.exp(self).sum(axis=axes, keepdims=keepdim))
    m = self.real.max(axis=axes, keepdims=True)
    m = xp.where(xp.isfinite(m), m, 0).astype(m.dtype)
    s = xp.log(xp.exp(self - m).sum(axis=axes, keepdims=True)) + m
    return s if keepdim else xp.squeeze(s, axes)


@composite(
    "dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
    gradient_name="DistBackward0",
    autocast="float32_cuda",
)
def dist(self, other, p):
    """The norm of order ``p`` of input - other, which broadcast: one number; integers are refused."""
    difference = self - other
    if not (difference.is_floating_point() or difference.is_complex()):
        kind = type_name(difference.dtype)
        raise RuntimeError(f"norm(): input dtype should be either floating point or complex. Got {kind} instead.")
    return aten.linalg_vector_norm(difference, p)
