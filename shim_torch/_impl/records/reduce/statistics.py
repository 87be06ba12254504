"""Small compositions over sorting, products and sums: covariance, integrals, combinations."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite
from shim_torch._impl.table.rules import no_meta_kernel, type_name, wrap_dim
from shim_torch._impl.tensor import from_data


@composite(
    "trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    method=False,
    gradient_name="DivBackward1",
    aliases=("trapz",),
    refuses=(("b", "trapezoid: received a bool input for `x` or `y`, but bool is not supported"),),
)
def trapezoid(y, x, dim):
    """The integral along ``dim`` of samples y at places x, or at distances ``dx``, by the trapezoidal rule.

    Shapes:  (*, n, *) -> (*, *); x as y, or (n,)
    Dtypes:  bool is refused
    """
    return (_pairs(y, dim) * _steps(y, x, dim)).sum(dim) / 2.0 if y.size(dim) else _nothing(y, dim)


@composite(
    "trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    method=False,
    gradient_name="MulBackward1",
    aliases=("trapz",),
    refuses=(("b", "trapezoid: received a bool input for `y`, but bool is not supported"),),
)
def trapezoid_dx(y, dx, dim):
    """The integral along ``dim`` of samples at distances ``dx``, by the trapezoidal rule."""
    if not y.size(dim):
        return _nothing(y, dim)
    return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * dx


@composite(
    "cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    method=False,
    gradient_name="DivBackward1",
    refuses=(("b", "cumulative_trapezoid: received a bool input for `x` or `y`, but bool is not supported"),),
)
def cumulative_trapezoid(y, x, dim):
    """The integrals along ``dim`` from the first sample to each later one, by the trapezoidal rule.

    Shapes:  (*, n, *) -> (*, n - 1, *); x as y, or (n,)
    Dtypes:  bool is refused
    """
    return (_pairs(y, dim) * _steps(y, x, dim)).cumsum(dim) / 2.0


@composite(
    "cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    method=False,
    refuses=(("b", "cumulative_trapezoid: received a bool input for `y`, but bool is not supported"),),
)
def cumulative_trapezoid_dx(y, dx, dim):
    """The integrals from the first sample to each later one, at distances ``dx``."""
    return (_pairs(y, dim) * (dx / 2.0)).cumsum(dim)


def _steps(y: Any, x: Any, dim: int) -> Any:
    if x.dim() == 1:
        if x.numel() != y.size(dim):
            raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
        shape = [1] * y.dim()
        shape[wrap_dim(dim, y.dim())] = max(x.numel() - 1, 0)
        return (x[1:] - x[:-1]).reshape(shape)
    n = max(x.size(dim) - 1, 0)
    return x.narrow(dim, min(1, x.size(dim)), n) - x.narrow(dim, 0, n)


def _pairs(y: Any, dim: int) -> Any:
    """The sums of neighbours along ``dim``, in the dtype of ``y``, in which those of integers wrap around."""
    n = max(y.size(dim) - 1, 0)
    return y.narrow(dim, 0, n) + y.narrow(dim, min(1, y.size(dim)), n)


def _nothing(y: Any, dim: int) -> Any:
    dim = wrap_dim(dim, y.dim())
    return y.new_zeros([*y.shape[:dim], *y.shape[dim + 1 :]])


@composite("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", method=False)
def vander(x, N, increasing):
    """A matrix whose columns are the powers x ** (N - 1), ..., x, 1, or with ``increasing`` 1, x, ....

    Shapes:  (n,) -> (n, N), N = n where it is None
    Dtypes:  integers and bool give int64
    """
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.numel() if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    x = x if x.is_floating_point() or x.is_complex() else x.long()
    column = x.unsqueeze(-1)
    powers = column[:, :count].new_ones((x.numel(), min(count, 1)))
    if count > 1:
        powers = torch.cat([powers, column.expand(-1, count - 1).cumprod(-1)], -1)
    return powers if increasing else powers.flip(-1)


@composite(
    "combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
    gradient_name="StackBackward0",
    method=False,
)
def combinations(self, r, with_replacement):
    """All combinations of ``r`` elements, in the order of their places.

    Shapes:  (n,) -> (count, r); r = 0 gives (0,)

    ``with_replacement`` takes an element more than once.
    """
    import itertools

    if self.dim() != 1:
        raise RuntimeError("Expect a 1D vector, but got shape " + str(list(self.shape)))
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return self.new_empty((0,))
    if self.is_meta:  # PyTorch picks them with a mask
        raise no_meta_kernel("masked_select")
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(pick(range(self.numel()), r))
    return self[from_data.tensor(rows, dtype=_core.int64, device=self.device).reshape(len(rows), r)]


def _check_weights(x: Any, fweights: Any, aweights: Any) -> None:
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is None:
            continue
        if w.dim() > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.dim()} dimensions"
            )
        floating, whole = w.is_floating_point(), name == "fweights"
        if floating is whole or w.is_complex() or w.dtype is _core.bool:
            raise RuntimeError(
                f"cov(): expected {name} to have {'integral' if whole else 'floating point'} dtype but got {name} with "
                f"{type_name(w.dtype)} dtype"
            )
        if w.numel() != x.size(1):
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the input but got {w.numel()} != "
                f"{x.size(1)}"
            )
        if not w.is_meta and w.numel() and bool(w.min() < 0):
            raise RuntimeError(f"cov(): {name} cannot be negative")


@composite("cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor")
def cov(self, correction, fweights, aweights):
    """Covariances of variables, a row each, over observations, a column each.

    Shapes:  (n, observations) -> (n, n); one row, or (observations,) -> ()
    Dtypes:  integers give the default dtype, bool raises RuntimeError

    ``correction`` is taken from the count that is divided by. ``fweights`` (integers) says how often an observation
    counts, ``aweights`` (floating) how much; neither may be negative (RuntimeError).
    """
    if self.dim() > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {self.dim()} dimensions"
        )
    if self.dtype == _core.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = self if self.dim() == 2 else self.reshape(1, -1)
    _check_weights(x, fweights, aweights)
    if self.is_meta:  # PyTorch looks whether there are degrees of freedom
        raise no_meta_kernel("equal")
    if not (x.is_floating_point() or x.is_complex()):
        x = x.to(_core.get_default_dtype())
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    if weights is None:
        mean, count = x.mean(1, True), x.size(1) - correction
        scaled = x - mean
        product = scaled @ scaled.mT.conj()
        return (product / max(count, 0) if count else product / 0.0).squeeze()
    total = weights.sum()
    mean = (x * weights).sum(1, True) / total
    if aweights is None or correction == 0:
        norm = total - correction
    else:
        norm = total - correction * (weights * aweights).sum() / total
    centred = x - mean
    return ((centred * weights) @ centred.mT.conj() / norm.clamp(min=0)).squeeze()


@composite("corrcoef(Tensor self) -> Tensor")
def corrcoef(self):
    """Correlations of variables, a row each, over observations, a column each; real and imaginary parts from -1 to 1.

    Shapes:  (n, observations) -> (n, n); one row, or (observations,) -> ()
    """
    if self.dim() > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {self.dim()} dimensions"
        )
    c = self.cov()
    if c.dim() == 0:
        return c / c
    deviation = c.diagonal().sqrt()
    scaled = c / deviation.unsqueeze(-1) / deviation
    if not scaled.is_complex():
        return scaled.clamp(-1, 1)
    return torch.complex(scaled.real.clamp(-1, 1), scaled.imag.clamp(-1, 1))
