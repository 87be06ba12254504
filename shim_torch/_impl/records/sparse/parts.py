"""What sparse tensors are made of. The work is done in ``shim_torch._impl.sparse``."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.sparse_layouts import compressed_module, coo_module
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite, direct, view

_OPTIONS = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_PRIVATE: dict[str, Any] = {"function": False, "method": False, "module": "_C"}
_METHOD: dict[str, Any] = {"function": False, "method": True}


# --- the parts ------------------------------------------------------------------------------------------------------------


@composite("sparse_dim(Tensor self) -> int", **_METHOD)
def sparse_dim(self):
    """How many dims are sparse: none of a strided tensor, two of a compressed one."""
    return coo_module().sparse_dim(self)


@composite("dense_dim(Tensor self) -> int", **_METHOD)
def dense_dim(self):
    """How many dims are dense: all of a strided tensor."""
    return coo_module().dense_dim(self)


@composite("_dimI(Tensor self) -> int", **_METHOD)
def dim_i(self):
    """``sparse_dim`` by an older name."""
    return coo_module().sparse_dim(self)


@composite("_dimV(Tensor self) -> int", **_METHOD)
def dim_v(self):
    """``dense_dim`` by an older name."""
    return coo_module().dense_dim(self)


@composite("_nnz(Tensor self) -> int", **_METHOD)
def nnz(self):
    """How many entries a batch has, blocks of a blocked layout; entries of one place count each."""
    return coo_module().nnz(self)


@composite("is_coalesced(Tensor self) -> bool", **_METHOD)
def is_coalesced(self):
    """Whether a COO tensor is known to have sorted entries, none of one place twice. RuntimeError for other layouts."""
    return coo_module().is_coalesced(self)


@composite("_indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def raw_indices(self):
    """The indices (sparse_dim, nnz) of a COO tensor, coalesced or not; int64."""
    return coo_module().raw_part(self, "_indices").indices


@composite("_values(Tensor(a) self) -> Tensor(a)", **_METHOD)
def raw_values(self):
    """The values (nnz, *dense sizes) of a COO tensor, coalesced or not."""
    return coo_module().raw_part(self, "_values").values


@view("indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def indices(self):
    """The indices (sparse_dim, nnz) of a coalesced COO tensor, int64. RuntimeError for others."""
    return coo_module().indices(self)


def _values_grad(g, self):
    return coo_module().values_backward(g, self)


@view("values(Tensor(a) self) -> Tensor(a)", **_METHOD, grad={"self": _values_grad})
def values(self):
    """The values: (nnz, *dense) of a coalesced COO tensor, (*batch, nnz, *block, *dense) of a compressed one."""
    return coo_module().values(self)


@view("crow_indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def crow_indices(self):
    """Where each row of a CSR or BSR tensor begins among its entries, and the end: (*batch, rows + 1)."""
    return compressed_module().part(self, "crow_indices")


@view("col_indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def col_indices(self):
    """The column of each entry of a CSR tensor, of each block of a BSR one: (*batch, nnz)."""
    return compressed_module().part(self, "col_indices")


@view("ccol_indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def ccol_indices(self):
    """Where each column of a CSC or BSC tensor begins among its entries, and the end: (*batch, columns + 1)."""
    return compressed_module().part(self, "ccol_indices")


@view("row_indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def row_indices(self):
    """The row of each entry of a CSC tensor, of each block of a BSC one: (*batch, nnz)."""
    return compressed_module().part(self, "row_indices")


@direct("_coalesced_(Tensor(a!) self, bool coalesced) -> Tensor(a!)", **_METHOD)
def coalesced_(self, coalesced):
    """Marks a COO tensor as coalesced or not, in place; its entries stay as they are, unchecked."""
    coo_module().raw_part(self, "_coalesced_")
    return _core.set_coalesced(self, coalesced)


@direct("_coalesce(Tensor self) -> Tensor", function=True, method=False, grad={"self": lambda g: g})
def coalesce_raw(self):
    """A new COO tensor with the entries sorted and those of one place summed."""
    return coo_module().coalesce(self)


@composite("coalesce(Tensor(a) self) -> Tensor(a)", **_METHOD)
def coalesce(self):
    """The COO tensor with its entries sorted and those of one place summed; itself if it is coalesced."""
    return self if coo_module().is_coalesced(self, "coalesce") else torch._coalesce(self)


# --- changing sizes --------------------------------------------------------------------------------------------------------


@direct("sparse_resize_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)", **_METHOD)
def sparse_resize_(self, size, sparse_dim, dense_dim):
    """Resizes a COO tensor in place.

    Errors:  RuntimeError where a tensor with entries would shrink or get another number of sparse or dense dims
    """
    return coo_module().resize(self, size, sparse_dim, dense_dim)


@direct("sparse_resize_and_clear_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)", **_METHOD)
def sparse_resize_and_clear_(self, size, sparse_dim, dense_dim):
    """Resizes a COO tensor in place; it has no entries afterwards."""
    return coo_module().resize_and_clear(self, size, sparse_dim, dense_dim)


@direct("resize_as_sparse_(Tensor(a!) self, Tensor the_template) -> Tensor(a!)", function=True, method=True)
def resize_as_sparse_(self, the_template):
    """Resizes in place to the sizes and dims of ``the_template``; a compressed tensor gets its indices, too."""
    if any(t.layout not in (_core.strided, _core.sparse_coo) for t in (self, the_template)):
        return compressed_module().resize_as(self, the_template)
    return coo_module().resize(self, tuple(the_template.shape), the_template.sparse_dim(), the_template.dense_dim())


@direct("copy_sparse_to_sparse_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", **_PRIVATE)
def copy_sparse_to_sparse_(self, src, non_blocking):
    """Gives a sparse tensor the entries of ``src`` in place; its dtype and device stay."""
    from shim_torch._impl.sparse import dispatch

    return dispatch.copy_(self, src, non_blocking)
