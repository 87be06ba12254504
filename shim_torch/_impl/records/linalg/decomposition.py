"""Decompositions of matrices: QR, singular values, eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import differentiated
from shim_torch._impl.records.shared.matrices import (
    LinAlgError,
    adjoint,
    check_matrix,
    first_failed,
    on_cuda,
    refuse_phases,
)
from shim_torch._impl.surface.warnings import warn_once
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, op

_LINALG = {"module": "linalg", "method": False, "overlap": "unchecked"}
_VECTORS = ("eigenvectors", "quantity, so it is ill-defined.")


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


@op("linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)", shape=_qr_shape, dtype=lambda A: (A.dtype, [A.dtype] * 2),
    out=True, grad={"A": _qr_grad}, order=("columns", "columns"), native="qr", **_LINALG, out_dtype="structured")  # fmt: skip
def linalg_qr(xp, A, mode):
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
    out=True,
    out_dtype="structured",
    out_error_name="linalg_qr",
)
def qr(self, some):
    warn_once(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\n"
        "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\n"
        "should be replaced with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
    )

    return tuple(aten.linalg_qr(self, "reduced" if some else "complete"))


# --- singular values ------------------------------------------------------------------------------------------------


def _svd_shape(A: Any, full_matrices: bool) -> Any:
    check_matrix("linalg.svd", A)
    *batch, m, n = A.shape
    k = min(m, n)
    return [(*batch, m, m if full_matrices else k), (*batch, k), (*batch, n if full_matrices else k, n)]


def _svd_grad(g0: Any, g1: Any, g2: Any, result0: Any, result1: Any, result2: Any) -> Any:
    k = result1.size(-1)
    U, S, Vh = result0.narrow(-1, 0, k), result1, result2.narrow(-2, 0, k)
    m, n = U.size(-2), Vh.size(-1)
    if g0 is None and g2 is None:
        return (U * g1.to(U.dtype).unsqueeze(-2)) @ Vh
    gU = None if g0 is None else g0.narrow(-1, 0, k)
    gVh = None if g2 is None else g2.narrow(-2, 0, k)
    squares = S * S
    E = squares.unsqueeze(-2) - squares.unsqueeze(-1)
    E = E + E.new_ones(k).diag_embed()

    def skew(x: Any) -> Any:
        return x - adjoint(x)

    row = S.unsqueeze(-2)
    inner: Any = 0
    left = None if gU is None else skew(adjoint(U) @ gU)
    right = None if gVh is None else skew(Vh @ adjoint(gVh))
    if U.is_complex():
        phases = [None if x is None else x.diagonal(0, -2, -1).imag for x in (left, right)]
        refuse_phases("svd_backward", "singular vectors", "phase term, making it ill-defined.", *phases)
    if left is not None:
        inner = left / E * row
    if right is not None:
        inner = inner + row.transpose(-2, -1) * (right / E)
    if U.is_complex() and gU is not None:
        imaginary = (adjoint(U) @ gU).diagonal(0, -2, -1)
        inner = inner + ((imaginary - imaginary.conj()) * 0.5 / S).diag_embed()
    if g1 is not None:
        inner = inner + g1.to(U.dtype).diag_embed()
    inner = inner.to(U.dtype)
    out = U @ inner @ Vh
    if gU is not None and m > k:
        out = out + ((gU - U @ (adjoint(U) @ gU)) / row.to(U.dtype)) @ Vh
    if gVh is not None and n > k:
        out = out + U @ ((gVh - (gVh @ adjoint(Vh)) @ Vh) / S.unsqueeze(-1).to(U.dtype))
    return out


@op("linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", shape=_svd_shape,
    dtype=lambda A: (A.dtype, [A.dtype, A.dtype.to_real(), A.dtype]), out=True, grad={"A": _svd_grad},
    order=("columns", None, "columns"), native="svd", **_LINALG, out_dtype="structured", out_error_name="_linalg_svd")  # fmt: skip
def linalg_svd(xp, A, full_matrices, driver):
    if driver is not None and not on_cuda(A):
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    m, n = A.shape[-2:]
    if A.size == 0:
        k, batch = min(m, n), A.shape[:-2]
        u = xp.broadcast_to(xp.eye(m, m if full_matrices else k, dtype=A.dtype), (*batch, m, m if full_matrices else k))
        v = xp.broadcast_to(xp.eye(n if full_matrices else k, n, dtype=A.dtype), (*batch, n if full_matrices else k, n))
        return u, xp.zeros((*batch, k), A.real.dtype), v
    finite = xp.isfinite(A).all((-2, -1))
    if not bool(finite.all()):
        raise LinAlgError(
            f"linalg.svd: {first_failed(~finite)[0]}The algorithm failed to converge because the input matrix contained non-finite values."
        )
    u, s, vh = xp.linalg.svd(A, full_matrices=full_matrices)
    return u, s, vh


@composite(
    "linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
    out=True,
    **_LINALG,
    out_dtype="structured",
    out_error_name="_linalg_svd",
)
def linalg_svdvals(A, driver):
    check_matrix("linalg.svdvals", A)
    if driver is not None or differentiated(A):
        return aten.linalg_svd(A, False, driver=driver)[1]
    return aten._svdvals_of(A)


@op("_svdvals_of(Tensor A) -> Tensor", shape=lambda A: (*A.shape[:-2], min(A.shape[-2:])), dtype=lambda A: (A.dtype, A.dtype.to_real()),
    function=False, method=False, native="svdvals")  # fmt: skip
def _svdvals_of(xp, A):
    return linalg_svd(xp, A, False, None)[1]


@composite(
    "svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
    out=True,
    out_dtype="structured",
    out_error_name="_linalg_svd",
)
def svd(self, some, compute_uv):
    check_matrix("svd", self)
    U, S, Vh = aten.linalg_svd(self, not some)
    return (U, S, adjoint(Vh)) if compute_uv else (U.detach().zero_(), S, adjoint(Vh).detach().zero_())


# --- eigenvalues ----------------------------------------------------------------------------------------------------


def _eigh_grad(g0: Any, g1: Any, result0: Any, result1: Any) -> Any:
    L, V = result0, result1
    inner = 0 if g0 is None else g0.to(V.dtype).diag_embed()
    if g1 is not None:
        E = L.unsqueeze(-2) - L.unsqueeze(-1)
        turn = adjoint(V) @ g1
        if V.is_complex():
            refuse_phases("linalg_eigh_backward", *_VECTORS, turn.diagonal(0, -2, -1).imag)
        mixed = (turn - adjoint(turn)) * 0.5 / (E + E.new_ones(E.size(-1)).diag_embed()).to(V.dtype)
        inner = inner + mixed - mixed.diagonal(0, -2, -1).diag_embed()
    return V @ inner @ adjoint(V)


def _eigh_shape(self: Any) -> Any:
    check_matrix("linalg.eigh", self, True)
    return [tuple(self.shape[:-1]), tuple(self.shape)]


@op("linalg_eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)", shape=_eigh_shape,
    dtype=lambda self: (self.dtype, [self.dtype.to_real(), self.dtype]), out=True, grad={"self": _eigh_grad},
    order=(None, "columns"), native="eigh", **_LINALG, out_dtype="structured", out_error_name="_linalg_eigh")  # fmt: skip
def linalg_eigh(xp, self, UPLO):
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    if self.size == 0:
        return xp.zeros(self.shape[:-1], self.real.dtype), xp.zeros(self.shape, self.dtype)
    try:
        values, vectors = xp.linalg.eigh(self, UPLO.upper())
    except np.linalg.LinAlgError:
        where = first_failed(~xp.isfinite(self).all((-2, -1)))[0]
        raise LinAlgError(
            f"linalg.eigh: {where}The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
            "repeated eigenvalues."
        ) from None
    return values, vectors


@composite(
    "linalg_eigvalsh(Tensor self, str UPLO='L') -> Tensor",
    out=True,
    **_LINALG,
    out_dtype="structured",
    out_error_name="_linalg_eigh",
)
def linalg_eigvalsh(self, UPLO):
    return aten.linalg_eigh(self, UPLO)[0] if differentiated(self) else aten._eigvalsh_of(self, UPLO)


@op("_eigvalsh_of(Tensor self, str UPLO) -> Tensor", shape=lambda self: _eigh_shape(self)[0],
    dtype=lambda self: (self.dtype, self.dtype.to_real()), function=False, method=False, native="eigvalsh")  # fmt: skip
def _eigvalsh_of(xp, self, UPLO):
    return linalg_eigh(xp, self, UPLO)[0]


def _eig_shape(self: Any) -> Any:
    if self.dim() > 1 and not (self.dtype.is_floating_point or self.dtype.is_complex):
        raise RuntimeError(f"Unknown Complex ScalarType for {_core.scalar_name(self.dtype)}")
    check_matrix("linalg.eig", self, True)
    return [tuple(self.shape[:-1]), tuple(self.shape)]


def _eig_grad(g0: Any, g1: Any, self_dtype: Any, result0: Any, result1: Any) -> Any:
    L, V = result0, result1
    inner = 0 if g0 is None else g0.diag_embed()
    if g1 is not None:
        VhgV = adjoint(V) @ g1
        diagonal = VhgV.diagonal(0, -2, -1)
        refuse_phases("linalg_eig_backward", *_VECTORS, diagonal.imag)
        change = VhgV - adjoint(V) @ (V * diagonal.real.unsqueeze(-2))
        E = (L.unsqueeze(-2) - L.unsqueeze(-1)).conj()
        change = change / (E + torch.eye(E.size(-1), dtype=E.dtype, device=E.device))
        inner = inner + change - change.diagonal(0, -2, -1).diag_embed()
    g = aten.linalg_solve(adjoint(V), inner @ adjoint(V))
    return g if self_dtype.is_complex else g.real


@op("linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", shape=_eig_shape,
    dtype=lambda self: (self.dtype, [self.dtype.to_complex()] * 2), out=True, grad={"self": _eig_grad},
    order=(None, "columns"), native="eig", **_LINALG, cast_error="torch.linalg.eig: Expected {A} to be safely castable from {R} dtype, but got {A} with dtype {O}", out_order="contiguous_when_resized")  # fmt: skip
def linalg_eig(xp, self):
    if not hasattr(xp.linalg, "eig"):
        raise NotImplementedError("torch.linalg.eig: on CUDA it needs CuPy 14 or newer; move the tensor to the CPU")
    if not bool(xp.isfinite(self).all()):
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    complex_dtype = (xp.zeros((), self.dtype) + xp.zeros((), "complex64")).dtype
    values, vectors = xp.linalg.eig(self)
    return values.astype(complex_dtype), vectors.astype(complex_dtype)


@composite(
    "linalg_eigvals(Tensor self) -> Tensor",
    out=True,
    **_LINALG,
    cast_error="torch.linalg.eigvals: Expected eigenvalues to be safely castable from {R} dtype, but got eigenvalues with dtype {O}",
)
def linalg_eigvals(self):
    return aten.linalg_eig(self)[0] if differentiated(self) else aten._eigvals_of(self)


@op("_eigvals_of(Tensor self) -> Tensor", shape=lambda self: _eig_shape(self)[0],
    dtype=lambda self: (self.dtype, self.dtype.to_complex()), function=False, method=False, native="eigvals")  # fmt: skip
def _eigvals_of(xp, self):
    return linalg_eig(xp, self)[0]
