"""Sparse tensors: what they are made of, and the way from dense tensors and back. The work is done in ``shim_torch.sparse``."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.record import composite, direct, view
from shim_torch._impl.table.rules import no_meta_kernel

_OPTIONS = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_PRIVATE: dict[str, Any] = {"function": False, "method": False, "module": "_C"}
_METHOD: dict[str, Any] = {"function": False, "method": True}


def _coo() -> Any:
    from shim_torch._impl.sparse import coo as _coo

    return _coo


def _compressed() -> Any:
    from shim_torch._impl.sparse import compressed as _compressed

    return _compressed


# --- making -------------------------------------------------------------------------------------------------------------


@direct(
    f"_sparse_coo_tensor_with_dims(int sparse_dim, int dense_dim, int[] size, {_OPTIONS}) -> Tensor",
    function=True,
    method=False,
)
def with_dims(sparse_dim, dense_dim, size, dtype, layout, device, pin_memory):
    return _coo().empty(size, sparse_dim, dense_dim, dtype, device)


@direct(
    "_sparse_coo_tensor_with_dims_and_tensors(int sparse_dim, int dense_dim, SymInt[] size, Tensor indices, Tensor values, "
    f"{_OPTIONS}, bool? is_coalesced=None) -> Tensor",
    function=True,
    method=False,
    grad={"values": lambda g, result: g.sparse_mask(result)._values()},
)
def with_dims_and_tensors(
    sparse_dim, dense_dim, size, indices, values, dtype, layout, device, pin_memory, is_coalesced
):
    values = values.to(dtype=dtype or values.dtype, device=device or values.device)
    return _core.sparse_tensor(
        _core.sparse_coo,
        size,
        indices.to(device=values.device, dtype=_core.int64),
        None,
        values,
        sparse_dim,
        dense_dim,
        bool(is_coalesced),
    )


@composite(
    f"_sparse_coo_tensor_unsafe(Tensor indices, Tensor values, SymInt[] size, {_OPTIONS}, bool? is_coalesced=None) -> Tensor",
    method=False,
)
def coo_unsafe(indices, values, size, dtype, layout, device, pin_memory, is_coalesced):
    return _coo().unsafe(indices, values, size, dtype, device, is_coalesced)


@composite(
    "_validate_sparse_coo_tensor_args(Tensor indices, Tensor values, int[] size, bool? is_coalesced=None, "
    "bool? check_pinning=None) -> ()",
    method=False,
)
def validate_coo(indices, values, size, is_coalesced, check_pinning):
    from shim_torch._impl.sparse import invariants

    invariants.check_coo(indices, values, size, is_coalesced)


@direct(
    f"_sparse_compressed_tensor_unsafe(Tensor compressed_indices, Tensor plain_indices, Tensor values, SymInt[] size, {_OPTIONS}) "
    "-> Tensor",
    function=True,
    method=False,
    grad={"values": lambda g, result: g.sparse_mask(result).values()},
)
def compressed_unsafe(compressed_indices, plain_indices, values, size, dtype, layout, device, pin_memory):
    return _compressed().unsafe(compressed_indices, plain_indices, values, size, layout, dtype, device)


def _unsafe_of(layout_name: str, compressed: str, plain: str) -> None:
    def body(compressed_indices, plain_indices, values, size, dtype, layout, device, pin_memory):
        import shim_torch

        return shim_torch._sparse_compressed_tensor_unsafe(
            compressed_indices,
            plain_indices,
            values,
            size,
            dtype=dtype,
            layout=getattr(_core, f"sparse_{layout_name}"),
            device=device,
        )

    composite(
        f"_sparse_{layout_name}_tensor_unsafe(Tensor {compressed}, Tensor {plain}, Tensor values, int[] size, {_OPTIONS}) -> Tensor",
        method=False,
    )(body)

    def validate(compressed_indices, plain_indices, values, size, check_pinning):
        from shim_torch._impl.sparse import invariants

        layout = getattr(_core, f"sparse_{layout_name}")
        invariants.check_compressed(compressed_indices, plain_indices, values, size, layout)

    composite(
        f"_validate_sparse_{layout_name}_tensor_args(Tensor {compressed}, Tensor {plain}, Tensor values, int[] size, "
        "bool? check_pinning=None) -> ()",
        method=False,
    )(validate)


for _layout in ("csr", "csc", "bsr", "bsc"):
    _unsafe_of(_layout, *(("crow_indices", "col_indices") if _layout[2] == "r" else ("ccol_indices", "row_indices")))


@composite(
    "_validate_sparse_compressed_tensor_args(Tensor compressed_indices, Tensor plain_indices, Tensor values, int[] size, "
    "Layout layout, bool? check_pinning=None) -> ()",
    method=False,
)
def validate_compressed(compressed_indices, plain_indices, values, size, layout, check_pinning):
    from shim_torch._impl.sparse import invariants

    invariants.check_compressed(compressed_indices, plain_indices, values, size, layout)


@composite(
    "_validate_compressed_sparse_indices(bool is_crow, Tensor compressed_idx, Tensor plain_idx, int cdim, int dim, int nnz) -> ()",
    method=False,
)
def validate_indices(is_crow, compressed_idx, plain_idx, cdim, dim, nnz):
    """RuntimeError unless these are the indices of ``cdim`` rows (columns without ``is_crow``) of ``nnz`` entries below ``dim``."""
    from shim_torch._impl.sparse import invariants

    if compressed_idx.dtype not in (_core.int32, _core.int64):
        name = "compressed_index_invariance_checks_cpu"
        raise NotImplementedError(f"\"{name}\" not implemented for '{invariants.kind(compressed_idx.dtype)}'")
    if compressed_idx.dtype != plain_idx.dtype:
        given, wanted = invariants.kind(compressed_idx.dtype), invariants.kind(plain_idx.dtype)
        raise RuntimeError(f"Found dtype {given} but expected {wanted}")
    rows = ("crow_indices", "col_indices", "nrows", "ncols")
    names = rows if is_crow else ("ccol_indices", "row_indices", "ncols", "nrows")
    invariants.check_indices(compressed_idx, plain_idx, cdim, dim, nnz, names)


@composite(
    "_sparse_compressed_tensor_with_dims(int nnz, int dense_dim, int[] size, int[] blocksize, ScalarType index_dtype, "
    f"{_OPTIONS}) -> Tensor",
    function=False,
    method=False,
)
def compressed_with_dims(nnz, dense_dim, size, blocksize, index_dtype, dtype, layout, device, pin_memory):
    layout = layout or _core.strided
    return _compressed().with_dims(nnz, dense_dim, tuple(size), tuple(blocksize), index_dtype, dtype, layout, device)


# --- the parts ------------------------------------------------------------------------------------------------------------


@composite("sparse_dim(Tensor self) -> int", **_METHOD)
def sparse_dim(self):
    return _coo().sparse_dim(self)


@composite("dense_dim(Tensor self) -> int", **_METHOD)
def dense_dim(self):
    return _coo().dense_dim(self)


@composite("_dimI(Tensor self) -> int", **_METHOD)
def dim_i(self):
    return _coo().sparse_dim(self)


@composite("_dimV(Tensor self) -> int", **_METHOD)
def dim_v(self):
    return _coo().dense_dim(self)


@composite("_nnz(Tensor self) -> int", **_METHOD)
def nnz(self):
    return _coo().nnz(self)


@composite("is_coalesced(Tensor self) -> bool", **_METHOD)
def is_coalesced(self):
    return _coo().is_coalesced(self)


@composite("_indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def raw_indices(self):
    return _coo().raw_part(self, "_indices").indices


@composite("_values(Tensor(a) self) -> Tensor(a)", **_METHOD)
def raw_values(self):
    return _coo().raw_part(self, "_values").values


@view("indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def indices(self):
    return _coo().indices(self)


def _values_grad(g, self):
    return _coo().values_backward(g, self)


@view("values(Tensor(a) self) -> Tensor(a)", **_METHOD, grad={"self": _values_grad})
def values(self):
    return _coo().values(self)


@view("crow_indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def crow_indices(self):
    return _compressed().part(self, "crow_indices")


@view("col_indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def col_indices(self):
    return _compressed().part(self, "col_indices")


@view("ccol_indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def ccol_indices(self):
    return _compressed().part(self, "ccol_indices")


@view("row_indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def row_indices(self):
    return _compressed().part(self, "row_indices")


@direct("_coalesced_(Tensor(a!) self, bool coalesced) -> Tensor(a!)", **_METHOD)
def coalesced_(self, coalesced):
    _coo().raw_part(self, "_coalesced_")
    return _core.set_coalesced(self, coalesced)


@direct("_coalesce(Tensor self) -> Tensor", function=True, method=False, grad={"self": lambda g: g})
def coalesce_raw(self):
    return _coo().coalesce(self)


@composite("coalesce(Tensor(a) self) -> Tensor(a)", **_METHOD)
def coalesce(self):
    import shim_torch

    return self if _coo().is_coalesced(self, "coalesce") else shim_torch._coalesce(self)


# --- there and back --------------------------------------------------------------------------------------------------------


def _dense_grad(g, self, masked_grad):
    if self.layout == _core.strided:
        return g.to_dense()
    if masked_grad is None or masked_grad:
        return g.sparse_mask(self.coalesce() if self.layout == _core.sparse_coo else self)
    if self.layout == _core.sparse_coo:
        return g.to_sparse(self.sparse_dim())
    return g.to_sparse(layout=self.layout, blocksize=_compressed().blocksize(self), dense_dim=self.dense_dim())


@direct(
    "_to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None) -> Tensor",
    **_METHOD,
    grad={"self": _dense_grad},
)
def to_dense_raw(self, dtype, masked_grad):
    return _coo().to_dense(self, dtype)


@composite("to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor", **_METHOD)
def to_dense(self, dtype, masked_grad):
    if self.layout == _core.strided:
        return self if dtype is None else self.to(dtype)
    return self._to_dense(dtype, masked_grad)


def _sparse_grad(g, self):
    if self.layout == _core.strided:
        return g.to_dense() if g.layout != _core.strided else g
    if g.layout == self.layout:
        return g
    return g.to_sparse(layout=self.layout, blocksize=_compressed().blocksize(self)) if g.layout != _core.strided else g


@direct(
    "_to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor",
    **_METHOD,
    grad={"self": _sparse_grad},
    forward_error_name="_to_sparse",
)
def to_sparse_dim_raw(self, sparse_dim):
    from shim_torch._impl.sparse import conversions

    return conversions.to_coo(self, sparse_dim)


@direct(
    "_to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor",
    **_METHOD,
    grad={"self": _sparse_grad},
    forward_error_name="_to_sparse",
)
def to_sparse_raw(self, layout, blocksize, dense_dim):
    from shim_torch._impl.sparse import conversions

    if self.is_meta and self.layout is _core.strided:
        raise no_meta_kernel("_to_sparse")
    return conversions.to_layout(self, layout, blocksize, dense_dim)


@composite("to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", **_METHOD)
def to_sparse_dim(self, sparse_dim):
    from shim_torch._impl.sparse import conversions

    if self.layout == _core.sparse_coo:
        return conversions.same_coo(self, sparse_dim)
    return self._to_sparse(sparse_dim)


@composite(
    "to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor", **_METHOD
)
def to_sparse(self, layout, blocksize, dense_dim):
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
    from shim_torch._impl.sparse import conversions

    return conversions.mask(self, mask)


@direct("_sparse_mask_projection(Tensor self, Tensor mask, bool accumulate_matches=False) -> Tensor", **_METHOD)
def mask_projection(self, mask, accumulate_matches):
    from shim_torch._impl.sparse import conversions

    return conversions.mask(self.coalesce(), mask)


# --- changing sizes --------------------------------------------------------------------------------------------------------


@direct("sparse_resize_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)", **_METHOD)
def sparse_resize_(self, size, sparse_dim, dense_dim):
    return _coo().resize(self, size, sparse_dim, dense_dim)


@direct("sparse_resize_and_clear_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)", **_METHOD)
def sparse_resize_and_clear_(self, size, sparse_dim, dense_dim):
    return _coo().resize_and_clear(self, size, sparse_dim, dense_dim)


@direct("resize_as_sparse_(Tensor(a!) self, Tensor the_template) -> Tensor(a!)", function=True, method=True)
def resize_as_sparse_(self, the_template):
    if any(t.layout not in (_core.strided, _core.sparse_coo) for t in (self, the_template)):
        return _compressed().resize_as(self, the_template)
    return _coo().resize(self, tuple(the_template.shape), the_template.sparse_dim(), the_template.dense_dim())


@direct("copy_sparse_to_sparse_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", **_PRIVATE)
def copy_sparse_to_sparse_(self, src, non_blocking):
    from shim_torch._impl.sparse import dispatch

    return dispatch.copy_(self, src, non_blocking)
