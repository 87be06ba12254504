"""Cholesky decompositions, and what is solved with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import tangents_wanted
from shim_torch._impl.records.shared.matrices import (
    LinAlgError,
    adjoint,
    check_matrix,
    first_failed,
    on_cuda,
    square_shape,
    swapped,
)
from shim_torch._impl.surface.warnings import warn_once
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, direct, op

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)

_LINALG = {"module": "linalg", "method": False, "overlap": "unchecked"}


def _cholesky_grad(g: Any, result0: Any, upper: bool) -> Any:
    L, g = (adjoint(result0), adjoint(g)) if upper else (result0, g)
    solve = aten.linalg_solve_triangular
    inner = (adjoint(L) @ g).tril()
    if tangents_wanted():  # PyTorch's tangents tell the triangles apart, which share a gradient
        inner = inner - inner.diagonal(dim1=-2, dim2=-1).diag_embed() * 0.5
    else:
        inner = (inner + adjoint(inner.tril(-1))) * 0.5
    return solve(L, solve(adjoint(L), inner, upper=True), upper=False, left=False)


@op("linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)", autocast="float32_cpu",
    shape=square_shape("linalg.cholesky"), dtype=lambda self: (self.dtype, [self.dtype, _core.int32]),
    differentiable=(0,), grad={"self": _cholesky_grad}, out=True, order=("columns", None), native="cholesky", **_LINALG, out_dtype="structured")  # fmt: skip
def linalg_cholesky_ex(xp, self, upper, check_errors):
    """L of A = L Lᴴ for Hermitian positive definite A, or with ``upper`` U of A = Uᴴ U; and info of each matrix.

    Shapes:  A (*, n, n), of which the factor's triangle is read -> (*, n, n), info (*)
    Dtypes:  info is int32: 0, or the order of the first leading minor that is not positive definite
    Errors:  LinAlgError for such a matrix with ``check_errors``
    """
    batch, n = self.shape[:-2], self.shape[-1]
    info = xp.zeros(batch, "int32")
    a = swapped(xp, self).conj() if upper else self
    try:
        L = _factor(xp, a) if self.size else xp.zeros_like(self)
    except np.linalg.LinAlgError:  # some matrix of the batch is not positive definite
        L, info = _cholesky_each(xp, a.reshape(-1, n, n), batch)
        L = L.reshape(self.shape)
    if check_errors and bool((info > 0).any()):
        raise LinAlgError(_not_definite("linalg.cholesky_ex", info))
    return (swapped(xp, L).conj() if upper else L), info


def _factor(xp: Any, a: Any) -> Any:
    """Cholesky's factor; an exception where there is none, which CuPy raises when it is asked to look."""
    if not on_cuda(a):
        return xp.linalg.cholesky(a)
    from shim_torch._impl.arrays import cupy_runtime

    with cupy_runtime.failing():
        return xp.linalg.cholesky(a)


def _cholesky_each(xp: Any, stack: Any, batch: Any) -> tuple[Any, Any]:
    """All matrices of a stack column by column, each up to the first of its leading minors that is not definite."""
    n = stack.shape[-1]
    out, order = xp.zeros_like(stack), xp.full(len(stack), n)
    for j in range(n):
        row = out[:, j, :j].conj()
        pivot = (stack[:, j, j] - xp.einsum("ij,ij->i", out[:, j, :j], row)).real
        order = xp.where((order == n) & ~(pivot > 0), j, order)
        root = xp.sqrt(xp.where(pivot > 0, pivot, 1))
        out[:, j, j] = root
        below = stack[:, j + 1 :, j] - xp.einsum("ijk,ik->ij", out[:, j + 1 :, :j], row)
        out[:, j + 1 :, j] = below / root[:, None]
    kept = xp.arange(n) < order[:, None]
    out = xp.where(kept[:, :, None] & kept[:, None, :], out, 0).astype(stack.dtype)
    return out, xp.where(order < n, order + 1, 0).astype("int32").reshape(batch)


def _not_definite(name: str, info: Any) -> str:
    where, first = first_failed(info)
    return (
        f"{name}: {where}The factorization could not be completed because the input is not positive-definite (the leading minor of "
        f"order {first} is not positive-definite)."
    )


@composite(
    "linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
    autocast="float32_cpu",
    out=True,
    **_LINALG,
    out_dtype="structured",
    out_error_name="linalg_cholesky_ex",
)
def linalg_cholesky(self, upper):
    """L of A = L Lᴴ for Hermitian positive definite A (*, n, n), or with ``upper`` U of A = Uᴴ U.

    Errors:  LinAlgError for a matrix that is not positive definite
    """
    return _cholesky("linalg.cholesky", self, upper)


def _cholesky(name: str, self: Any, upper: bool) -> Any:
    L, info = aten.linalg_cholesky_ex(self, upper=upper)
    if not self.is_meta and bool((info > 0).any()):
        info = info.cpu().numpy()
        raise LinAlgError(_not_definite(name, info))
    return L


@composite(
    "cholesky(Tensor self, bool upper=False) -> Tensor",
    autocast="float32_cpu",
    gradient_name="CholeskyBackward0",
    out=True,
    refuses=(("bi", "cholesky_cpu"),),
    cast_error="cholesky: Expected result to be safely castable from {R} dtype, but got result with dtype {O}",
    forward_error_name="cholesky",
    out_order="contiguous",
)
def cholesky(self, upper):
    """``torch.linalg.cholesky`` by its old name, which warns."""
    warn_once(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.\n"
        "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)\n"
        "should be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent results for all valid "
        "(symmetric positive definite) inputs."
    )
    return _cholesky("cholesky", self, upper)


def _cholesky_inverse_grad(g: Any, self: Any, result: Any, upper: bool) -> Any:
    both = result @ ((g + adjoint(g)) @ result)
    return -(self @ both) if upper else -(both @ self)


@direct("cholesky_inverse(Tensor self, bool upper=False) -> Tensor", out=True, native="cholesky_inverse",
        grad={"self": _cholesky_inverse_grad}, autocast="float32_cpu", refuses=(("bil", "cholesky_inverse_out_cpu"),), cast_error="cholesky_inverse: Expected result to be safely castable from {R} dtype, but got result with dtype {O}")  # fmt: skip
def cholesky_inverse(self, upper):
    """The inverse of A = L Lᴴ, or of Uᴴ U with ``upper``, from the factor (*, n, n).

    Errors:  LinAlgError for a zero on the factor's diagonal
    """
    check_matrix("cholesky_inverse", self, True)
    diagonal = self.diagonal(0, -2, -1)
    if not self.is_meta and bool((diagonal == 0).any()):
        zeros = (diagonal == 0).reshape(-1, self.size(-1)).nonzero()[0].tolist()
        batch = f"(Batch element {zeros[0]}): " if self.dim() > 2 else ""
        raise LinAlgError(
            f"cholesky_inverse: {batch}The diagonal element {zeros[1] + 1} is zero, the inversion could not be completed because "
            "the input matrix is singular."
        )
    one = torch.eye(self.size(-1), dtype=self.dtype, device=self.device).expand(self.shape)
    return cholesky_solve(one, self, upper)


def _cholesky_solve_factor(g: Any, input2: Any, result: Any, upper: bool) -> Any:
    both = aten.cholesky_solve(g, input2, upper) @ adjoint(result)
    both = both + adjoint(both)
    return -(input2 @ both) if upper else -(both @ input2)


def _cholesky_solve_grad(g: Any, input2: Any, upper: bool) -> Any:
    return aten.cholesky_solve(g, input2, upper)


@direct("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", out=True, native="cholesky_solve",
        grad={"self": _cholesky_solve_grad, "input2": _cholesky_solve_factor}, autocast="float32_cpu", refuses=(("bil", "cholesky_solve_cpu"),), cast_error="cholesky_solve: Expected result to be safely castable from {R} dtype, but got result with dtype {O}")  # fmt: skip
def cholesky_solve(self, input2, upper):
    """X of A X = ``input`` (*, n, k), where ``input2`` (*, n, n) is L of A = L Lᴴ, or U of A = Uᴴ U with ``upper``."""
    if self.dim() < 2:
        raise RuntimeError(f"b should have at least 2 dimensions, but has {self.dim()} dimensions instead")
    if input2.dim() < 2:
        raise RuntimeError(f"u should have at least 2 dimensions, but has {input2.dim()} dimensions instead")
    if input2.size(-1) != input2.size(-2):
        raise RuntimeError(
            f"A must be batches of square matrices, but they are {input2.size(-2)} by {input2.size(-1)} matrices"
        )
    if input2.size(-1) != self.size(-2):
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {input2.size(-1)} by {input2.size(-1)} but each b "
            f"matrix is {self.size(-2)} by {self.size(-1)}"
        )
    solve = aten.linalg_solve_triangular
    first, second = (adjoint(input2), input2) if upper else (input2, adjoint(input2))
    return solve(second, solve(first, self, upper=False), upper=True)
