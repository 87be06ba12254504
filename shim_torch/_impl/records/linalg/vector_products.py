"""Products of vectors along a dim: the cross product, and Σ conj(x) · y."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface.warnings import warn_once
from shim_torch._impl.table.calls import aten, shim, torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import wrap_dim

_LINALG: dict[str, Any] = {"module": "linalg", "method": False, "overlap": "unchecked"}


@op(
    "shim::vector_product(Tensor self, Tensor other, int dim) -> Tensor",
    gradient_name="LinalgCrossBackward0",
    shape=lambda self: self.shape,
    dtype=lambda self: self.dtype,
    native="vector_product",
    grad={"self": lambda g, other, dim: _cross(other, g, dim), "other": lambda g, self, dim: _cross(g, self, dim)},
    function=False,
    method=False,
)
def vector_product(xp, self, other, dim):
    """The vector products along a dim of size 3 of two real tensors of one shape."""
    x, y = xp.moveaxis(self, dim, 0), xp.moveaxis(other, dim, 0)
    return xp.stack([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]], dim)


_CROSSED = (_core.float32, _core.float64, _core.int32, _core.int64)  # of which the CPU has a kernel


def _cross(self: Any, other: Any, dim: int) -> Any:
    if self.dim() != other.dim():
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    d = wrap_dim(dim, self.dim())
    if self.size(d) != 3 or other.size(d) != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.size(d)} and {other.size(d)}"
        )
    if self.dtype is _core.bool:
        raise NotImplementedError("\"cross\" not implemented for 'Bool'")
    if self.dtype != other.dtype:
        raise RuntimeError(
            f"expected scalar type {_core.scalar_name(self.dtype)} but found {_core.scalar_name(other.dtype)}"
        )
    a, b = (self, other) if self.shape == other.shape else aten.broadcast_tensors([self, other])
    if (a.is_cuda and b.is_cuda and not a.is_complex()) or (a.is_cpu and b.is_cpu and a.dtype in _CROSSED):
        return shim.vector_product(a, b, d)
    (a0, a1, a2), (b0, b1, b2) = a.unbind(d), b.unbind(d)
    return torch.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], d)


composite(
    "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
    gradient_name="LinalgCrossBackward0",
    out=True,
    native="vector_product_whole",
    **_LINALG,
    batching="along_dim",
    autocast="off",
    out_dtype="structured",
)(lambda self, other, dim: _cross(self, other, dim))


@composite(
    "cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
    gradient_name="LinalgCrossBackward0",
    out=True,
    native="vector_product_whole",
    batching="along_dim",
    autocast="off_cpu_promote_cuda",
    out_dtype="structured",
    out_error_name="linalg_cross",
)
def cross(self, other, dim):
    """The vector product over a dim of size 3: the first one where none is named."""
    if dim is None:
        dim = next((d for d, n in enumerate(self.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")

        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply use "
            "torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future release."
        )
    return _cross(self, other, dim)


@composite(
    "linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
    out=True,
    **_LINALG,
    autocast="lower_precision",
    out_dtype="linalg.vecdot: Expected out of dtype{R} but found {O}",
    out_error_name="vdot",
)
def linalg_vecdot(x, y, dim):
    """Σ conj(x) · y over ``dim``."""
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {_core.scalar_name(x.dtype)}"
        )
    if x.dim() == 1 and y.dim() == 1:
        return x.vdot(y) if x.is_complex() else x.dot(y)
    return ((x.conj() if x.is_complex() else x) * y).sum(dim)
