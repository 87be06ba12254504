"""LU with partial pivoting: factors, solutions by them, and their gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.elimination import lu, substituted
from shim_torch._impl.records.shared.formulas import speaks_for_itself
from shim_torch._impl.records.shared.matrices import (
    adjoint,
    check_matrix,
    cuda_linalg,
    first_failed,
    on_cuda,
    swapped,
)
from shim_torch._impl.surface.warnings import warn_once
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import type_name

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)

_LINALG: dict[str, Any] = {"module": "linalg", "method": False, "overlap": "unchecked"}
_adjoint = adjoint  # the name of an argument, too


def _lu_grad(g: Any, result0: Any, result1: Any) -> Any:
    """Gradient of packed L and U: P (L⁻ᴴ (tril(Lᴴ gL, -1) + triu(gU Uᴴ)) U⁻ᴴ), for each block that is square."""
    m, n = result0.shape[-2:]
    k = min(m, n)
    solve = aten.linalg_solve_triangular
    P, L, U = lu_unpack(result0, result1, True, True)
    gL, gU = g[..., :, :k].tril(-1), g[..., :k, :].triu()
    L1, U1 = L[..., :k, :], U[..., :, :k]  # the square blocks; the rest of A follows from one of the two factors
    left: Any = adjoint(L[..., k:, :]) @ gL[..., k:, :] if m > k else 0
    right: Any = gU[..., :, k:] @ adjoint(U[..., :, k:]) if n > k else 0
    inner = (adjoint(L1) @ gL[..., :k, :]).tril(-1) + (gU[..., :, :k] @ adjoint(U1)).triu()
    if m > k:  # tall: A2 = L2 U, so that L2's gradient reaches A1 through U alone
        inner = inner - left.triu()
    if n > k:  # wide: A2 = L U2
        inner = inner - right.tril(-1)
    square = solve(adjoint(U1), solve(adjoint(L1), inner, upper=True, unitriangular=True), upper=False, left=False)
    if m > k:
        square = torch.cat([square, solve(adjoint(U1), gL[..., k:, :], upper=False, left=False)], -2)
    if n > k:
        square = torch.cat([square, solve(adjoint(L1), gU[..., :, k:], upper=True, unitriangular=True)], -1)
    return P @ square


def _lu_shape(A: Any, pivot: bool) -> Any:
    if A.dim() < 2:
        check_matrix("torch.lu_factor", A)
    if A.dtype not in (_core.float32, _core.float64, _core.complex64, _core.complex128):
        raise NotImplementedError(f"\"lu_cpu\" not implemented for '{type_name(A.dtype)}'")
    if not pivot and A.device.type == "cpu":
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    *batch, m, n = A.shape
    return [tuple(A.shape), (*batch, min(m, n)), tuple(batch)]


@op("linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
    shape=_lu_shape, dtype=lambda A: (A.dtype, [A.dtype, _core.int32, _core.int32]), differentiable=(0,), grad={"A": _lu_grad}, out=True,
    order=("columns", None, None), native="lu_factor", **_LINALG, out_dtype="structured")  # fmt: skip
def linalg_lu_factor_ex(xp, A, pivot, check_errors):
    """L and U of A = P L U packed in one matrix (L's ones left out), the row exchanges, and info of each matrix.

    Shapes:  A (*, m, n) -> LU (*, m, n), pivots (*, min(m, n)), info (*)
    Dtypes:  pivots (counted from 1) and info (0, or the place of the first zero on U's diagonal) are int32
    Errors:  RuntimeError for such a zero with ``check_errors``, and for ``pivot=False`` on the CPU
    """
    packed, pivots, info = lu(xp, A, pivot)
    if check_errors and bool((info > 0).any()):
        raise RuntimeError(_zero_pivot("torch.linalg.lu_factor_ex", info))
    return packed, pivots, info


@composite("_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)",
           method=False)  # fmt: skip
def _lu_with_info(self, pivot, check_errors):
    return tuple(aten.linalg_lu_factor_ex(self, pivot=pivot, check_errors=check_errors))


@composite(
    "linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
    out=True,
    **_LINALG,
    out_dtype="structured",
    out_error_name="linalg_lu_factor_ex",
)
def linalg_lu_factor(A, pivot):
    """L and U of A = P L U in one matrix (*, m, n), and the row exchanges (*, min(m, n)), int32 and counted from 1.

    Errors:  RuntimeError for a zero on U's diagonal, and for ``pivot=False`` on the CPU
    """
    packed, pivots, info = aten.linalg_lu_factor_ex(A, pivot=pivot)
    if not info.is_meta and bool((info > 0).any()):
        raise RuntimeError(_zero_pivot("torch.linalg.lu_factor", info.cpu().numpy()))
    return packed, pivots


def _zero_pivot(name: str, info: Any) -> str:
    where, at = first_failed(info)
    return (
        f"{name}: {where}U[{at},{at}] is zero and using it on lu_solve would result in a division by zero. If you still want to "
        "perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
    )


@composite(
    "linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
    gradient_name="LinalgLuBackward0",
    out=True,
    **_LINALG,
    out_dtype="structured",
)
def linalg_lu(A, pivot):
    """P, L and U of A = P L U: permutation, unit lower and upper triangular matrices.

    Shapes:  A (*, m, n), k = min(m, n) -> P (*, m, m), L (*, m, k), U (*, k, n); without ``pivot`` P (0,)
    Errors:  RuntimeError for ``pivot=False`` on the CPU
    """
    packed, pivots, _ = aten.linalg_lu_factor_ex(A, pivot=pivot)
    P, L, U = lu_unpack(packed, pivots, True, pivot)
    return P, L, U


@composite("lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)", gradient_name="LuUnpackBackward0",
           method=False, out=True, out_dtype="structured")  # fmt: skip
def lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots):
    """P, L and U of the packed factors and pivots that ``torch.linalg.lu_factor`` gives.

    Shapes:  LU_data (*, m, n), k = min(m, n) -> P (*, m, m), L (*, m, k), U (*, k, n); what is not asked for is (0,)
    Errors:  RuntimeError for pivots that are not int32 or not from 1 to m
    """
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    if unpack_pivots:
        _check_pivots(LU_data, LU_pivots)
    none = LU_data.new_zeros((0,))
    L = U = P = none
    if unpack_data:
        eye = torch.eye(m, k, dtype=LU_data.dtype, device=LU_data.device)
        L, U = LU_data.narrow(-1, 0, k).tril(-1) + eye, LU_data.narrow(-2, 0, k).triu()
    if unpack_pivots:
        order = aten._row_order(LU_pivots, m)
        rows = torch.arange(m, device=order.device)
        P = (order.unsqueeze(-2) == rows.unsqueeze(-1)).to(LU_data.dtype)
    return P, L, U


def _check_pivots(LU: Any, pivots: Any) -> None:
    if pivots.dtype is not _core.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    if speaks_for_itself(pivots):
        return
    if pivots.numel() and not pivots.is_meta and not 1 <= int(pivots.min()) <= int(pivots.max()) <= LU.size(-2):
        raise RuntimeError(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
            "Did you properly pass the result of lu_factor?"
        )


@op("_row_order(Tensor pivots, int rows) -> Tensor", shape=lambda pivots, rows: (*pivots.shape[:-1], rows), keep=("pivots",),
    dtype=lambda pivots: (None, _core.int64), function=False, method=False, native="row_order")  # fmt: skip
def _row_order(xp, pivots, rows):
    """Where each row of P·A's factors comes from."""
    lead, count = pivots.shape[:-1], math.prod(pivots.shape[:-1])
    order = xp.broadcast_to(xp.arange(rows), (count, rows)).copy()
    other, each = pivots.reshape(count, pivots.shape[-1]).astype("int64") - 1, xp.arange(count)
    for j in range(other.shape[1]):
        here = order[:, j].copy()
        order[:, j] = order[each, other[:, j]]
        order[each, other[:, j]] = here
    return order.reshape(*lead, rows)


@composite(
    "lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
    autocast="float32_cpu",
    gradient_name="LinalgLuSolveBackward0",
    out=True,
    out_dtype="structured",
    out_error_name="linalg_lu_solve",
)
def lu_solve(self, LU_data, LU_pivots):
    """Solves A X = self with the factors of A."""
    warn_once(
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch release.\n"
        "Note that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be replaced with\n"
        "X = torch.linalg.lu_solve(LU, pivots, B)"
    )
    return linalg_lu_solve(LU_data, LU_pivots, self, True, False)


@composite(
    "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
    gradient_name="LinalgLuSolveBackward0",
    out=True,
    **_LINALG,
    out_dtype="structured",
)
def linalg_lu_solve(LU, pivots, B, left, adjoint):
    """X of A X = B, or of X A = B with ``left=False``, by the factors of A; with ``adjoint`` Aᴴ stands for A.

    Shapes:  LU (*, n, n), pivots (*, n), B (*, n, k), with ``left=False`` (*, k, n); batches broadcast
    Errors:  RuntimeError for shapes that do not fit, and on the CPU for pivots that are not from 1 to n
    """
    if B.dim() < 2:
        raise RuntimeError("linalg.lu_solve: The input tensor B must have at least 2 dimensions.")
    check_matrix("torch.linalg.lu_solve", LU)
    rows, columns = B.shape[-2:]
    if LU.size(-1) != (rows if left else columns):
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"linalg.lu_solve: Incompatible shapes of A and B for the equation {equation} ({LU.size(-2)}x{LU.size(-1)} and "
            f"{rows}x{columns})"
        )
    if pivots.numel() and pivots.device.type == "cpu" and bool((pivots <= 0).any()):
        raise RuntimeError(
            "Pivots given to lu_solve must all be greater or equal to 1. Did you properly pass the result of lu_factor?"
        )
    if pivots.numel() and pivots.device.type == "cpu" and bool((pivots > LU.size(-2)).any()):
        raise RuntimeError(
            "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). Did you properly pass the result of lu_factor?"
        )
    return aten._lu_solve_of(LU, pivots, B, left, adjoint)


def _lu_solve_shape(LU: Any, B: Any) -> Any:
    return (*_core.broadcast_shapes([LU.shape[:-2], B.shape[:-2]]), *B.shape[-2:])


def _lu_solve_factors_grad(g: Any, LU: Any, pivots: Any, left: bool, adjoint: bool, result: Any) -> Any:
    """By way of the gradient of A = P L U: with Y that of B, -Y Xᴴ or, X standing on the other side of A or of its adjoint, its like."""
    Y, X = aten._lu_solve_of(LU, pivots, g, left, not adjoint), result
    first, second = (Y, X) if left != adjoint else (X, Y)
    gA = -(first @ _adjoint(second)) if left else -(_adjoint(first) @ second)
    P, L, U = lu_unpack(LU, pivots, True, True)
    turned = P.mT @ gA
    return (turned @ _adjoint(U)).tril(-1) + (_adjoint(L) @ turned).triu()


def _lu_solve_b_grad(g: Any, LU: Any, pivots: Any, left: bool, adjoint: bool) -> Any:
    return aten._lu_solve_of(LU, pivots, g, left, not adjoint)


@op("_lu_solve_of(Tensor LU, Tensor pivots, Tensor B, bool left, bool adjoint) -> Tensor", gradient_name="LinalgLuSolveBackward0", shape=_lu_solve_shape, dtype=lambda LU: LU.dtype,
    keep=("pivots",), function=False, method=False, native="lu_solve", grad={"LU": _lu_solve_factors_grad, "B": _lu_solve_b_grad},
    order=lambda left: ("columns" if left else None,))  # fmt: skip
def _lu_solve_of(xp, LU, pivots, B, left, adjoint):
    """X of A X = B, Aᴴ X = B, X A = B or X Aᴴ = B, with the factors of A; infinities and NaN for singular ones."""
    if on_cuda(LU):
        return cuda_linalg().lu_solve(LU, pivots, B, left, adjoint)
    if not left:
        return swapped(xp, _lu_solve_of(xp, LU, pivots, swapped(xp, B).conj(), True, not adjoint)).conj()
    lead, n = np.broadcast_shapes(LU.shape[:-2], B.shape[:-2]), LU.shape[-1]
    order = xp.broadcast_to(_row_order(xp, pivots, n), (*lead, n))[..., None]
    B = xp.broadcast_to(B, (*lead, *B.shape[-2:]))
    if not adjoint:
        known = substituted(xp, LU, xp.take_along_axis(B, order, -2), False, True, True)
        return substituted(xp, LU, known, True, True, False)
    A = swapped(xp, LU).conj()
    return xp.take_along_axis(
        substituted(xp, A, substituted(xp, A, B, False, True, False), True, True, True), order.argsort(-2), -2
    )
