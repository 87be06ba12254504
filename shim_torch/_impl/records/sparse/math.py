"""Sums, softmax, products and lookups of sparse tensors. The work is done in ``shim_torch.sparse``."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.sparse_layouts import compressed_module, coo_module
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, direct

_PRIVATE: dict[str, Any] = {"function": False, "method": False, "module": "_C"}
_METHOD: dict[str, Any] = {"function": False, "method": True}

# --- sums and softmax -------------------------------------------------------------------------------------------------------


def _reductions() -> Any:
    from shim_torch._impl.sparse import reductions as _reductions

    return _reductions


@direct(
    "_sparse_sum_all(Tensor self, ScalarType? dtype=None) -> Tensor",
    **_PRIVATE,
    grad={"self": lambda g, self_shape: g.expand(self_shape)},  # of every place, as PyTorch's
)
def sum_all(self, dtype):
    """The sum of all entries as a 0-D strided tensor; integers are summed in int64 unless ``dtype`` says another."""
    return _reductions().sum_all(self, dtype)


@direct(
    "_sparse_sum_dims(Tensor self, int[] dim, ScalarType? dtype=None, bool everywhere=False) -> Tensor",
    **_PRIVATE,
    grad={"self": lambda g, self, dim, everywhere: _reductions().sum_backward(g, self, dim, everywhere)},
)
def sum_dims(self, dim, dtype, everywhere):
    """Sums of a COO tensor over ``dim``: sparse while a sparse dim is left, else strided; integers in int64."""
    return _reductions().sum_dims(self, dim, dtype)


@direct(
    "_sparse_sum_kept(Tensor self, int[1]? dim, bool keepdim=False, ScalarType? dtype=None) -> Tensor",
    **_PRIVATE,
    grad={"self": lambda g, self_shape: g.expand(self_shape)},
)
def sum_kept(self, dim, keepdim, dtype):
    """The sum of a compressed matrix over some dims, which are kept."""
    return compressed_module().sum_dim(self, dim, keepdim, dtype)


@direct(
    "_sparse_broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)",
    method=False,
    grad={"self": lambda g, self_shape: g.to_dense().sum_to_size(self_shape)},
)
def sparse_broadcast_to(self, size):
    """The COO tensor repeated to ``size``: new dims lead, dims of size 1 grow."""
    from shim_torch._impl.sparse.joins import broadcast_to

    return broadcast_to(self, tuple(size))


@composite("_sparse_sum(Tensor self) -> Tensor", method=False)
def sparse_sum(self):
    """The sum of a COO tensor's entries, or over ``dim``: sparse while a sparse dim is left."""
    return self.coalesce().values().sum()


@composite("_sparse_sum.dtype(Tensor self, *, ScalarType dtype) -> Tensor", method=False)
def sparse_sum_dtype(self, dtype):
    """The sum of a COO tensor's entries in ``dtype``."""
    return self.coalesce().values().sum(dtype=dtype)


@composite("_sparse_sum.dim(Tensor self, int[1] dim) -> Tensor", method=False)
def sparse_sum_dim(self, dim):
    """Sums over ``dim``: sparse while a sparse dim is left, else strided."""
    return _reductions().sum_at_entries(self, dim, None)


@composite("_sparse_sum.dim_dtype(Tensor self, int[1] dim, *, ScalarType dtype) -> Tensor", method=False)
def sparse_sum_dim_dtype(self, dim, dtype):
    """Sums over ``dim`` in ``dtype``: sparse while a sparse dim is left, else strided."""
    return _reductions().sum_at_entries(self, dim, dtype)


@direct("_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) -> Tensor", method=False)
def coo_to_csr(self, size, out_int32):
    """How many of the sorted row numbers lie below each row: (size + 1,)."""
    rows = torch.arange(size + 1, device=self.device)
    return torch.searchsorted(self.long(), rows).to(_core.int32 if out_int32 else _core.int64)


@direct(
    "_convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool out_int32=False, bool transpose=False) "
    "-> Tensor",
    method=False,
)
def csr_to_coo(crow_indices, col_indices, out_int32, transpose):
    """(2, nnz) COO indices of CSR ones; of batches (batch dims + 2, nnz); ``transpose``: columns first."""
    values = torch.zeros(col_indices.shape, dtype=_core.bool, device=col_indices.device)
    size = (
        *col_indices.shape[:-1],
        crow_indices.shape[-1] - 1,
        int(col_indices.max()) + 1 if col_indices.numel() else 0,
    )
    t = compressed_module().unsafe(crow_indices, col_indices, values, size, _core.sparse_csr, None, None)
    found = compressed_module().to_coo(t)._indices().to(_core.int32 if out_int32 else _core.int64)
    return torch.cat([found[:-2], found[-1:], found[-2:-1]]) if transpose else found


def _softmaxes(name: str, log: bool) -> None:
    def grad(g, result, dim):
        return _reductions().softmax_backward(g, result, dim, log)

    def body(self, dim, half_to_float):
        if half_to_float:
            raise RuntimeError(f"softmax with half to float conversion is not supported on {self.device.type.upper()}")
        coo_module().raw_part(self, f"_sparse_{name}")
        return _reductions().softmax(self, dim, log)

    direct(f"_sparse_{name}(Tensor self, int dim, bool half_to_float) -> Tensor", **_PRIVATE, grad={"self": grad})(body)

    def public(self, dim, dtype):
        return getattr(aten, f"_sparse_{name}").default(self if dtype is None else self.to(dtype), dim, False)

    composite(f"_sparse_{name}.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", method=False)(public)


_softmaxes("softmax", False)
_softmaxes("log_softmax", True)


@composite("_resize_sparse_(Tensor(a!) self, int[] size) -> Tensor(a!)", **_METHOD)
def resize_sparse_(self, size):
    """Resizes a compressed tensor in place; COO tensors are refused."""
    from shim_torch._impl.sparse import copies

    return copies.resize_(self, size)


# --- products -----------------------------------------------------------------------------------------------------------------


def _products() -> Any:
    from shim_torch._impl.sparse import products as _products

    return _products


def _row_products() -> Any:
    from shim_torch._impl.sparse import row_products

    return row_products


@direct(
    "_sparse_sparse_matmul(Tensor self, Tensor other) -> Tensor",
    **_PRIVATE,
    grad={
        "self": lambda g, self, other: _products().masked_gradient(g, other, self),
        "other": lambda g, self, other: (
            self.t().conj().mm(g).sparse_mask(other.coalesce() if other.layout == _core.sparse_coo else other)
        ),
    },
)
def sparse_sparse_matmul(self, other):
    """The product of two sparse matrices: COO of two COO ones, else CSR."""
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
    """``beta`` · ``input`` + ``alpha`` · ``mat1`` @ ``mat2``, one factor or both sparse; strided where ``input`` is."""
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
    """The product of a sparse and a dense matrix, strided, or of two sparse ones, sparse."""
    if sparse.layout != _core.strided and dense.layout != _core.strided:
        return aten._sparse_sparse_matmul(sparse, dense)
    if sparse.dim() != 2 or dense.dim() != 2:
        return torch.mm(sparse, dense)
    out = torch.zeros((sparse.shape[0], dense.shape[1]), dtype=sparse.dtype, device=sparse.device)
    return aten._sparse_addmm(out, sparse, dense, beta=0, alpha=1)


@composite("sspaddmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
def sspaddmm(self, mat1, mat2, beta, alpha):
    """``beta`` · ``input`` + ``alpha`` · ``mat1`` @ ``mat2`` as COO: ``mat2`` is dense, the others sparse."""
    return _row_products().sspaddmm(self, mat1, mat2, beta, alpha)


@composite("smm(Tensor self, Tensor mat2) -> Tensor")
def smm(self, mat2):
    """The product of a sparse and a dense matrix as COO, with every column of the rows that have entries."""
    return _row_products().sspmm(self, mat2)


@composite("hspmm(Tensor mat1, Tensor mat2) -> Tensor", method=False)
def hspmm(mat1, mat2):
    """The product of a sparse and a dense matrix as COO with one sparse dim: the rows that have entries."""
    return _row_products().hspmm(mat1, mat2)


@direct(
    "sparse_sampled_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    **_PRIVATE,
    out=True,
    grad={
        "self": lambda g, beta: g if beta == 1 else g * beta.conjugate(),
        "mat1": lambda g, mat2, alpha: g.mm(mat2.t().conj()) * alpha.conjugate(),
        "mat2": lambda g, mat1, alpha: g.t().mm(mat1.conj()).t() * alpha.conjugate(),
    },
)
def sparse_sampled_addmm(self, mat1, mat2, beta, alpha):
    """``beta`` · ``input`` + ``alpha`` · (``mat1`` @ ``mat2``), computed at the entries of ``input`` alone.

    Shapes:  input (*, M, N) in CSR, or (M, N) for a whole batch; mat1 (*, M, K) and mat2 (*, K, N), strided
    Dtypes:  one for all
    """
    return _products().sampled_addmm(self, mat1, mat2, beta, alpha)


@direct(
    "_sparse_stack(Tensor[] tensors, int dim=0) -> Tensor",
    **_PRIVATE,
    grad={"tensors": lambda g, tensors, dim: [g.select(dim, i) for i in range(len(tensors))]},
)
def sparse_stack(tensors, dim):
    """Sparse tensors joined along a new dim."""
    return torch.cat([t.unsqueeze(dim) for t in tensors], dim)


def _lookup_gradients() -> Any:
    from shim_torch._impl.sparse import lookup_gradients

    return lookup_gradients


# --- embeddings ---------------------------------------------------------------------------------------------------------------


@direct(
    "_embedding_sparse(Tensor weight, Tensor indices, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
    **_PRIVATE,
    grad={
        "weight": lambda g, weight_shape, indices, padding_idx, scale_grad_by_freq: (
            _lookup_gradients().embedding_gradient(g, weight_shape, indices, padding_idx, scale_grad_by_freq)
        )
    },
)
def embedding_sparse(weight, indices, padding_idx, scale_grad_by_freq):
    """Rows of ``weight``; the gradient is a COO tensor of the rows that were looked up."""
    return aten._embedding(weight, indices, padding_idx, scale_grad_by_freq)
