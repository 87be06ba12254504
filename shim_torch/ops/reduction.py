"""Reductions over dims, and cumulative ones."""

from __future__ import annotations

import contextlib
import math
import warnings
from typing import Any

from native import _core

from ._record import composite, op
from ._refusals import refuse
from ._rules import fixed, int_to_float, reduced, sum_dtype, wrap_dim, wrap_dims
from ._special import logaddexp

_ALL = {"shape": lambda self: ()}


def _axes(dim: Any, ndim: int) -> Any:
    return wrap_dims(dim, ndim) if ndim else ()


def _grown(g: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of a reduction, with the reduced dims back at size 1."""
    if keepdim or not len(shape):
        return g
    for d in wrap_dims(dim, len(shape)):
        g = g.unsqueeze(d)
    return g


def _spread(g: Any, shape: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return _grown(g, shape, dim, keepdim).expand(shape)


def _count(shape: Any, dim: Any) -> int:
    n = 1
    for d in wrap_dims(dim, len(shape)):
        n *= shape[d]
    return n


def _mean_dtype(self: Any, dtype: Any) -> Any:
    kind = dtype or self.dtype
    if not (kind.is_floating_point or kind.is_complex):
        from shim_torch._utils import _scalar

        what = "Input dtype" if dtype is None else "Optional dtype"
        got = f"Got: {_scalar(kind)}"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {what} must be either a floating point or complex dtype. {got}"
        )
    return kind


@op(
    "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    **_ALL,
    dtype=sum_dtype,
    native="sum_all",
    grad={"self": lambda g, self_shape: g.expand(self_shape)},
)
def sum_all(xp, self, dtype):
    return self.any() if self.dtype.kind == "b" else self.sum()  # bool only where dtype= says so


@op(
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    shape=reduced,
    dtype=sum_dtype,
    native="sum",
    out=True,
    grad={"self": lambda g, self_shape, dim, keepdim: _spread(g, self_shape, dim, keepdim)},
)
def sum_dim(xp, self, dim, keepdim, dtype):
    return self.sum(axis=_axes(dim, self.ndim), keepdims=keepdim)


@op(
    "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    shape=reduced,
    dtype=sum_dtype,
    out=True,
    grad={"self": lambda g, self, dim, keepdim: _spread(g, self.shape, dim, keepdim) * ~self.isnan()},
)
def nansum(xp, self, dim, keepdim, dtype):
    if self.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    return xp.nansum(self, axis=_axes(dim, self.ndim), keepdims=keepdim)


@op(
    "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    **_ALL,
    dtype=_mean_dtype,
    out=True,
    native="mean_all",
    grad={"self": lambda g, self_shape: g.expand(self_shape) / max(_count(self_shape, None), 1)},
)
def mean_all(xp, self, dtype):
    return self.mean()


@op(
    "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    shape=reduced,
    dtype=_mean_dtype,
    native="mean",
    out=True,
    grad={
        "self": lambda g, self_shape, dim, keepdim: (
            _spread(g, self_shape, dim, keepdim) / max(_count(self_shape, dim), 1)
        )
    },
)
def mean_dim(xp, self, dim, keepdim, dtype):
    return self.mean(axis=_axes(dim, self.ndim), keepdims=keepdim)


@composite("nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", out=True)
def nanmean(self, dim, keepdim, dtype):
    return self.nansum(dim, keepdim, dtype=dtype) / (~self.isnan()).sum(dim, keepdim)


def _conj(x):
    return x.conj() if x.is_complex() else x


def _prod_grad(g, self, result):
    if self.numel() == 0:
        return self.new_zeros(self.shape)
    zeros = self == 0
    if not bool(zeros.any()):
        return g * _conj(result / self)
    flat = self.reshape(-1)
    ones = flat.new_ones(1)
    import shim_torch

    left = shim_torch.cat([ones, flat[:-1].cumprod(0)])
    right = shim_torch.cat([ones, flat.flip(0)[:-1].cumprod(0)]).flip(0)
    return g * _conj(left * right).reshape(self.shape)


@op("prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", **_ALL, dtype=sum_dtype, grad={"self": _prod_grad})
def prod_all(xp, self, dtype):
    return self.prod()


def _prod_dim_grad(g, self, result, dim, keepdim):
    import shim_torch

    if self.dim() == 0:
        return g
    g, result = _grown(g, self.shape, (dim,), keepdim), _grown(result, self.shape, (dim,), keepdim)
    if not bool((self == 0).any()):
        return g * _conj(result / self)
    ones = self.narrow(dim, 0, 1) * 0 + 1
    n = self.size(dim)
    left = shim_torch.cat([ones, self.narrow(dim, 0, n - 1).cumprod(dim)], dim)
    flipped = self.flip(dim)
    right = shim_torch.cat([ones, flipped.narrow(dim, 0, n - 1).cumprod(dim)], dim).flip(dim)
    return g * _conj(left * right)


@op(
    "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    shape=lambda self, dim, keepdim: reduced(self, (dim,), keepdim),
    dtype=sum_dtype,
    out=True,
    grad={"self": _prod_dim_grad},
)
def prod_dim(xp, self, dim, keepdim, dtype):
    return self.prod(axis=_axes((dim,), self.ndim), keepdims=keepdim)


def _extremum_grad(g, self, result, dim, keepdim):
    """Divided evenly among equal elements."""
    result = _grown(result, self.shape, dim, keepdim)
    hit = self == result
    return _grown(g, self.shape, dim, keepdim) * hit / hit.sum(wrap_dims(dim, self.dim()) or None, True)


def _full_extremum_grad(g, self, result):
    """The same for the extremum of all elements: where that is NaN, the NaNs are the equal ones."""
    if not self.is_floating_point() or self.is_meta:
        hit = self == result
    elif self.is_cuda:  # without waiting for the value
        hit = (self == result) | (self.isnan() & result.isnan())
    else:
        hit = self.isnan() if bool(result.isnan()) else self == result
    return hit * (g / hit.sum())


def _refused(name, *others):
    """The dtype rule of results like the input (and others), where the operator takes the dtype."""

    def rule(self):
        refuse(name, self.dtype)
        return (self.dtype, [self.dtype, *others]) if others else self.dtype

    return rule


def _no_empty(name):
    def shape(self, dim, keepdim):
        dims = wrap_dims(dim, len(self.shape))
        if not dim and dim != 0 and 0 in self.shape:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
                "argument."
            )
        for d in dims:
            if len(self.shape) and self.shape[d] == 0:
                raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
        return reduced(self, dim, keepdim)

    return shape


@op(
    "amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    shape=_no_empty("amax"),
    dtype=_refused("amax"),
    out=True,
    native="amax",
    grad={"self": _extremum_grad},
)
def amax(xp, self, dim, keepdim):
    return self.max(axis=_axes(dim, self.ndim), keepdims=keepdim)


@op(
    "amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    shape=_no_empty("amin"),
    dtype=_refused("amin"),
    out=True,
    native="amin",
    grad={"self": _extremum_grad},
)
def amin(xp, self, dim, keepdim):
    return self.min(axis=_axes(dim, self.ndim), keepdims=keepdim)


@composite("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", out=True)
def aminmax(self, dim, keepdim):
    from shim_torch import return_types

    refuse("aminmax", self.dtype)
    if dim is None and self.numel() == 0:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    if dim is not None and self.dim() and self.numel() == 0 and self.size(dim) == 0:
        raise IndexError(f"aminmax: Expected reduction dim {wrap_dim(dim, self.dim())} to have non-zero size.")

    dims = () if dim is None else (dim,)
    return return_types.aminmax((self.amin(dims, keepdim), self.amax(dims, keepdim)))


def _picked_grad(g, self_shape, result1, dim, keepdim):
    """The gradient goes to the picked element."""
    zeros = g.new_zeros(self_shape)
    if not len(self_shape):
        return g
    index = result1 if keepdim else result1.unsqueeze(dim)
    return zeros.scatter(dim, index, g if keepdim else g.unsqueeze(dim))


def _full_extremum(name, reduce):
    def check(self):
        if self.numel() == 0:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
            )
        return ()

    def body(xp, self):
        return getattr(self, reduce)()

    op(
        f"{name}(Tensor self) -> Tensor",
        shape=check,
        dtype=_refused(name),
        out=True,
        native=f"a{name}",
        grad={"self": _full_extremum_grad},
    )(body)


def _picked(xp, self, index, dim, keepdim):
    values = xp.take_along_axis(self, xp.expand_dims(index, dim), dim)
    if keepdim:
        return values, xp.expand_dims(index, dim)
    return xp.squeeze(values, dim), index


def _with_index(name, arg):
    def body(xp, self, dim, keepdim):
        if self.ndim == 0:
            return self, xp.zeros((), "int64")
        d = wrap_dim(dim, self.ndim)
        if self.dtype.kind == "f":
            nan = xp.isnan(self)
            index = xp.where(nan.any(axis=d), nan.argmax(axis=d), getattr(self, arg)(axis=d))
        else:
            index = getattr(self, arg)(axis=d)
        return _picked(xp, self, index.astype("int64"), d, keepdim)

    def shapes(self, dim, keepdim):
        s = _no_empty(name)(self, (dim,), keepdim)
        return [s, s]

    op(
        f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        shape=shapes,
        native=f"{name}_dim",
        out=True,
        dtype=_refused(f"{name}.dim", _core.int64),
        grad={"self": _picked_grad},
    )(body)


# Another tensor comes before a dim: a tensor of one integer would do for either.
for _name, _np in (("max", "argmax"), ("min", "argmin")):
    _full_extremum(_name, _name)
    composite(f"{_name}.other(Tensor self, Tensor other) -> Tensor", out=True)(
        (lambda n: lambda self, other: getattr(self, n)(other))(f"{_name}imum")
    )
    _with_index(_name, _np)


def _arg_shape(self, dim, keepdim):
    if dim is None:
        if self.numel() == 0:
            raise IndexError("argmax(): Expected reduction dim to be specified for input.numel() == 0.")
        return (1,) * len(self.shape) if keepdim else ()
    return _no_empty("argmax")(self, (dim,), keepdim)


def _arg_dtype(name):
    def rule(self):
        refuse(name, self.dtype)
        return None, _core.int64

    return rule


for _name in ("argmax", "argmin"):
    op(
        f"{_name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
        shape=_arg_shape,
        dtype=_arg_dtype(_name),
        out=True,
        native=_name,
    )((lambda n: lambda xp, self, dim, keepdim: _arg(xp, self, dim, keepdim, n))(_name))


def _arg(xp, self, dim, keepdim, name):
    if self.ndim == 0:
        return xp.zeros((), "int64")
    x, axis = (self.reshape(-1), 0) if dim is None else (self, wrap_dim(dim, self.ndim))
    found = getattr(x, name)(axis=axis)
    if x.dtype.kind == "f":
        nan = xp.isnan(x)
        found = xp.where(nan.any(axis=axis), nan.argmax(axis=axis), found)
    found = xp.asarray(found, dtype="int64")
    if keepdim:
        return found.reshape((1,) * self.ndim) if dim is None else xp.expand_dims(found, axis)
    return found


def _truth_dtype(self):
    return None, (_core.uint8 if self.dtype == _core.uint8 else _core.bool)


for _name in ("all", "any"):
    op(f"{_name}(Tensor self) -> Tensor", shape=lambda self: (), dtype=_truth_dtype, native=f"{_name}_all")(
        (lambda n: lambda xp, self: getattr(xp, n)(self).astype("uint8" if self.dtype == "uint8" else "bool"))(_name)
    )
    op(
        f"{_name}.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
        out=True,
        native=f"{_name}_dim",
        shape=lambda self, dim, keepdim: reduced(self, (dim,), keepdim),
        dtype=_truth_dtype,
    )(
        (
            lambda n: (
                lambda xp, self, dim, keepdim: getattr(xp, n)(
                    self, axis=_axes((dim,), self.ndim), keepdims=keepdim
                ).astype("uint8" if self.dtype == "uint8" else "bool")
            )
        )(_name)
    )
    op(
        f"{_name}.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
        out=True,
        native=f"{_name}",
        shape=reduced,
        dtype=_truth_dtype,
    )(
        (
            lambda n: (
                lambda xp, self, dim, keepdim: getattr(xp, n)(
                    self, axis=_axes(dim, self.ndim), keepdims=keepdim
                ).astype("uint8" if self.dtype == "uint8" else "bool")
            )
        )(_name)
    )


def _deviation_dtype(self):
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        raise RuntimeError("std and var only support floating point and complex dtypes")
    return self.dtype, self.dtype.to_real()


def _var_grad(g, self, dim, correction, keepdim):
    c = 1 if correction is None else correction
    n = _count(self.shape, dim)
    g = _grown(g, self.shape, dim, keepdim)
    return (
        (2.0 / max(n - c, 0) if n != c else float("nan"))
        * g
        * (self - self.mean(wrap_dims(dim, self.dim()) or None, True))
    )


def _warn_of_freedom(name, degrees):
    if degrees <= 0:
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
            "divided by output numel).",
            UserWarning,
            stacklevel=2,
        )


@contextlib.contextmanager
def _quiet(xp):
    """Without NumPy's own warnings of the same; CuPy has none."""
    if xp.__name__ != "numpy":
        yield
        return
    with xp.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


@op(
    "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
    shape=reduced,
    dtype=_deviation_dtype,
    native="var",
    out=True,
    grad={"self": _var_grad},
)
def var(xp, self, dim, correction, keepdim):
    c = 1 if correction is None else correction
    _warn_of_freedom("var", _count(self.shape, dim) - c)
    with _quiet(xp):
        return self.var(axis=_axes(dim, self.ndim), ddof=c, keepdims=keepdim)


@op(
    "std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
    shape=reduced,
    dtype=_deviation_dtype,
    native="std",
    out=True,
    grad={
        "self": lambda g, self, result, dim, correction, keepdim: _var_grad(
            (g / (result * 2)).masked_fill(result == 0, 0.0), self, dim, correction, keepdim
        )
    },
)
def std(xp, self, dim, correction, keepdim):
    c = 1 if correction is None else correction
    _warn_of_freedom("std", _count(self.shape, dim) - c)
    with _quiet(xp):
        return self.std(axis=_axes(dim, self.ndim), ddof=c, keepdims=keepdim)


for _name in ("var", "std"):
    composite(f"{_name}(Tensor self, bool unbiased) -> Tensor")(
        (lambda n: lambda self, unbiased: getattr(self, n)(None, correction=int(unbiased)))(_name)
    )
    composite(f"{_name}.dim(Tensor self, int[1]? dim, bool unbiased, bool keepdim=False) -> Tensor", out=True)(
        (
            lambda n: (
                lambda self, dim, unbiased, keepdim: getattr(self, n)(dim, correction=int(unbiased), keepdim=keepdim)
            )
        )(_name)
    )
    composite(
        f"{_name}_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
        method=False,
        native=f"{_name}_mean",
    )(
        (
            lambda n: (
                lambda self, dim, correction, keepdim: (
                    getattr(self, n)(dim, correction=correction, keepdim=keepdim),
                    self.mean(dim, keepdim),
                )
            )
        )(_name)
    )
    composite(f"{_name}_mean(Tensor self, bool unbiased) -> (Tensor, Tensor)", method=False)(
        (lambda n: lambda self, unbiased: (getattr(self, n)(None, correction=int(unbiased)), self.mean()))(_name)
    )
    composite(
        f"{_name}_mean.dim(Tensor self, int[1]? dim, bool unbiased, bool keepdim=False) -> (Tensor, Tensor)",
        method=False,
    )(
        (
            lambda n: (
                lambda self, dim, unbiased, keepdim: (
                    getattr(self, n)(dim, correction=int(unbiased), keepdim=keepdim),
                    self.mean(dim, keepdim),
                )
            )
        )(_name)
    )


@op(
    "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    shape=reduced,
    dtype=int_to_float,
    out=True,
    native="logsumexp",
    grad={
        "self": lambda g, self, result, dim, keepdim: (
            _grown(g, self.shape, dim, keepdim) * _conj((self - _grown(result, self.shape, dim, keepdim)).exp())
        )
    },
)
def logsumexp(xp, self, dim, keepdim):
    axes = _axes(dim, self.ndim)
    if self.size == 0:
        return xp.log(xp.exp(self).sum(axis=axes, keepdims=keepdim))
    m = self.max(axis=axes, keepdims=True)
    m = xp.where(xp.isfinite(m), m, 0)
    s = xp.log(xp.exp(self - m).sum(axis=axes, keepdims=True)) + m
    if s.dtype.kind == "c":  # the principal value
        s = s.real + 1j * (math.pi - (math.pi - s.imag) % (2 * math.pi))
    return s if keepdim else xp.squeeze(s, axes)


@op(
    "count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
    shape=lambda self, dim: reduced(self, dim, False),
    dtype=fixed("int64"),
)
def count_nonzero_dims(xp, self, dim):
    return (self != 0).sum(axis=_axes(dim, self.ndim)).astype("int64")


@op(
    "count_nonzero(Tensor self, int? dim=None) -> Tensor",
    shape=lambda self, dim: reduced(self, None if dim is None else (dim,), False),
    dtype=fixed("int64"),
)
def count_nonzero(xp, self, dim):
    return (self != 0).sum(axis=_axes(None if dim is None else (dim,), self.ndim)).astype("int64")


# --- cumulative -------------------------------------------------------------------------------------------------------------


def _cum_shape(self, dim):
    wrap_dim(dim, len(self.shape))
    return self.shape


def _running_dtype(name):
    def rule(self, dtype):
        found = sum_dtype(self, dtype)
        if found is _core.bool and not self.is_meta:
            raise NotImplementedError(f"\"{name}_out_{self.device.type}\" not implemented for 'Bool'")
        return found

    return rule


@op(
    "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    shape=_cum_shape,
    dtype=_running_dtype("cumsum"),
    inplace=True,
    out=True,
    native="cumsum",
    grad={"self": lambda g, dim: g.flip(dim).cumsum(dim).flip(dim) if g.dim() else g},
)
def cumsum(xp, self, dim, dtype):
    return self.cumsum(axis=dim).astype(self.dtype) if self.ndim else self


def _cumprod_grad(g, self, result, dim):
    if self.dim() == 0:
        return g
    if not bool((self == 0).any()):
        return (g * _conj(result)).flip(dim).cumsum(dim).flip(dim) / _conj(self)
    import shim_torch

    n = self.size(dim)
    parts = []
    for i in range(n):  # products without element i
        before = self.narrow(dim, 0, i).prod(dim, True) if i else self.narrow(dim, 0, 1) * 0 + 1
        after = shim_torch.cat([self.narrow(dim, i, 1) * 0 + 1, self.narrow(dim, i + 1, n - i - 1)], dim).cumprod(dim)
        parts.append((g.narrow(dim, i, n - i) * _conj(before * after)).sum(dim, True))
    return shim_torch.cat(parts, dim)


@op(
    "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    shape=_cum_shape,
    dtype=_running_dtype("cumprod"),
    inplace=True,
    out=True,
    grad={"self": _cumprod_grad},
)
def cumprod(xp, self, dim, dtype):
    return self.cumprod(axis=dim).astype(self.dtype) if self.ndim else self


def _cum_extremum(name, accumulate, better):
    def body(xp, self, dim):
        if self.ndim == 0:
            return self, xp.zeros((), "int64")
        values = getattr(xp, accumulate).accumulate(self, axis=dim)
        n = self.shape[dim]
        place = xp.arange(n).reshape([-1 if i == wrap_dim(dim, self.ndim) else 1 for i in range(self.ndim)])
        hit = (self == values) | (xp.isnan(self) if self.dtype.kind == "f" else False)
        return values, xp.maximum.accumulate(xp.where(hit, place, 0), axis=dim).astype("int64")

    op(
        f"{name}(Tensor self, int dim) -> (Tensor values, Tensor indices)",
        shape=lambda self, dim: [_cum_shape(self, dim)] * 2,
        out=True,
        dtype=_refused(name, _core.int64),
        grad={
            "self": lambda g, self_shape, result1, dim: (
                g.new_zeros(self_shape).scatter_add(dim, result1, g) if len(self_shape) else g
            )
        },
    )(body)


_cum_extremum("cummax", "maximum", "ge")
_cum_extremum("cummin", "minimum", "le")


@op(
    "logcumsumexp(Tensor self, int dim) -> Tensor",
    shape=_cum_shape,
    dtype=_refused("logcumsumexp"),
    out=True,
    grad={"self": lambda g, self, result, dim: _logcumsumexp_grad(g, self, result, dim) if g.dim() else g},
)
def logcumsumexp(xp, self, dim):
    if self.ndim == 0 or self.size == 0:
        return self
    if self.dtype.kind != "c":
        return xp.logaddexp.accumulate(self, axis=dim)
    rows = xp.moveaxis(self, dim, 0)
    found = [rows[0]]
    for row in rows[1:]:
        found.append(logaddexp(xp, found[-1], row))
    return xp.stack(found, axis=dim)


def _finfo(dtype):
    import shim_torch

    return shim_torch.finfo(dtype)


def _logcumsumexp_grad(g, self, result, dim):
    """Σ over later places of g · e^(self - result), in logs: neither factor overflows."""

    def share(log):
        return (_conj((log - result).flip(dim).logcumsumexp(dim).flip(dim) + self)).exp()

    if g.is_complex():
        return share(g.conj().log())
    least = _finfo(result.dtype).min  # finite: what is below it in no sum has a derivative of zero, not none
    return share(g.log().masked_fill(g <= 0, least)) - share((-g).log().masked_fill(g >= 0, least))


# --- norms --------------------------------------------------------------------------------------------------------------------


@composite("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor")
def dist(self, other, p):
    import shim_torch

    return shim_torch.ops.aten.linalg_vector_norm(self - other, p)


# --- order statistics ------------------------------------------------------------------------------------------------------


@op(
    "median(Tensor self) -> Tensor",
    **_ALL,
    dtype=_refused("median"),
    grad={"self": _full_extremum_grad},
)
def median_all(xp, self):
    flat = self.reshape(-1)
    if not flat.size:
        return xp.asarray(float("nan") if flat.dtype.kind == "f" else xp.iinfo(flat.dtype).min, dtype=flat.dtype)
    if flat.dtype.kind == "f" and bool(xp.isnan(flat).any()):
        return xp.asarray(float("nan"), dtype=flat.dtype)
    return xp.sort(flat)[(flat.size - 1) // 2]


@op(
    "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    out=True,
    shape=lambda self, dim, keepdim: [_no_empty("median")(self, (dim,), keepdim)] * 2,
    dtype=_refused("median", _core.int64),
    grad={"self": _picked_grad},
)
def median_dim(xp, self, dim, keepdim):
    if self.ndim == 0:
        return self, xp.zeros((), "int64")
    order = xp.argsort(self, axis=dim, kind="stable")
    n = self.shape[dim]
    middle = xp.take(order, (n - 1) // 2, axis=dim)
    if self.dtype.kind == "f":
        nan = xp.isnan(self)
        middle = xp.where(nan.any(axis=dim), nan.argmax(axis=dim), middle)
    return _picked(xp, self, middle.astype("int64"), wrap_dim(dim, self.ndim), keepdim)
