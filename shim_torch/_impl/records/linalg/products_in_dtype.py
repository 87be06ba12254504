"""Matrix products with ``out_dtype``: 16-bit operands whose sums, kept in float32 all along, are given as such."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.products import (
    addmm_grad,
    addmm_shape,
    baddbmm_shape,
    bmm_shape,
    combined,
    left_grad,
    mm_shape,
    right_grad,
    same_kind,
    times,
    wide_dtype,
)
from shim_torch._impl.table.record import op


def _mm_dtype(self: Any, mat2: Any, out_dtype: Any) -> Any:
    same_kind(self, mat2)
    return wide_dtype(out_dtype, self)


def _addmm_dtype(mat1: Any, mat2: Any, out_dtype: Any) -> Any:
    return _mm_dtype(mat1, mat2, out_dtype)


def _batched_dtype(name: str, self: Any, mat2: Any, out_dtype: Any) -> Any:
    if self.device.type == "cpu":
        raise NotImplementedError(
            f"Could not run 'aten::{name}.dtype' with arguments from the 'CPU' backend: it is CUDA's alone"
        )
    return _mm_dtype(self, mat2, out_dtype)


def _product(xp: Any, a: Any, b: Any, out_dtype: Any) -> Any:
    if out_dtype is _core.float32:
        a, b = a.astype("float32"), b.astype("float32")
    return xp.matmul(a, b)


# The gradient of a product in float32 is computed in float32 and rounded once, to the operands' dtype.
def _left(g: Any, self_shape: Any, self_strides: Any, self_dtype: Any, mat2: Any) -> Any:
    return left_grad(g, self_shape, self_strides, mat2.to(g.dtype)).to(self_dtype)


def _right(g: Any, self: Any, mat2_shape: Any, mat2_strides: Any, mat2_dtype: Any) -> Any:
    return right_grad(g, self.to(g.dtype), mat2_shape, mat2_strides).to(mat2_dtype)


def _batch_left(g: Any, mat2: Any) -> Any:
    return g.bmm(mat2.to(g.dtype).transpose(1, 2)).to(mat2.dtype)


def _batch_right(g: Any, self: Any) -> Any:
    return self.to(g.dtype).transpose(1, 2).bmm(g).to(self.dtype)


def _added(g: Any, beta: Any, self_shape: Any, self_dtype: Any) -> Any:
    return addmm_grad(g, beta, self_shape).to(self_dtype)


@op(
    "mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor",
    foreseen="floats",
    shape=mm_shape,
    dtype=_mm_dtype,
    out=True,
    method=False,
    native="mm_dtype",
    grad={"self": _left, "mat2": _right},
    autocast="lower_precision",
    out_dtype="structured",
    overlap="unchecked",
)
def mm_dtype(xp, self, mat2, out_dtype):
    """(M, K) and (K, N) of one dtype give (M, N) in ``out_dtype``, which is that dtype or, of 16-bit ones, float32.

    CUDA: one product, no operand is copied. The CPU, where PyTorch has no such product, widens the operands.
    """
    return _product(xp, self, mat2, out_dtype)


@op(
    "addmm.dtype(Tensor self, Tensor mat1, Tensor mat2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    foreseen="floats",
    shape=addmm_shape,
    dtype=_addmm_dtype,
    out=True,
    method=False,
    native="addmm_dtype",
    grad={
        "self": _added,
        "mat1": lambda g, mat1_shape, mat1_strides, mat1_dtype, mat2, alpha: times(
            _left(g, mat1_shape, mat1_strides, mat1_dtype, mat2), alpha
        ),
        "mat2": lambda g, mat1, mat2_shape, mat2_strides, mat2_dtype, alpha: times(
            _right(g, mat1, mat2_shape, mat2_strides, mat2_dtype), alpha
        ),
    },
    autocast="lower_precision",
    old_orders=("beta self alpha mat1 mat2", "beta self mat1 mat2"),
    out_dtype="structured",
)
def addmm_dtype(xp, self, mat1, mat2, out_dtype, beta, alpha):
    """beta · self + alpha · mat1 · mat2 as ``mm`` with ``out_dtype``; ``self`` is in that dtype or the operands'."""
    return combined(xp, self, _product(xp, mat1, mat2, out_dtype), beta, alpha)


@op(
    "bmm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor",
    foreseen="floats",
    shape=bmm_shape,
    dtype=lambda self, mat2, out_dtype: _batched_dtype("bmm", self, mat2, out_dtype),
    out=True,
    method=False,
    native="bmm_dtype",
    grad={"self": _batch_left, "mat2": _batch_right},
    autocast="lower_precision",
    out_dtype="structured",
    overlap="unchecked",
)
def bmm_dtype(xp, self, mat2, out_dtype):
    """A batch of ``mm`` with ``out_dtype``; not on the CPU, as in PyTorch."""
    return _product(xp, self, mat2, out_dtype)


@op(
    "baddbmm.dtype(Tensor self, Tensor batch1, Tensor batch2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1)"
    " -> Tensor",
    foreseen="floats",
    shape=baddbmm_shape,
    dtype=lambda batch1, batch2, out_dtype: _batched_dtype("baddbmm", batch1, batch2, out_dtype),
    out=True,
    method=False,
    native="baddbmm_dtype",
    grad={
        "self": _added,
        "batch1": lambda g, batch2, alpha: times(_batch_left(g, batch2), alpha),
        "batch2": lambda g, batch1, alpha: times(_batch_right(g, batch1), alpha),
    },
    autocast="lower_precision",
    old_orders=("beta self alpha batch1 batch2", "beta self batch1 batch2"),
    out_dtype="structured",
)
def baddbmm_dtype(xp, self, batch1, batch2, out_dtype, beta, alpha):
    """A batch of ``addmm`` with ``out_dtype``; not on the CPU, as in PyTorch."""
    return combined(xp, self, _product(xp, batch1, batch2, out_dtype), beta, alpha)
