"""Triangles and diagonals: parts of matrices kept, and matrices made of vectors."""

from __future__ import annotations

from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import same_dtype, wrap_dim

_COPY = {"dtype": same_dtype, "keep": ("self",)}


def _triangle(name: str) -> None:
    def shape(self):
        if len(self.shape) < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return self.shape

    def body(xp, self, diagonal):
        return getattr(xp, name)(self, diagonal)

    op(f"{name}(Tensor self, SymInt diagonal=0) -> Tensor", shape=shape, inplace=True, out=True, native=name, foreseen="any", batching="along_dim",
       grad={"self": lambda g, diagonal: getattr(g, name)(diagonal)}, out_dtype="structured", **_COPY)(body)  # fmt: skip


_triangle("tril")


_triangle("triu")


def _embed_dims(ndim: int, dim1: int, dim2: int) -> tuple[int, int]:
    a, b = wrap_dim(dim1, ndim + 1), wrap_dim(dim2, ndim + 1)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return a, b


def _embed_shape(self, offset, dim1, dim2):
    n = len(self.shape)
    a, b = sorted(_embed_dims(n, dim1, dim2))
    side = self.shape[-1] + abs(offset)
    shape = list(self.shape[:-1])
    shape.insert(a, side)
    shape.insert(b, side)
    return tuple(shape)


@op("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", shape=_embed_shape, native="diag_embed",
    grad={"self": lambda g, offset, dim1, dim2: g.diagonal(offset, dim1, dim2)}, **_COPY)  # fmt: skip
def diag_embed(xp, self, offset, dim1, dim2):
    """The last dim along the diagonals of matrices, which ``dim1`` and ``dim2`` of the result span; zeros elsewhere.

    Shapes:  (*, N) -> (*, M, M), M = N + |offset|; a positive ``offset`` is above the main diagonal
    """
    a, b = _embed_dims(self.ndim, dim1, dim2)
    n = self.shape[-1]
    full = xp.zeros((*self.shape[:-1], n + abs(offset), n + abs(offset)), self.dtype)
    i = xp.arange(n)
    full[..., i + max(-offset, 0), i + max(offset, 0)] = self
    return xp.moveaxis(full, (-2, -1), (a, b))


@composite(
    "diag(Tensor self, int diagonal=0) -> Tensor",
    out=True,
    cast_error="diag: result type {R} can't be cast to the desired out= type {O}",
    out_dtype="structured",
    out_resize="first",
)
def diag(self, diagonal):
    """Of a vector the matrix with it as a diagonal, of a matrix a copy of a diagonal; RuntimeError for other dims."""
    if self.dim() == 1:
        return self.diag_embed(diagonal)
    if self.dim() != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {self.dim()}D")
    return aten.diagonal_copy(self, diagonal)


@composite("diagflat(Tensor self, int offset=0) -> Tensor")
def diagflat(self, offset):
    """The matrix that has all elements as a diagonal, ``offset`` above (negative: below) the main one."""
    return self.contiguous().view(-1).diag_embed(offset)
