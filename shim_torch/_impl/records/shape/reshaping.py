"""Flattened and unflattened forms, tensors of at least so many dims, and transposes as properties."""

from __future__ import annotations

from shim_torch._impl.native import _core
from shim_torch._impl.table.record import composite
from shim_torch._impl.table.rules import wrap_dim
from shim_torch._impl.tensor import transposes


@composite("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", batching="along_dim")
def unflatten(self, dim, sizes):
    """A view with one dim divided into ``sizes``, which multiply up to it (RuntimeError); one may be -1."""
    d = wrap_dim(dim, self.dim())
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        new = _core.infer_size(sizes, self.size(d))
    except RuntimeError as error:
        if "is invalid for input of size" not in str(error):
            raise RuntimeError(f"unflatten got an unexpected error:\n{error}") from None
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({self.size(d)}) in the input tensor"
        ) from None
    return self.view((*self.shape[:d], *new, *self.shape[d + 1 :]))


@composite("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)", native="flatten")
def flatten(self, start_dim, end_dim):
    """The dims ``start_dim`` to ``end_dim`` as one, in a view where strides allow it; a 0-d tensor gets one dim."""
    start, end = wrap_dim(start_dim, self.dim()), wrap_dim(end_dim, self.dim())
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if self.dim() == 0:
        return self.reshape((1,))
    if start == end:
        return self
    n = 1
    for s in self.shape[start : end + 1]:
        n *= s
    return self.reshape((*self.shape[:start], n, *self.shape[end + 1 :]))


@composite("ravel(Tensor(a) self) -> Tensor(a)")
def ravel(self):
    """The elements in one dim: a view of a contiguous tensor, else a copy."""
    return self.contiguous().view((-1,))


@composite("atleast_1d(Tensor self) -> Tensor", method=False)
def atleast_1d(self):
    """``self``, or of a 0-d tensor a view of shape (1,)."""
    return self.reshape(1) if self.dim() == 0 else self


@composite("atleast_2d(Tensor self) -> Tensor", method=False)
def atleast_2d(self):
    """``self``, or of fewer dims a view: () -> (1, 1), (N,) -> (1, N)."""
    return self.reshape(1, 1) if self.dim() == 0 else self.unsqueeze(0) if self.dim() == 1 else self


@composite("atleast_3d(Tensor self) -> Tensor", method=False)
def atleast_3d(self):
    """``self``, or of fewer dims a view: () -> (1, 1, 1), (N,) -> (1, N, 1), (M, N) -> (M, N, 1)."""
    if self.dim() == 0:
        return self.reshape(1, 1, 1)
    if self.dim() == 1:
        return self.unsqueeze(0).unsqueeze(-1)
    return self.unsqueeze(-1) if self.dim() == 2 else self


@composite("broadcast_tensors(Tensor[] tensors) -> Tensor[]", function=False, method=False)
def broadcast_tensors(tensors):
    """All tensors expanded to the one shape that they broadcast to; RuntimeError if there is none. One of that shape is itself."""
    shape = tuple(_core.broadcast_shapes([t.shape for t in tensors]))
    return tuple(t if tuple(t.shape) == shape else t.expand(shape) for t in tensors)


@composite("adjoint(Tensor(a) self) -> Tensor(a)")
def adjoint(self):
    """A view: the conjugate of matrices (*, M, N) with their last two dims exchanged; RuntimeError for vectors."""
    return transposes.adjoint(self, "adjoint()")
