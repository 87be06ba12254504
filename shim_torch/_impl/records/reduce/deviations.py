"""Variances and standard deviations over dims."""

from __future__ import annotations

import contextlib
import warnings

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import axes_of, reduced_count, with_dims
from shim_torch._impl.table.record import composite, direct, op
from shim_torch._impl.table.rules import reduced, wrap_dims


def _deviation_dtype(self):
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        raise RuntimeError("std and var only support floating point and complex dtypes")
    return self.dtype, self.dtype.to_real()


def _var_grad(g, self, dim, correction, keepdim):
    c = 1 if correction is None else correction
    n = reduced_count(self.shape, dim)
    g = with_dims(g, self.shape, dim, keepdim)
    slope = 2.0 / (n - c) if n > c else float("nan" if n == c else "inf")
    return slope * g * (self - self.mean(wrap_dims(dim, self.dim()) or None, True))


def _std_grad(g, self, result, dim, correction, keepdim):
    return _var_grad((g / (result * 2)).masked_fill(result == 0, 0.0), self, dim, correction, keepdim)


def _with_mean(found, g1, self, dim, keepdim):
    """The gradient of a deviation, or None, and that of the mean beside it."""
    if g1 is None:
        return found
    of_mean = with_dims(g1, self.shape, dim, keepdim).expand(self.shape) / reduced_count(self.shape, dim)
    return of_mean if found is None else found + of_mean


def _var_mean_grad(g0, g1, self, dim, correction, keepdim):
    found = None if g0 is None else _var_grad(g0, self, dim, correction, keepdim)
    return _with_mean(found, g1, self, dim, keepdim)


def _std_mean_grad(g0, g1, self, result0, dim, correction, keepdim):
    found = None if g0 is None else _std_grad(g0, self, result0, dim, correction, keepdim)
    return _with_mean(found, g1, self, dim, keepdim)


def _real_correction(correction):
    if isinstance(correction, complex):
        raise RuntimeError("value cannot be converted to type double without overflow")
    return 1 if correction is None else correction


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
    nested="reduction",
)
def var(xp, self, dim, correction, keepdim):
    """Variances over ``dim`` (all dims without it): Σ |x - mean|² / (N - ``correction``) of N elements each.

    Dtypes:  floating, or complex with a real result; others raise RuntimeError

    ``correction`` is 1 where none is given; ``unbiased`` stands for 1 (True) or 0. A warning where N <= correction.
    """
    c = _real_correction(correction)
    _warn_of_freedom("var", reduced_count(self.shape, dim) - c)
    with _quiet(xp):
        return self.var(axis=axes_of(dim, self.ndim), ddof=c, keepdims=keepdim)


@op(
    "std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
    shape=reduced,
    dtype=_deviation_dtype,
    native="std",
    out=True,
    grad={"self": _std_grad},
    nested="reduction",
)
def std(xp, self, dim, correction, keepdim):
    """Standard deviations over ``dim`` (all dims without it): the square roots of the variances of ``torch.var``.

    Dtypes:  floating, or complex with a real result; others raise RuntimeError

    ``correction`` is 1 where none is given; ``unbiased`` stands for 1 (True) or 0. A warning where N <= correction.
    """
    c = _real_correction(correction)
    _warn_of_freedom("std", reduced_count(self.shape, dim) - c)
    with _quiet(xp):
        return self.std(axis=axes_of(dim, self.ndim), ddof=c, keepdims=keepdim)


def _of_both(name, self, dim, correction, keepdim):
    """The deviation of ``name``_mean, whose warning says so."""
    degrees = reduced_count(self.shape, dim) - _real_correction(correction)
    with warnings.catch_warnings() if degrees <= 0 else contextlib.nullcontext():
        if degrees <= 0:
            warnings.simplefilter("ignore")
        found = getattr(self, name)(dim, correction=correction, keepdim=keepdim)
    _warn_of_freedom(f"{name}_mean", degrees)
    return found


def _both(name, self, dim, unbiased, keepdim):
    both = _core.function(f"aten::{name}_mean")
    return both(self, dim, correction=int(unbiased), keepdim=keepdim)


for _name in ("var", "std"):
    _refuses = (("bi", f"{_name}_mean only support floating point and complex dtypes"),)
    composite(f"{_name}(Tensor self, bool unbiased) -> Tensor")(
        (lambda n: lambda self, unbiased: getattr(self, n)(None, correction=int(unbiased)))(_name)
    )
    composite(
        f"{_name}.dim(Tensor self, int[1]? dim, bool unbiased, bool keepdim=False) -> Tensor",
        out=True,
        nested="reduction",
    )(
        (
            lambda n: (
                lambda self, dim, unbiased, keepdim: getattr(self, n)(dim, correction=int(unbiased), keepdim=keepdim)
            )
        )(_name)
    )
    direct(
        f"{_name}_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
        method=False,
        native=f"{_name}_mean",
        batching="along_dim",
        grad={"self": _std_mean_grad if _name == "std" else _var_mean_grad},
        refuses=_refuses,
    )(
        (
            lambda n: (
                lambda self, dim, correction, keepdim: (
                    _of_both(n, self, dim, correction, keepdim),
                    self.mean(dim, keepdim),
                )
            )
        )(_name)
    )
    composite(f"{_name}_mean(Tensor self, bool unbiased) -> (Tensor, Tensor)", method=False, refuses=_refuses)(
        (lambda n: lambda self, unbiased: _both(n, self, None, unbiased, False))(_name)
    )
    composite(
        f"{_name}_mean.dim(Tensor self, int[1]? dim, bool unbiased, bool keepdim=False) -> (Tensor, Tensor)",
        method=False,
        refuses=_refuses,
    )((lambda n: lambda self, dim, unbiased, keepdim: _both(n, self, dim, unbiased, keepdim))(_name))
