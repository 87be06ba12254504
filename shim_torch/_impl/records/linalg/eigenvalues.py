"""Eigenvalues and eigenvectors, of Hermitian matrices and of any."""

from __future__ import annotations

from typing import Any

import numpy as np

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import differentiated
from shim_torch._impl.records.shared.matrices import LinAlgError, adjoint, check_matrix, first_failed, refuse_phases
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, op

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)

_LINALG = {"module": "linalg", "method": False, "overlap": "unchecked"}
_VECTORS = ("eigenvectors", "quantity, so it is ill-defined.")


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


@op("linalg_eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)", autocast="float32_cpu", shape=_eigh_shape,
    dtype=lambda self: (self.dtype, [self.dtype.to_real(), self.dtype]), out=True, grad={"self": _eigh_grad},
    order=(None, "columns"), native="eigh", **_LINALG, out_dtype="structured", out_error_name="_linalg_eigh")  # fmt: skip
def linalg_eigh(xp, self, UPLO):
    """Eigenvalues, ascending and real, and orthonormal eigenvectors, the columns, of Hermitian matrices.

    Shapes:  (*, n, n), of which the triangle ``UPLO`` ("L" or "U") is read -> (*, n), (*, n, n)
    Errors:  LinAlgError where there is no convergence; RuntimeError in backward for a loss that depends on the phase of
             complex vectors
    """
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
    autocast="float32_cpu",
    out=True,
    **_LINALG,
    out_dtype="structured",
    out_error_name="_linalg_eigh",
)
def linalg_eigvalsh(self, UPLO):
    """The eigenvalues of Hermitian matrices, ascending and real; the triangle ``UPLO`` is read."""
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


@op("linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", autocast="float32_cpu", shape=_eig_shape,
    dtype=lambda self: (self.dtype, [self.dtype.to_complex()] * 2), out=True, grad={"self": _eig_grad},
    order=(None, "columns"), native="eig", **_LINALG, cast_error="torch.linalg.eig: Expected {A} to be safely castable from {R} dtype, but got {A} with dtype {O}", out_order="contiguous_when_resized")  # fmt: skip
def linalg_eig(xp, self):
    """Eigenvalues, in no order, and eigenvectors, the columns, of any square matrices.

    Shapes:  (*, n, n) -> (*, n), (*, n, n)
    Dtypes:  both results are complex
    Errors:  RuntimeError for NaN or infinities, and in backward for a loss that depends on the phase of the vectors;
             NotImplementedError on CUDA with CuPy older than 14
    """
    if not hasattr(xp.linalg, "eig"):
        raise NotImplementedError("torch.linalg.eig: on CUDA it needs CuPy 14 or newer; move the tensor to the CPU")
    if not bool(xp.isfinite(self).all()):
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    complex_dtype = (xp.zeros((), self.dtype) + xp.zeros((), "complex64")).dtype
    values, vectors = xp.linalg.eig(self)
    return values.astype(complex_dtype), vectors.astype(complex_dtype)


@composite(
    "linalg_eigvals(Tensor self) -> Tensor",
    autocast="float32_cpu",
    out=True,
    **_LINALG,
    cast_error="torch.linalg.eigvals: Expected eigenvalues to be safely castable from {R} dtype, but got eigenvalues with dtype {O}",
)
def linalg_eigvals(self):
    """The eigenvalues of any square matrices, complex and in no order: (*, n, n) gives (*, n)."""
    return aten.linalg_eig(self)[0] if differentiated(self) else aten._eigvals_of(self)


@op("_eigvals_of(Tensor self) -> Tensor", shape=lambda self: _eig_shape(self)[0],
    dtype=lambda self: (self.dtype, self.dtype.to_complex()), function=False, method=False, native="eigvals")  # fmt: skip
def _eigvals_of(xp, self):
    return linalg_eig(xp, self)[0]
