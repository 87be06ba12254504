"""The singular value decomposition, and singular values alone."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.records.shared.formulas import differentiated
from shim_torch._impl.records.shared.matrices import (
    LinAlgError,
    adjoint,
    check_matrix,
    first_failed,
    on_cuda,
    refuse_phases,
)
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite, op

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)

_LINALG = {"module": "linalg", "method": False, "overlap": "unchecked"}


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


@op("linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", autocast="float32_cpu", shape=_svd_shape,
    dtype=lambda A: (A.dtype, [A.dtype, A.dtype.to_real(), A.dtype]), out=True, grad={"A": _svd_grad},
    order=("columns", None, "columns"), native="svd", **_LINALG, out_dtype="structured", out_error_name="_linalg_svd")  # fmt: skip
def linalg_svd(xp, A, full_matrices, driver):
    """U, S and Vᴴ of A = U diag(S) Vᴴ, the singular values in descending order.

    Shapes:  A (*, m, n), k = min(m, n) -> U (*, m, m), S (*, k), Vh (*, n, n); without ``full_matrices`` U (*, m, k),
             Vh (*, k, n)
    Dtypes:  that of A; S is real
    Errors:  LinAlgError for NaN or infinities; RuntimeError for ``driver`` on the CPU, and in backward for a loss that
             depends on the phase of complex vectors
    """
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
    autocast="float32_cpu",
    out=True,
    **_LINALG,
    out_dtype="structured",
    out_error_name="_linalg_svd",
)
def linalg_svdvals(A, driver):
    """The singular values in descending order, real: A (*, m, n) gives (*, min(m, n))."""
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
    autocast="float32_cpu",
    out=True,
    out_dtype="structured",
    out_error_name="_linalg_svd",
)
def svd(self, some, compute_uv):
    """U, S and V (not Vᴴ) of A = U diag(S) Vᴴ, the singular values in descending order.

    ``some=False``: all columns of U (*, m, m) and V (*, n, n). Without ``compute_uv`` both are zeros.
    """
    check_matrix("svd", self)
    U, S, Vh = aten.linalg_svd(self, not some)
    return (U, S, adjoint(Vh)) if compute_uv else (U.detach().zero_(), S, adjoint(Vh).detach().zero_())
