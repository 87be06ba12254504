"""Determinants and their logarithms."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.records.shared.matrices import (
    adjoint,
    check_matrix,
    identity,
)
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, op

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)

_LINALG: dict[str, Any] = {"module": "linalg", "method": False, "overlap": "unchecked"}


def _det_shape(name: str) -> Any:
    def rule(A: Any) -> Any:
        check_matrix(name, A, True)
        return tuple(A.shape[:-2])

    return rule


def _det_grad(g: Any, A: Any, result: Any) -> Any:
    """g · det · A⁻ᴴ: zero where the determinant is, as PyTorch has it."""
    scale = g * (result.conj() if result.is_complex() else result)
    eye = identity(A, A.size(-1))
    zero = (result == 0).unsqueeze(-1).unsqueeze(-1)
    a = eye.where(zero, A) if bool(zero.any()) else A
    return aten.linalg_solve(adjoint(a), eye * scale.unsqueeze(-1).unsqueeze(-1))


@op("linalg_det(Tensor A) -> Tensor", shape=_det_shape("linalg.det"), dtype=lambda A: A.dtype, out=True,
    grad={"A": _det_grad}, native="det", **_LINALG, out_dtype="structured", out_error_name="_linalg_det")  # fmt: skip
def linalg_det(xp, A):
    """The determinants of square matrices: (*, n, n) gives (*). At a determinant of zero the gradient is zero."""
    return xp.asarray(xp.linalg.det(A)).astype(A.dtype)


@composite("det(Tensor self) -> Tensor")
def det(self):
    """The determinants of square matrices: (*, n, n) gives (*)."""
    return aten.linalg_det(self)


def _slogdet_shape(A: Any) -> Any:
    check_matrix("linalg.slogdet", A, True)
    return [tuple(A.shape[:-2])] * 2


def _slogdet_grad(g0: Any, g1: Any, A: Any, result0: Any) -> Any:
    if A.is_complex():
        real = g1 if g1 is not None else torch.zeros_like(result0.real)
        turn = (g0.conj() * result0).imag if g0 is not None else torch.zeros_like(real)
        scale = torch.complex(real, -turn)
    elif g1 is None:
        return A * 0
    else:
        scale = g1
    return aten.linalg_solve(adjoint(A), identity(A, A.size(-1)) * scale.unsqueeze(-1).unsqueeze(-1))


@op("linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", shape=_slogdet_shape,
    dtype=lambda A: (A.dtype, [A.dtype, A.dtype.to_real()]), out=True, grad={"A": _slogdet_grad}, **_LINALG, out_dtype="structured", out_error_name="_linalg_slogdet")  # fmt: skip
def linalg_slogdet(xp, A):
    """The sign and the logarithm of the absolute value of determinants; 0 and -inf of a singular matrix.

    Shapes:  (*, n, n) -> (*), (*)
    Dtypes:  a complex sign has absolute value 1; the logarithm is real
    """
    sign, size = xp.linalg.slogdet(A)
    return xp.asarray(sign).astype(A.dtype), xp.asarray(size).astype(A.real.dtype)


@composite("slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", out=True)
def slogdet(self):
    """The signs of determinants and the logarithms of their absolute values: (*, n, n) gives (*) and (*)."""
    return tuple(aten.linalg_slogdet(self))


@composite("logdet(Tensor self) -> Tensor", gradient_name="WhereBackward0")
def logdet(self):
    """log(det): nan where the determinant is negative."""
    check_matrix("logdet", self, True)
    sign, size = aten.linalg_slogdet(self)
    return sign.log() + size.to(sign.dtype)
