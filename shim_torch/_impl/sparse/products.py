"""Matrix products with sparse operands. Compressed operands are seen as COO; results have PyTorch's layouts."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.sparse import coo as _coo
from shim_torch._impl.sparse.arithmetic import is_sparse
from shim_torch._impl.sparse.conversions import COMPRESSED, to_coo
from shim_torch._impl.sparse.dispatch import composite, kernel, refuse
from shim_torch._impl.table.calls import shim, torch


def _entries(t: Any) -> Any:
    """A matrix's entries as COO parts, whatever its sparse layout is."""
    return _coo.parts(t if t.layout == _core.sparse_coo else to_coo(t))


def _check_types(a: Any, b: Any) -> None:
    if a.dtype != b.dtype:
        from shim_torch._impl.table.rules import scalar_word

        first, second = scalar_word(a.dtype), scalar_word(b.dtype)
        coo = [t.layout == _core.sparse_coo for t in (a, b)]
        if all(coo):
            raise RuntimeError(f"mat1 dtype {first} does not match mat2 dtype {second}")
        # PyTorch's kernels ask one operand for the dtype of the other: which one depends on the layouts
        if is_sparse(b) and (coo[1] or is_sparse(a)):
            first, second = second, first
        raise RuntimeError(f"expected scalar type {first} but found {second}")


def _check_shapes(a: Any, b: Any) -> None:
    for place, t in (("mat1", a), ("mat2", b)):
        if t.dim() != 2:
            if not is_sparse(t):
                raise RuntimeError(f"{place} must be a matrix")
            raise RuntimeError(f"addmm: 2D tensor expected, got {t.dim()}D tensor")
    if a.shape[1] == b.shape[0]:
        return
    if is_sparse(a) and is_sparse(b):
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )
    if a.layout in COMPRESSED or b.layout in COMPRESSED:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )
    if is_sparse(a):
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {a.shape[1]}, got {b.shape[0]}")
    raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {b.shape[0]}, got {a.shape[1]}")


def _times(a: Any, dense: Any) -> Any:
    """Sparse (m, k) times dense (k, n)."""
    if a.layout == _core.sparse_csr and a.device.type == "cpu" and a.dtype in (_core.float32, _core.float64):
        p = _coo.parts(a)
        whole = p.dense_dim == 0 and p.values.numel() and dense.numel() and p.indices.numel() == a.shape[0] + 1
        if whole and bool((p.indices.diff() >= 0).all()):  # a row's products are a bag of the dense matrix' rows
            return shim.embedding_bags(dense, p.plain, p.indices, p.values, 0, True, -1)[0]
    p = _entries(a)
    made = torch.zeros((a.shape[0], dense.shape[1]), dtype=dense.dtype, device=dense.device)
    if not p.values.numel() or not dense.numel():
        return made
    rows = dense.index_select(0, p.indices[1]) * p.values.reshape(-1, 1)
    return _coo.sum_rows(rows, p.indices[0], a.shape[0])


def _sparse_times_sparse(a: Any, b: Any) -> Any:
    """Every entry (i, k) with every entry (k, j), those of one place summed."""
    from shim_torch._impl.sparse.shapes import _matches

    one, two = _entries(a), _entries(b)
    size = (a.shape[0], b.shape[1])
    at, entry = _matches(one.indices[1], two.indices[0])
    indices = one.indices.index_select(1, at)
    indices[1] = two.indices[1].index_select(0, entry)
    values = one.values.index_select(0, at) * two.values.index_select(0, entry)
    return _coo.coalesce(_coo.make(indices, values, size, False))


_BLOCKED = (_core.sparse_bsr, _core.sparse_bsc)


def _check_layouts(a: Any, b: Any) -> None:
    """Layouts whose product PyTorch has no kernel for either."""
    both = is_sparse(a) and is_sparse(b)
    if both and a.layout in _BLOCKED:
        raise RuntimeError(
            f"zeros_sparse_compressed expected sparse compressed (non-block) tensor layout but got {_coo.word(a)}"
        )
    wrong = both and (b.layout in _BLOCKED or (a.layout == _core.sparse_coo) != (b.layout == _core.sparse_coo))
    if wrong or a.layout == _core.sparse_bsc or (b.layout == _core.sparse_bsr and not both):
        out = _coo.word(a) if both else "Strided"
        where = {"cuda": "CUDA"}.get(a.device.type, "CPU")
        raise RuntimeError(
            f"addmm: computation on {where} is not implemented for {out} + {_coo.word(a)} @ {_coo.word(b)}"
        )


def product(a: Any, b: Any) -> Any:
    """a @ b of two matrices, at least one sparse: dense unless both are sparse."""
    _check_shapes(a, b)
    _check_types(a, b)
    _check_layouts(a, b)
    if is_sparse(a) and is_sparse(b):
        made = _sparse_times_sparse(a, b)
        if a.layout == b.layout == _core.sparse_coo:
            return made
        return made.to_sparse(layout=_core.sparse_csr)
    if is_sparse(a):
        return _times(a, b)
    p = _entries(b)
    flipped = _coo.make(p.indices.flip(0), p.values, (b.shape[1], b.shape[0]), False)
    return _times(flipped, a.t()).t().contiguous()


@kernel("mm")
def mm(self: Any, mat2: Any) -> Any:
    """``self @ mat2`` of two matrices, at least one sparse: dense unless both are sparse."""
    return product(self, mat2)


def combined(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    """beta * self + alpha * mat1 @ mat2."""
    if is_sparse(self) and not (is_sparse(mat1) and is_sparse(mat2)):
        raise RuntimeError(
            f"addmm_sparse_dense: expected strided result tensor, got tensor with layout {_coo.word(self)}"
        )
    made = product(mat1, mat2)
    if alpha != 1:
        made = made * alpha
    if is_sparse(made):
        if not is_sparse(self):
            made = made.to_dense()
        elif self.layout != made.layout:
            made = made.to_sparse(layout=self.layout)
    elif not _expands(self, made):
        raise RuntimeError(
            f"The expanded size of the tensor ({made.shape[-1]}) must match the existing size ({self.shape[-1]}) at non-singleton "
            f"dimension 1.  Target sizes: {list(made.shape)}.  Tensor sizes: {list(self.shape)}"
        )
    if beta == 0:
        return made
    scaled = self if beta == 1 else self * beta
    return scaled + made if is_sparse(made) or not is_sparse(scaled) else made + scaled


def _expands(a: Any, b: Any) -> bool:
    return a.dim() <= b.dim() and all(m in (1, n) for m, n in zip(reversed(a.shape), reversed(b.shape), strict=False))


@kernel("addmm")
def addmm(self: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * self + alpha * mat1 @ mat2``; sparse where all three are, with the layout of ``self``, else dense."""
    return combined(self, mat1, mat2, beta, alpha)


@composite("mv")
def mv(self: Any, vec: Any) -> Any:
    """(n, m) times (m,): (n,)."""
    if self.dim() != 2 or vec.dim() != 1:
        raise RuntimeError(
            f"mv: two tensor dim should be 2 and 1, but got SparseTensor Dim: {self.dim()}Tensor Dim: {vec.dim()}"
        )
    if self.shape[1] != vec.shape[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    return torch.mm(self, vec.unsqueeze(1)).squeeze(1)


@composite("addmv")
def addmv(self: Any, mat: Any, vec: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * self + alpha * mat @ vec`` for a compressed ``mat``; COO is refused."""
    if mat.layout == _core.sparse_coo or not is_sparse(mat):
        refuse("aten::addmv", [self, mat, vec])
    made = mat.mv(vec)
    made = made if alpha == 1 else made * alpha
    return made.expand(made.shape) if beta == 0 else (self if beta == 1 else self * beta) + made


@composite("matmul", "__matmul__", "linalg_matmul")
def matmul(self: Any, other: Any) -> Any:
    """By the numbers of dims: matrices, a matrix and a vector, or batches of matrices; others are refused."""
    a, b = self.dim(), other.dim()
    if a == 0 or b == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    if a == 2 and b == 2:
        return torch.mm(self, other)
    if a == 2 and b == 1:
        return torch.mv(self, other)
    if a == 1 and b == 2 and not is_sparse(self):
        return torch.mm(self.unsqueeze(0), other).squeeze(0)
    if a == 3 and b == 3:
        return torch.bmm(self, other)
    if a == 3 and b == 2 and is_sparse(self) and not is_sparse(other):
        return torch.bmm(self, other.unsqueeze(0).expand(self.shape[0], *other.shape))
    return refuse("aten::dot" if a == b == 1 else "aten::expand", [self, other])


@composite("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``input @ weight.T + bias``."""
    made = input.matmul(weight.t())
    return made if bias is None else made + bias


def _bmm(self: Any, mat2: Any) -> Any:
    if is_sparse(mat2):
        raise RuntimeError("bmm_sparse: Tensor 'mat2' must be dense")
    if self.dim() != 3 or mat2.dim() != 3:
        which = "self" if self.dim() != 3 else "mat2"
        raise RuntimeError(
            f"bmm_sparse: Tensor '{which}' must have dim 3, but has dim {(self if which == 'self' else mat2).dim()}"
        )
    if self.shape[0] != mat2.shape[0]:
        raise RuntimeError("bmm_sparse: 'self.size(0)' and 'mat2.size(0)' must match")
    if self.shape[2] != mat2.shape[1]:
        raise RuntimeError("bmm_sparse: 'self.size(2)' and 'mat2.size(1)' must match")
    return None


@kernel("bmm")
def bmm(self: Any, mat2: Any) -> Any:
    """Sparse (b, n, k) times dense (b, k, m): dense (b, n, m)."""
    _bmm(self, mat2)
    if self.layout in COMPRESSED:
        count = self.shape[0]
        return torch.stack([product(_batch(self, i), mat2[i]) for i in range(count)])
    p = _coo.parts(self)
    b, m, k = self.shape
    rows = p.indices[0] * m + p.indices[1]
    columns = p.indices[0] * k + p.indices[2]
    wide = _coo.make(torch.stack([rows, columns]), p.values, (b * m, b * k), False)
    return _times(wide, mat2.reshape(b * k, -1)).reshape(b, m, mat2.shape[2])


def _batch(t: Any, i: int) -> Any:
    from shim_torch._impl.sparse import compressed

    return compressed.select(t, 0, i)


def masked_gradient(g: Any, other: Any, pattern: Any, alpha: Any = 1) -> Any:
    """The gradient of a sparse left operand: (g @ other^H) at its entries."""
    pattern = pattern.coalesce() if pattern.layout == _core.sparse_coo else pattern
    grad = g.mm(other.t().conj()) if is_sparse(other) or is_sparse(g) else g.mm(other.conj().t())
    grad = grad if alpha == 1 else grad * alpha
    return grad.sparse_mask(pattern)


def sampled_addmm(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    """alpha * (mat1 @ mat2) at the entries of ``self``, plus beta * self; a ``self`` without batches serves every product."""
    from shim_torch._impl.sparse.compressed import check_sampled

    check_sampled(self, mat1, mat2)
    batch = tuple(mat1.shape[:-2])
    if batch and self.dim() == 2:
        p = _coo.parts(self)
        parts = (part.expand(*batch, *part.shape).clone() for part in (p.indices, p.plain, p.values))
        self = _core.sparse_tensor(p.layout, (*batch, *self.shape), *parts, 2, 0, False)
    picked = _coo.parts(mat1.matmul(mat2).sparse_mask(self)).values * alpha
    if beta != 0:
        picked = picked + _coo.parts(self).values * beta
    return _coo.with_values(self, picked)


def mm_reduce(mat1: Any, mat2: Any, reduce: str) -> Any:
    """CSR times dense where the products of a row meet by sum, mean, amax or amin; rows without entries are zero."""
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(f"torch.sparse.mm: reduce argument must be either sum, mean, amax or amin, got {reduce}")
    if mat1.layout != _core.sparse_csr or mat2.layout != _core.strided:
        raise RuntimeError("torch.sparse.mm: expected a CSR matrix and a dense one for a reduction")
    _check_shapes(mat1, mat2)
    p = _entries(mat1.detach())
    products = mat2.index_select(0, p.indices[1]) * mat1.values().reshape(-1, 1)
    zeros = mat2.new_zeros((mat1.shape[0], mat2.shape[1]))
    index = p.indices[0].unsqueeze(1).expand(products.shape)
    return torch.scatter_reduce(zeros, 0, index, products, reduce, include_self=False)
