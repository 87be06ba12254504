"""Sparse tensors: what they are made of, and the way from dense tensors and back. The work is done in ``shim_torch.sparse``."""

from __future__ import annotations

from typing import Any

from native import _core

from ._record import composite, direct, view

_OPTIONS = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_PRIVATE: dict[str, Any] = {"function": False, "method": False, "module": "_C"}
_METHOD: dict[str, Any] = {"function": False, "method": True}


def _coo() -> Any:
    from shim_torch.sparse import _coo

    return _coo


def _compressed() -> Any:
    from shim_torch.sparse import _compressed

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
    from shim_torch.sparse import _invariants

    _invariants.check_coo(indices, values, size, is_coalesced)


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
        from shim_torch.sparse import _invariants

        layout = getattr(_core, f"sparse_{layout_name}")
        _invariants.check_compressed(compressed_indices, plain_indices, values, size, layout)

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
    from shim_torch.sparse import _invariants

    _invariants.check_compressed(compressed_indices, plain_indices, values, size, layout)


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


@direct("_to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", **_METHOD, grad={"self": _sparse_grad})
def to_sparse_dim_raw(self, sparse_dim):
    from shim_torch.sparse import _conversions

    return _conversions.to_coo(self, sparse_dim)


@direct(
    "_to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor",
    **_METHOD,
    grad={"self": _sparse_grad},
)
def to_sparse_raw(self, layout, blocksize, dense_dim):
    from shim_torch.sparse import _conversions

    return _conversions.to_layout(self, layout, blocksize, dense_dim)


@composite("to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", **_METHOD)
def to_sparse_dim(self, sparse_dim):
    from shim_torch.sparse import _conversions

    if self.layout == _core.sparse_coo:
        return _conversions.same_coo(self, sparse_dim)
    return self._to_sparse(sparse_dim)


@composite(
    "to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor", **_METHOD
)
def to_sparse(self, layout, blocksize, dense_dim):
    from shim_torch.sparse import _conversions

    if _conversions.is_there("to_sparse", self, layout, blocksize, dense_dim):
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
    composite(f"to_sparse_{name}(Tensor self, {size}int? dense_dim=None) -> Tensor", **_METHOD)(block if blocked else plain)
    composite(f"_to_sparse_{name}(Tensor self, {size}int? dense_dim=None) -> Tensor", **_METHOD)(block if blocked else plain)


for _layout in ("csr", "csc", "bsr", "bsc"):
    _to_compressed(_layout)


def _mask_grad(g, mask, self):
    masked = g.sparse_mask(mask)
    return masked.to_dense() if self.layout == _core.strided else masked


@direct("sparse_mask(Tensor self, Tensor mask) -> Tensor", **_METHOD, grad={"self": _mask_grad})
def sparse_mask(self, mask):
    from shim_torch.sparse import _conversions

    return _conversions.mask(self, mask)


@direct("_sparse_mask_projection(Tensor self, Tensor mask, bool accumulate_matches=False) -> Tensor", **_METHOD)
def mask_projection(self, mask, accumulate_matches):
    from shim_torch.sparse import _conversions

    return _conversions.mask(self.coalesce(), mask)


# --- changing sizes --------------------------------------------------------------------------------------------------------


@direct("sparse_resize_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)", **_METHOD)
def sparse_resize_(self, size, sparse_dim, dense_dim):
    return _coo().resize(self, size, sparse_dim, dense_dim)


@direct("sparse_resize_and_clear_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)", **_METHOD)
def sparse_resize_and_clear_(self, size, sparse_dim, dense_dim):
    return _coo().resize_and_clear(self, size, sparse_dim, dense_dim)


@direct(
    "resize_as_sparse_(Tensor(a!) self, Tensor the_template) -> Tensor(a!)", function=True, method=True
)
def resize_as_sparse_(self, the_template):
    if self.layout not in (_core.strided, _core.sparse_coo):
        return _compressed().resize_as(self, the_template)
    return _coo().resize(self, tuple(the_template.shape), the_template.sparse_dim(), the_template.dense_dim())


@direct("copy_sparse_to_sparse_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", **_PRIVATE)
def copy_sparse_to_sparse_(self, src, non_blocking):
    from shim_torch.sparse import _dispatch

    return _dispatch.copy_(self, src, non_blocking)


# --- sums and softmax -------------------------------------------------------------------------------------------------------


def _reductions() -> Any:
    from shim_torch.sparse import _reductions

    return _reductions


@direct(
    "_sparse_sum_all(Tensor self, ScalarType? dtype=None) -> Tensor",
    **_PRIVATE,
    grad={"self": lambda g, self_shape: g.expand(self_shape)},  # of every place, as PyTorch's
)
def sum_all(self, dtype):
    return _reductions().sum_all(self, dtype)


@direct(
    "_sparse_sum_dims(Tensor self, int[] dim, ScalarType? dtype=None, bool everywhere=False) -> Tensor",
    **_PRIVATE,
    grad={"self": lambda g, self, dim, everywhere: _reductions().sum_backward(g, self, dim, everywhere)},
)
def sum_dims(self, dim, dtype, everywhere):
    return _reductions().sum_dims(self, dim, dtype)


@direct(
    "_sparse_sum_kept(Tensor self, int[1]? dim, bool keepdim=False, ScalarType? dtype=None) -> Tensor",
    **_PRIVATE,
    grad={"self": lambda g, self_shape: g.expand(self_shape)},
)
def sum_kept(self, dim, keepdim, dtype):
    """The sum of a compressed matrix over some dims, which are kept."""
    return _compressed().sum_dim(self, dim, keepdim, dtype)


@direct(
    "_sparse_broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)",
    method=False,
    grad={"self": lambda g, self_shape: g.to_dense().sum_to_size(self_shape)},
)
def sparse_broadcast_to(self, size):
    from shim_torch.sparse import _shapes

    return _shapes.broadcast_to(self, tuple(size))


@composite("_sparse_sum(Tensor self) -> Tensor", method=False)
def sparse_sum(self):
    return self.coalesce().values().sum()


@composite("_sparse_sum.dtype(Tensor self, *, ScalarType dtype) -> Tensor", method=False)
def sparse_sum_dtype(self, dtype):
    return self.coalesce().values().sum(dtype=dtype)


@composite("_sparse_sum.dim(Tensor self, int[1] dim) -> Tensor", method=False)
def sparse_sum_dim(self, dim):
    return _reductions().sum_at_entries(self, dim, None)


@composite("_sparse_sum.dim_dtype(Tensor self, int[1] dim, *, ScalarType dtype) -> Tensor", method=False)
def sparse_sum_dim_dtype(self, dim, dtype):
    return _reductions().sum_at_entries(self, dim, dtype)


@direct("_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) -> Tensor", method=False)
def coo_to_csr(self, size, out_int32):
    """How many of the sorted row numbers lie below each row: (size + 1,)."""
    import shim_torch

    rows = shim_torch.arange(size + 1, device=self.device)
    return shim_torch.searchsorted(self.long(), rows).to(_core.int32 if out_int32 else _core.int64)


@direct(
    "_convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool out_int32=False, bool transpose=False) "
    "-> Tensor",
    method=False,
)
def csr_to_coo(crow_indices, col_indices, out_int32, transpose):
    """(2, nnz) COO indices of CSR ones; of batches (batch dims + 2, nnz); ``transpose``: columns first."""
    import shim_torch

    values = shim_torch.zeros(col_indices.shape, dtype=_core.bool, device=col_indices.device)
    size = (*col_indices.shape[:-1], crow_indices.shape[-1] - 1, int(col_indices.max()) + 1 if col_indices.numel() else 0)
    t = _compressed().unsafe(crow_indices, col_indices, values, size, _core.sparse_csr, None, None)
    found = _compressed().to_coo(t)._indices().to(_core.int32 if out_int32 else _core.int64)
    return shim_torch.cat([found[:-2], found[-1:], found[-2:-1]]) if transpose else found


def _softmaxes(name: str, log: bool) -> None:
    def grad(g, result, dim):
        return _reductions().softmax_backward(g, result, dim, log)

    def body(self, dim, half_to_float):
        if half_to_float:
            raise RuntimeError(f"softmax with half to float conversion is not supported on {self.device.type.upper()}")
        _coo().raw_part(self, f"_sparse_{name}")
        return _reductions().softmax(self, dim, log)

    direct(f"_sparse_{name}(Tensor self, int dim, bool half_to_float) -> Tensor", **_PRIVATE, grad={"self": grad})(body)

    def public(self, dim, dtype):
        import shim_torch

        return getattr(shim_torch.ops.aten, f"_sparse_{name}").default(self if dtype is None else self.to(dtype), dim, False)

    composite(f"_sparse_{name}.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", method=False)(public)


_softmaxes("softmax", False)
_softmaxes("log_softmax", True)


@composite("_resize_sparse_(Tensor(a!) self, int[] size) -> Tensor(a!)", **_METHOD)
def resize_sparse_(self, size):
    from shim_torch.sparse import _copies

    return _copies.resize_(self, size)


# --- products -----------------------------------------------------------------------------------------------------------------


def _products() -> Any:
    from shim_torch.sparse import _products

    return _products


@direct(
    "_sparse_sparse_matmul(Tensor self, Tensor other) -> Tensor",
    **_PRIVATE,
    grad={
        "self": lambda g, self, other: _products().masked_gradient(g, other, self),
        "other": lambda g, self, other: self.t().conj().mm(g).sparse_mask(
            other.coalesce() if other.layout == _core.sparse_coo else other
        ),
    },
)
def sparse_sparse_matmul(self, other):
    return _products().product(self, other)


@direct(
    "_sparse_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    **_PRIVATE,
    grad={
        "self": lambda g, beta: g if beta == 1 else g * beta,
        "mat1": lambda g, mat1, mat2, alpha: _left_grad(g, mat1, mat2, alpha),
        "mat2": lambda g, mat1, mat2, alpha: _right_grad(g, mat1, mat2, alpha),
    },
)
def sparse_addmm(self, mat1, mat2, beta, alpha):
    return _products().combined(self, mat1, mat2, beta, alpha)


def _left_grad(g, mat1, mat2, alpha):
    if mat1.layout != _core.strided:
        return _products().masked_gradient(g, mat2, mat1, alpha)
    grad = g.mm(mat2.t().conj())
    return grad if alpha == 1 else grad * alpha


def _right_grad(g, mat1, mat2, alpha):
    if mat2.layout != _core.strided:
        return _products().masked_gradient(g.t(), mat1.t(), mat2.t(), alpha).t()
    grad = mat1.t().conj().mm(g)
    return grad if alpha == 1 else grad * alpha


@composite("_sparse_mm(Tensor sparse, Tensor dense) -> Tensor", method=False, module="_C", function=False)
def sparse_mm(sparse, dense):
    import shim_torch

    aten = shim_torch.ops.aten
    if sparse.layout != _core.strided and dense.layout != _core.strided:
        return aten._sparse_sparse_matmul(sparse, dense)
    if sparse.dim() != 2 or dense.dim() != 2:
        return shim_torch.mm(sparse, dense)
    out = shim_torch.zeros((sparse.shape[0], dense.shape[1]), dtype=sparse.dtype, device=sparse.device)
    return aten._sparse_addmm(out, sparse, dense, beta=0, alpha=1)


@composite("sspaddmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
def sspaddmm(self, mat1, mat2, beta, alpha):
    return _products().sspaddmm(self, mat1, mat2, beta, alpha)


@composite("smm(Tensor self, Tensor mat2) -> Tensor")
def smm(self, mat2):
    return _products().sspmm(self, mat2)


@composite("hspmm(Tensor mat1, Tensor mat2) -> Tensor", method=False)
def hspmm(mat1, mat2):
    return _products().hspmm(mat1, mat2)


@direct(
    "sparse_sampled_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    **_PRIVATE,
    out=True,
    grad={
        "self": lambda g, beta: g if beta == 1 else g * beta,
        "mat1": lambda g, mat2, alpha: g.mm(mat2.t().conj()) * alpha,
        "mat2": lambda g, mat1, alpha: g.t().mm(mat1.conj()).t() * alpha,
    },
)
def sparse_sampled_addmm(self, mat1, mat2, beta, alpha):
    return _products().sampled_addmm(self, mat1, mat2, beta, alpha)


@direct(
    "_sparse_stack(Tensor[] tensors, int dim=0) -> Tensor",
    **_PRIVATE,
    grad={"tensors": lambda g, tensors, dim: [g.select(dim, i) for i in range(len(tensors))]},
)
def sparse_stack(tensors, dim):
    import shim_torch

    return shim_torch.cat([t.unsqueeze(dim) for t in tensors], dim)


# --- embeddings ---------------------------------------------------------------------------------------------------------------


@direct(
    "_embedding_sparse(Tensor weight, Tensor indices, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
    **_PRIVATE,
    grad={
        "weight": lambda g, weight_shape, indices, padding_idx, scale_grad_by_freq: _coo().embedding_gradient(
            g, weight_shape, indices, padding_idx, scale_grad_by_freq
        )
    },
)
def embedding_sparse(weight, indices, padding_idx, scale_grad_by_freq):
    """Rows of ``weight``; the gradient is a COO tensor of the rows that were looked up."""
    import shim_torch

    return shim_torch.ops.aten._embedding(weight, indices, padding_idx, scale_grad_by_freq)
