"""Between dense and sparse tensors, and masks."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.sparse_layouts import compressed_module, coo_module
from shim_torch._impl.table.record import composite, direct
from shim_torch._impl.table.rules import no_meta_kernel

_METHOD: dict[str, Any] = {"function": False, "method": True}


def _dense_grad(g, self, masked_grad):
    if self.layout == _core.strided:
        return g.to_dense()
    if masked_grad is None or masked_grad:
        return g.sparse_mask(self.coalesce() if self.layout == _core.sparse_coo else self)
    if self.layout == _core.sparse_coo:
        return g.to_sparse(self.sparse_dim())
    return g.to_sparse(layout=self.layout, blocksize=compressed_module().blocksize(self), dense_dim=self.dense_dim())


@direct(
    "_to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None) -> Tensor",
    **_METHOD,
    grad={"self": _dense_grad},
)
def to_dense_raw(self, dtype, masked_grad):
    """The strided tensor of a sparse one; entries of one place are summed."""
    return coo_module().to_dense(self, dtype)


@composite("to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor", **_METHOD)
def to_dense(self, dtype, masked_grad):
    """The strided tensor of a sparse one, where entries of one place are summed; a strided tensor comes back as it is.

    ``dtype``: of the result. ``masked_grad=False``: gradients are of all places, not of the tensor's entries only.
    """
    if self.layout == _core.strided:
        return self if dtype is None else self.to(dtype)
    return self._to_dense(dtype, masked_grad)


def _sparse_grad(g, self):
    if self.layout == _core.strided:
        return g.to_dense() if g.layout != _core.strided else g
    if g.layout == self.layout:
        return g
    return (
        g.to_sparse(layout=self.layout, blocksize=compressed_module().blocksize(self))
        if g.layout != _core.strided
        else g
    )


@direct(
    "_to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor",
    **_METHOD,
    grad={"self": _sparse_grad},
    forward_error_name="_to_sparse",
)
def to_sparse_dim_raw(self, sparse_dim):
    """The COO tensor of one that is not COO, with ``sparse_dim`` leading sparse dims."""
    from shim_torch._impl.sparse import conversions

    return conversions.to_coo(self, sparse_dim)


@direct(
    "_to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor",
    **_METHOD,
    grad={"self": _sparse_grad},
    forward_error_name="_to_sparse",
)
def to_sparse_raw(self, layout, blocksize, dense_dim):
    """The tensor of ``layout``, COO by default, of one that has another."""
    from shim_torch._impl.sparse import conversions

    if self.is_meta and self.layout is _core.strided:
        raise no_meta_kernel("_to_sparse")
    return conversions.to_layout(self, layout, blocksize, dense_dim)


@composite("to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", **_METHOD)
def to_sparse_dim(self, sparse_dim):
    """The sparse tensor of a strided one or one of another layout; a tensor of the wanted layout comes back as it is.

    ``sparse_dim``: how many leading dims of a COO tensor are sparse, all by default. ``layout``: COO by default.
    ``blocksize``: rows and columns of a block of BSR and BSC. ``dense_dim``: how many trailing dims are dense.
    Errors:  RuntimeError for arguments that the layouts do not have
    """
    from shim_torch._impl.sparse import conversions

    if self.layout == _core.sparse_coo:
        return conversions.same_coo(self, sparse_dim)
    return self._to_sparse(sparse_dim)


@composite(
    "to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor", **_METHOD
)
def to_sparse(self, layout, blocksize, dense_dim):
    """The tensor of ``layout``, COO by default; one that has it comes back as it is."""
    from shim_torch._impl.sparse import conversions

    if conversions.is_there("to_sparse", self, layout, blocksize, dense_dim):
        return self
    return self._to_sparse(layout=layout, blocksize=blocksize, dense_dim=dense_dim)


@composite("to_sparse_coo(Tensor self) -> Tensor", **_METHOD)
def to_sparse_coo(self):
    """The COO tensor of a tensor of any layout."""
    return self.to_sparse()


def _to_compressed(name: str) -> None:
    layout = getattr(_core, f"sparse_{name}")
    blocked = name[0] == "b"

    def plain(self, dense_dim):
        return self.to_sparse(layout=layout, dense_dim=dense_dim)

    def block(self, blocksize, dense_dim):
        return self.to_sparse(layout=layout, blocksize=blocksize, dense_dim=dense_dim)

    size = "int[2] blocksize, " if blocked else ""
    composite(f"to_sparse_{name}(Tensor self, {size}int? dense_dim=None) -> Tensor", **_METHOD)(
        block if blocked else plain
    )
    composite(f"_to_sparse_{name}(Tensor self, {size}int? dense_dim=None) -> Tensor", **_METHOD)(
        block if blocked else plain
    )


for _layout in ("csr", "csc", "bsr", "bsc"):
    _to_compressed(_layout)


def _mask_grad(g, mask, self):
    masked = g.sparse_mask(mask)
    return masked.to_dense() if self.layout == _core.strided else masked


@direct("sparse_mask(Tensor self, Tensor mask) -> Tensor", **_METHOD, grad={"self": _mask_grad})
def sparse_mask(self, mask):
    """The values at the entries of the sparse ``mask``, in its layout; zeros where the tensor has none."""
    from shim_torch._impl.sparse import conversions

    return conversions.mask(self, mask)


@direct("_sparse_mask_projection(Tensor self, Tensor mask, bool accumulate_matches=False) -> Tensor", **_METHOD)
def _sparse_mask_projection(self, mask, accumulate_matches):
    """The entries of ``self``, with zeros where the sparse ``mask`` has none; as often as the mask has them where asked."""
    from shim_torch._impl.sparse import conversions

    return conversions.projected(self, mask, accumulate_matches)
