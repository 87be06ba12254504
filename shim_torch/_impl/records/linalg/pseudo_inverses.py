"""Pseudo-inverses."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import without_slope
from shim_torch._impl.records.shared.matrices import (
    LinAlgError,
    adjoint,
    check_matrix,
    rank_tolerances,
    refuse_complex_tolerances,
)
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.tensor import from_data

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)

_LINALG: dict[str, Any] = {"module": "linalg", "method": False, "overlap": "unchecked"}


def _pinv_shape(A: Any) -> Any:
    if A.dim() < 2 or A.dtype not in (_core.float32, _core.float64, _core.complex64, _core.complex128):
        raise RuntimeError(
            f"linalg.pinv({_core.scalar_name(A.dtype)}{{{list(A.shape)}}}): expected a tensor with 2 or more dimensions of float, double, "
            "cfloat or cdouble types"
        )
    return (*A.shape[:-2], A.shape[-1], A.shape[-2])


def _pinv_of_shape(A: Any, atol: Any, rtol: Any) -> Any:
    *batch, m, n = A.shape
    if A.numel() == 0:
        return (*batch, n, m)
    return (*_core.broadcast_shapes([tuple(batch), tuple(atol.shape), tuple(rtol.shape)]), n, m)


def _pinv_grad(g: Any, A: Any, result: Any) -> Any:
    """Golub and Pereyra's derivative of the pseudo-inverse, for constant rank."""
    g, result = g.to(A.dtype), result.to(A.dtype)
    P, Ph, gh = result, adjoint(result), adjoint(g)
    if A.size(-2) <= A.size(-1):
        K = gh @ P
        KPh = K @ Ph
        return -adjoint(P @ K) + KPh - (A @ P) @ KPh + (Ph @ P) @ (gh - K @ A)
    K = P @ gh
    PhK = Ph @ K
    return -adjoint(K @ P) + (gh - A @ K) @ P @ Ph + PhK - (PhK @ P) @ A


def _need_finite(xp, A, hermitian):
    """LAPACK may not end on NaN or infinities. Errors: LinAlgError, which names the first such matrix."""
    finite = xp.isfinite(xp.tril(A) if hermitian else A).all((-2, -1))  # eigh reads the lower triangle
    if bool(finite.all()):
        return
    place = f"(Batch element {int(xp.argmin(finite.reshape(-1)))}): " if A.ndim > 2 else ""
    name = "linalg.eigh" if hermitian else "linalg.svd"
    raise LinAlgError(
        f"{name}: {place}The algorithm failed to converge because the input matrix contained non-finite values."
    )


@op("_pinv_of(Tensor A, Tensor atol, Tensor rtol, bool hermitian, ScalarType? dtype=None) -> Tensor", gradient_name="LinalgPinvBackward0",
    shape=_pinv_of_shape, dtype=lambda A, dtype: (A.dtype, dtype or A.dtype), keep=("atol", "rtol"), grad={"A": _pinv_grad}, function=False,
    method=False)  # fmt: skip
def _pinv_of(xp, A, atol, rtol, hermitian, dtype):
    m, n = A.shape[-2:]
    if A.size == 0:
        return xp.zeros((*A.shape[:-2], n, m), A.dtype)
    _need_finite(xp, A, hermitian)
    if hermitian:
        values, u = xp.linalg.eigh(A)
        size = xp.abs(values)
        left, right = u, xp.swapaxes(u.conj(), -1, -2)
    else:
        u, values, vh = xp.linalg.svd(A, full_matrices=False)
        size = values
        left, right = xp.swapaxes(vh.conj(), -1, -2), xp.swapaxes(u.conj(), -1, -2)
    limit = xp.maximum(atol[..., None], rtol[..., None] * size.max(-1, keepdims=True))
    kept = size > limit
    inverse = xp.where(kept, 1 / xp.where(kept, values, xp.ones((), values.dtype)), xp.zeros((), values.dtype))
    return xp.matmul(left * inverse[..., None, :].astype(A.real.dtype), right)


def _pinv(a: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    _pinv_shape(a)
    refuse_complex_tolerances("torch.linalg.pinv", atol=atol, rtol=rtol)
    if hermitian:
        check_matrix("linalg.pinv", a, True)
    atol, rtol = rank_tolerances(a, atol, rtol)
    as_tensor = [
        t if isinstance(t, _core.TensorBase) else from_data.tensor(t, dtype=_core.float64, device=a.device)
        for t in (atol, rtol)
    ]
    # Autocast lets its factors be, and the product that it is of them is one in the lower dtype.
    lowered = a.dtype == _core.float32 and _core.is_autocast_enabled(a.device.type)
    return aten._pinv_of(a, *as_tensor, hermitian, _core.get_autocast_dtype(a.device.type) if lowered else None)


@composite("linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor", gradient_name="LinalgPinvBackward0",
           out=True, **_LINALG, cast_error="linalg.pinv: Expected result to be safely castable from {R} dtype, but got result with dtype {O}", writes_out_last=True)  # fmt: skip
def pinv_tensors(self, atol, rtol, hermitian):
    """Moore and Penrose's inverse; singular values up to max(atol, rtol · largest) count as zero."""
    return _pinv(self, atol, rtol, hermitian)


@composite("linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
           out=True, **_LINALG, cast_error="linalg.pinv: Expected result to be safely castable from {R} dtype, but got result with dtype {O}", writes_out_last=True)  # fmt: skip
def pinv_floats(self, atol, rtol, hermitian):
    """Moore and Penrose's inverse, with numbers for tolerances."""
    return _pinv(self, atol, rtol, hermitian)


@composite(
    "linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
    out=True,
    **_LINALG,
    cast_error="linalg.pinv: Expected result to be safely castable from {R} dtype, but got result with dtype {O}",
    writes_out_last=True,
)
def pinv(self, rcond, hermitian):
    """Moore and Penrose's inverse; singular values up to ``rcond`` · largest count as zero."""
    return _pinv(self, 0.0, rcond, hermitian)


@composite(
    "linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
    out=True,
    **_LINALG,
    cast_error="linalg.pinv: Expected result to be safely castable from {R} dtype, but got result with dtype {O}",
    writes_out_last=True,
)
def pinv_tensor(self, rcond, hermitian):
    """Moore and Penrose's inverse; ``rcond``, real and without a gradient, has a value for each matrix."""
    if rcond.is_complex():
        raise RuntimeError(
            f"torch.linalg.pinv: rcond tensor of complex type is not supported. Got {_core.scalar_name(rcond.dtype)}"
        )
    without_slope("linalg_pinv", rtol=rcond)
    return _pinv(self, 0.0, rcond, hermitian)


@composite("pinverse(Tensor self, float rcond=1e-15) -> Tensor", autocast="float32_cpu")
def pinverse(self, rcond):
    """Moore and Penrose's inverse (*, n, m) of (*, m, n); singular values up to ``rcond`` · largest count as zero."""
    return _pinv(self, 0.0, rcond, False)
