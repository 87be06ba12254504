"""The QR decomposition."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.records.shared.matrices import adjoint, check_matrix
from shim_torch._impl.surface.warnings import warn_once
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, op

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)

_LINALG = {"module": "linalg", "method": False, "overlap": "unchecked"}


def _qr_shape(A: Any, mode: str) -> Any:
    check_matrix("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    *batch, m, n = A.shape
    k = min(m, n)
    if mode == "complete":
        return [(*batch, m, m), (*batch, m, n)]
    return [(*batch, m, k) if mode == "reduced" else (0,), (*batch, k, n)]


def _qr_grad(g0: Any, g1: Any, result0: Any, result1: Any, mode: str, A_shape: Any) -> Any:
    m, n = A_shape[-2:]
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced') "
            "if you are going to require gradients."
        )
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols")
    Q, R = result0, result1
    if m >= n:
        return _qr_square_grad(g0, g1, Q, R)
    # A = [X | Y] with X = Q U and R = [U | QᴴY]: Y gets Q's share of its part of R, and Q gets Y's.
    U, side = R[..., :m], None if g1 is None else g1[..., m:]
    if side is None:
        rest = Q.new_zeros((*A_shape[:-1], n - m))
    else:
        rest = Q @ side
        through = Q @ R[..., m:] @ adjoint(side)
        g0 = through if g0 is None else g0 + through
    first = _qr_square_grad(g0, None if g1 is None else g1[..., :m], Q, U)
    return torch.cat([first, rest], -1)


def _qr_square_grad(g0: Any, g1: Any, Q: Any, R: Any) -> Any:
    """(gQ + Q · copyltu(R gRᴴ - gQᴴ Q)) R⁻ᴴ."""
    M: Any = 0
    if g1 is not None:
        M = R @ adjoint(g1)
    if g0 is not None:
        M = M - adjoint(g0) @ Q
    low = M.tril(-1)
    diagonal = M.diagonal(0, -2, -1)
    diagonal = diagonal.real.to(M.dtype) if M.is_complex() else diagonal  # R's is real
    x = Q @ (low + adjoint(low) + diagonal.diag_embed())
    x = x if g0 is None else x + g0
    return adjoint(aten.linalg_solve_triangular(R, adjoint(x), upper=True))


@op("linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)", autocast="float32_cpu", shape=_qr_shape, dtype=lambda A: (A.dtype, [A.dtype] * 2),
    out=True, grad={"A": _qr_grad}, order=("columns", "columns"), native="qr", **_LINALG, out_dtype="structured")  # fmt: skip
def linalg_qr(xp, A, mode):
    """Q with orthonormal columns and upper triangular R of A = Q R.

    Shapes:  A (*, m, n), k = min(m, n) -> Q (*, m, k), R (*, k, n); mode "complete": Q (*, m, m), R (*, m, n);
             mode "r": Q (0,), R (*, k, n)
    Errors:  backward, RuntimeError: mode "r", and mode "complete" where m > n, have no gradient
    """
    m, n = A.shape[-2:]
    k = min(m, n)
    if A.size == 0:
        rows = m if mode == "complete" else k
        eye = xp.broadcast_to(xp.eye(m, rows, dtype=A.dtype), (*A.shape[:-2], m, rows))
        return (eye if mode != "r" else xp.zeros((0,), A.dtype)), xp.zeros((*A.shape[:-2], rows, n), A.dtype)
    if mode == "r":
        return xp.zeros((0,), A.dtype), xp.linalg.qr(A, "r")
    q, r = xp.linalg.qr(A, mode)
    return q, r


@composite(
    "qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
    autocast="float32_cpu",
    out=True,
    out_dtype="structured",
    out_error_name="linalg_qr",
)
def qr(self, some):
    """``torch.linalg.qr`` by its old name, which warns; ``some=False`` is mode "complete"."""
    warn_once(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\n"
        "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\n"
        "should be replaced with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
    )

    return tuple(aten.linalg_qr(self, "reduced" if some else "complete"))
