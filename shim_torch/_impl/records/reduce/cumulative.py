"""Running sums, products, extremes and log-sums along a dim."""

from __future__ import annotations

from shim_torch._impl.arrays.special import logaddexp
from shim_torch._impl.autograd.grad_mode import no_grad
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import conjugate, speaks_for_itself
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import op
from shim_torch._impl.table.refusals import refusing_like
from shim_torch._impl.table.rules import sum_dtype, wrap_dim
from shim_torch._impl.tensor.type_info import finfo


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
    foreseen="floats",
    shape=_cum_shape,
    dtype=_running_dtype("cumsum"),
    inplace=True,
    out=True,
    native="cumsum",
    grad={"self": lambda g, dim: g.flip(dim).cumsum(dim).flip(dim) if g.dim() else g},
    batching="along_dim_or_none",
    autocast="float32_cuda",
    sums_in_out_dtype=True,
)
def cumsum(xp, self, dim, dtype):
    """The sums up to each element along ``dim``; integers and bool are added in int64 where no ``dtype`` is given."""
    return self.cumsum(axis=dim).astype(self.dtype) if self.ndim else self


def _cumprod_grad(g, self, result, dim):
    if self.dim() == 0:
        return g
    if not speaks_for_itself(g, self, result) and not bool((self == 0).any()):
        return (g * conjugate(result)).flip(dim).cumsum(dim).flip(dim) / conjugate(self)
    n = self.size(dim)
    parts = []
    for i in range(n):  # products without element i
        before = self.narrow(dim, 0, i).prod(dim, True) if i else self.narrow(dim, 0, 1) * 0 + 1
        after = torch.cat([self.narrow(dim, i, 1) * 0 + 1, self.narrow(dim, i + 1, n - i - 1)], dim).cumprod(dim)
        parts.append((g.narrow(dim, i, n - i) * conjugate(before * after)).sum(dim, True))
    return torch.cat(parts, dim)


@op(
    "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    shape=_cum_shape,
    dtype=_running_dtype("cumprod"),
    inplace=True,
    out=True,
    native="cumprod",
    grad={"self": _cumprod_grad},
    batching="along_dim_or_none",
    autocast="float32_cuda",
    sums_in_out_dtype=True,
)
def cumprod(xp, self, dim, dtype):
    """The products up to each element along ``dim``; integers and bool are multiplied in int64 without a ``dtype``."""
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
        native=name,
        batching="along_dim_or_none",
        shape=lambda self, dim: [_cum_shape(self, dim)] * 2,
        out=True,
        dtype=refusing_like(("c", f"{name}_cpu"), _core.int64),
        grad={
            "self": lambda g, self_shape, result1, dim: (
                g.new_zeros(self_shape).scatter_add(dim, result1, g) if len(self_shape) else g
            )
        },
        out_dtype="expected scalar_type {R} but found {O}",
    )(body)


_cum_extremum("cummax", "maximum", "ge")
_cum_extremum("cummin", "minimum", "le")


@op(
    "logcumsumexp(Tensor self, int dim) -> Tensor",
    shape=_cum_shape,
    dtype=refusing_like(("bi", "logcumsumexp_out_cpu")),
    out=True,
    native="logcumsumexp",
    grad={"self": lambda g, self, result, dim: _logcumsumexp_grad(g, self, result, dim) if g.dim() else g},
    batching="along_dim",
    out_dtype="expected scalar_type {R} but found {O}",
)
def logcumsumexp(xp, self, dim):
    """log Σ exp(x) up to each element along ``dim``, without overflow; floating and complex dtypes only."""
    if self.ndim == 0 or self.size == 0:
        return self
    if self.dtype.kind != "c":
        return xp.logaddexp.accumulate(self, axis=dim)
    rows = xp.moveaxis(self, dim, 0)
    found = [
        logaddexp(xp, rows[0], xp.full_like(rows[0], -xp.inf))
    ]  # PyTorch begins with log 0, whose angle -inf keeps
    for row in rows[1:]:
        found.append(logaddexp(xp, row, found[-1]))
    return xp.stack(found, axis=dim)


def _limits(dtype):
    return finfo(dtype)


_SMALL = 1024  # places whose pairs are held at once


def _logcumsumexp_grad_of_pairs(g, self, result, dim):
    """The same sum with every pair's share: linear in g, as a gradient that is differentiated once more has to be."""
    x, r, g = (t.movedim(dim, -1) for t in (self, result, g))
    is_later = torch.ones(x.size(-1), x.size(-1), dtype=_core.bool, device=x.device).triu()
    gap = (x.unsqueeze(-1) - r.unsqueeze(-2)).masked_fill(~is_later, 0)
    shares = gap.exp().masked_fill(~is_later, 0)
    return (conjugate(shares) * g.unsqueeze(-2)).sum(-1).movedim(-1, dim)


def _logcumsumexp_grad(g, self, result, dim):
    """Σ over later places of g · e^(self - result), in logs: neither factor overflows."""
    if _core.is_grad_enabled() and self.size(dim) <= _SMALL:
        with no_grad():
            values = _logcumsumexp_grad(g, self, result, dim)
        again = _logcumsumexp_grad_of_pairs(g, self, result, dim)
        nothing = (
            again - again.detach()
        )  # the values are those of the logs, as PyTorch's; what is differentiated is the pairs
        return values + nothing.where(nothing == 0, 0)

    def share(log):
        return (conjugate((log - result).flip(dim).logcumsumexp(dim).flip(dim) + self)).exp()

    if g.is_complex():
        return share(g.conj().log())
    least = _limits(result.dtype).min  # finite: what is below it in no sum has a derivative of zero, not none
    return share(g.log().masked_fill(g <= 0, least)) - share((-g).log().masked_fill(g >= 0, least))
