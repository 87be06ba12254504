"""Matrix products: mm, bmm, mv, dot, matmul and their like, all by way of one description of the problem (native/src/gemm)."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.products import (
    bmm_shape,
    left_grad,
    mm_shape,
    right_grad,
    same_kind,
    same_scalar,
    same_vectors,
)
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import wrap_dim


def _size_of(array: Any) -> float:
    """The greatest magnitude of whole numbers."""
    return max(float(array.max()), -float(array.min()))


def _product(xp: Any, a: Any, b: Any) -> Any:
    """A product; of whole numbers on the host in float64 where every sum is exact there: only that has a fast loop."""
    few = a.size * b.shape[-1] < 4096
    if few or a.dtype.kind not in "iu" or hasattr(a, "get") or not _size_of(a) * _size_of(b) * a.shape[-1] < 2.0**53:
        return xp.matmul(a, b)
    return xp.matmul(a.astype("float64"), b.astype("float64")).astype("int64").astype(a.dtype)


@op(
    "mm(Tensor self, Tensor mat2) -> Tensor",
    foreseen="floats",
    shape=mm_shape,
    dtype=lambda self, mat2: same_kind(self, mat2),
    out=True,
    native="mm",
    grad={"self": left_grad, "mat2": right_grad},
    one_dtype=True,
    refuses=(("b", "addmm_impl_cpu_"),),
    autocast="lower_precision",
    out_dtype="exact",
    overlap="unchecked",
)
def mm(xp, self, mat2):
    """The product of two matrices of one dtype: (M, K) and (K, N) give (M, N). Integers wrap around."""
    return _product(xp, self, mat2)


@op(
    "bmm(Tensor self, Tensor mat2) -> Tensor",
    foreseen="floats",
    shape=bmm_shape,
    dtype=lambda self, mat2: same_scalar(self, mat2),
    out=True,
    native="bmm",
    grad={
        "self": lambda g, mat2: g.bmm(mat2.transpose(1, 2).conj()),
        "mat2": lambda g, self: self.transpose(1, 2).conj().bmm(g),
    },
    one_dtype=True,
    refuses=(("b", "bmm"),),
    autocast="lower_precision",
    out_dtype="exact",
    overlap="unchecked",
)
def bmm(xp, self, mat2):
    """The products of two batches of matrices of one dtype: (B, M, K) and (B, K, N) give (B, M, N)."""
    return _product(xp, self, mat2)


def _mv_shape(self, vec):
    if self.dim() != 2 or vec.dim() != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {self.dim()}, {vec.dim()}")
    if self.size(1) != vec.size(0):
        raise RuntimeError(
            f"size mismatch, got input ({self.size(0)}), mat ({self.size(0)}x{self.size(1)}), vec ({vec.size(0)})"
        )
    return (self.size(0),)


@op(
    "mv(Tensor self, Tensor vec) -> Tensor",
    shape=_mv_shape,
    dtype=lambda self, vec: same_vectors(vec, self, vec),
    out=True,
    native="mv",
    grad={"self": lambda g, vec: g.outer(vec.conj()), "vec": lambda g, self: self.t().conj().mv(g)},
    one_dtype=True,
    refuses=(("b", "addmv_impl_cpu"),),
    autocast="lower_precision_cuda",
    out_dtype="exact",
)
def mv(xp, self, vec):
    """The product of a matrix and a vector of one dtype: (M, K) and (K,) give (M,)."""
    return xp.matmul(self, vec)


def _dot_check(self, tensor):
    if self.dim() != 1 or tensor.dim() != 1:
        raise RuntimeError(f"1D tensors expected, but got {self.dim()}D and {tensor.dim()}D tensors")
    if self.dtype != tensor.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {_core.scalar_name(self.dtype)} and {_core.scalar_name(tensor.dtype)}"
        )
    if self.numel() != tensor.numel():
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{self.numel()}] and src [{tensor.numel()}] to have the same number of "
            f"elements, but got {self.numel()} and {tensor.numel()} elements respectively"
        )
    return ()


@op(
    "dot(Tensor self, Tensor tensor) -> Tensor",
    shape=_dot_check,
    dtype=lambda self, tensor: self.dtype,
    out=True,
    native="dot",
    grad={"self": lambda g, tensor: g * tensor.conj(), "tensor": lambda g, self: g * self.conj()},
    one_dtype=True,
    refuses=(("b", "dot"),),
    autocast="promote_cuda",
    out_dtype="result dtype {O} does not match input dtype {R}",
)
def dot(xp, self, tensor):
    """Σ x · y of two vectors of one dtype and length, as a 0-D tensor; nothing is conjugated."""
    return xp.matmul(self, tensor)


@composite(
    "vdot(Tensor self, Tensor other) -> Tensor",
    gradient_name="VdotBackward0",
    out=True,
    one_dtype=True,
    refuses=(("b", "dot"),),
    autocast="promote_cuda",
    out_dtype="result dtype {O} does not match input dtype {R}",
)
def vdot(self, other):
    """Σ conj(x) · y of two vectors of one dtype and length, as a 0-D tensor."""
    return (self.conj() if self.is_complex() else self).dot(other)


@composite(
    "inner(Tensor self, Tensor other) -> Tensor",
    out=True,
    out_dtype="tensordot: Expected the output tensor to have dtype {R}, but got an output tensor with dtype {O}",
    out_error_name="mul",
)
def inner(self, other):
    """Σ x · y over the last dims: (*, K) and (**, K) give (*, **).

    Where one has no dims: the product with each element of the other.
    """
    if 0 in (self.dim(), other.dim()):
        return self * other
    if self.size(-1) != other.size(-1):
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(self.shape)} and "
            f"{list(other.shape)}"
        )
    if self.dtype != other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if self.dim() == 1 and other.dim() == 1:
        return self.dot(other)
    return torch.tensordot(self, other, [-1], [-1])


@composite(
    "matmul(Tensor self, Tensor other) -> Tensor",
    foreseen="floats",
    out=True,
    native="matmul",
    symbol="matmul",
    autocast="lower_precision",
    out_dtype="exact",
)
def matmul(self, other):
    """Products of matrices, which are the last two dims; the dims before them are a batch and broadcast.

    Shapes:  (*, M, K), (*, K, N) -> (*, M, N); a vector (K,) is a row at the left, a column at the right, and
             the result lacks its dim
    Dtypes:  one for both
    Errors:  RuntimeError for tensors without dims and for sizes that do not fit
    """
    a, b = self.dim(), other.dim()
    if a == 0 or b == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    if a == 1 and b == 1:
        return self.dot(other)
    if a == 2 and b == 1:
        return self.mv(other)
    if a == 1 and b == 2:
        return torch._unsafe_view(self.unsqueeze(0).mm(other), (other.size(1),))
    if a == 2 and b == 2:
        return self.mm(other)
    if a >= 3 and b == 1 and self.size(-1) != other.size(0):
        rows = self.numel() // max(self.size(-1), 1)
        raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{self.size(-1)}), vec ({other.size(0)})")
    if a >= 3 and b <= 2:  # fold the batch into rows
        m = other.unsqueeze(1) if b == 1 else other
        if self.size(-1) != m.size(0):
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({self.numel() // max(self.size(-1), 1)}x{self.size(-1)} and {m.size(0)}x{m.size(1)})"
            )
        rows = 1
        for n in self.shape[:-1]:
            rows *= n
        out = self.reshape(rows, self.size(-1)).mm(m)
        return torch._unsafe_view(out, self.shape[:-1] if b == 1 else (*self.shape[:-1], m.size(1)))  # no view
    return _batched(self.unsqueeze(0) if a == 1 else self, other.unsqueeze(1) if b == 1 else other, a == 1, b == 1)


def _batched(x, y, drop_row, drop_col):
    batch = _core.broadcast_shapes([x.shape[:-2], y.shape[:-2]])
    if x.size(-1) != y.size(-2):
        n = 1
        for s in batch:
            n *= s
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{n}, {x.size(-1)}] but got: [{n}, {y.size(-2)}]."
        )
    n = 1
    for s in batch:
        n *= s
    left = x.expand(*batch, *x.shape[-2:]).reshape(n, *x.shape[-2:])
    right = y.expand(*batch, *y.shape[-2:]).reshape(n, *y.shape[-2:])
    rows, cols = () if drop_row else (x.size(-2),), () if drop_col else (y.size(-1),)
    return torch._unsafe_view(left.bmm(right), (*batch, *rows, *cols))  # no view


@composite(
    "tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
    function=False,
    method=False,
    out=True,
    autocast="promote_cuda",
    out_dtype="tensordot: Expected the output tensor to have dtype {R}, but got an output tensor with dtype {O}",
    writes_out_last=True,
)
def tensordot(self, other, dims_self, dims_other):
    """Σ x · y over ``dims_self`` of the first and ``dims_other`` of the second; the other dims of both follow in order.

    Errors:  RuntimeError for lists of different lengths, and for sizes that differ where neither is 1
    """
    given = dims_self, dims_other
    a, b = [wrap_dim(d, self.dim()) for d in dims_self], [wrap_dim(d, other.dim()) for d in dims_other]
    if len(a) != len(b):
        raise RuntimeError("both dimension lists should have same length")
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        if self.size(x) != other.size(y) and 1 not in (self.size(x), other.size(y)):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {self.size(x)} in dim {given[0][i]} and second has size {other.size(y)} in dim {given[1][i]}"
            )
    for x, y in zip(a, b, strict=True):  # a dim of size 1 stands against all of the other's: that one is summed
        if self.size(x) == 1 != other.size(y):
            other = other.sum(y, True, dtype=other.dtype)
        elif other.size(y) == 1 != self.size(x):
            self = self.sum(x, True, dtype=self.dtype)
    if self.dim() == other.dim() == len(a):  # one number: a product that autocast leaves alone
        if self.dtype != other.dtype:
            raise RuntimeError("both inputs should have same dtype")
        return self.permute(a).reshape(-1).dot(other.permute(b).reshape(-1)).view(())
    free_a = [d for d in range(self.dim()) if d not in a]
    free_b = [d for d in range(other.dim()) if d not in b]
    k = 1
    for d in a:
        k *= self.size(d)
    left = self.permute([*free_a, *a]).reshape(-1 if self.numel() else _size(self, free_a), k)
    right = other.permute([*b, *free_b]).reshape(k, -1 if other.numel() else _size(other, free_b))
    return left.mm(right).reshape([self.size(d) for d in free_a] + [other.size(d) for d in free_b])


def _size(t, dims):
    n = 1
    for d in dims:
        n *= t.size(d)
    return n


@composite(
    "trace(Tensor self) -> Tensor",
    autocast="float32_cpu",
    gradient_name="TraceBackward0",
    native="trace",
    refuses=(("bC", "trace"),),
)
def trace(self):
    """The sum of a matrix's diagonal; integers are summed in int64."""
    if self.dim() != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.dim()}")
    return self.diagonal().sum()
