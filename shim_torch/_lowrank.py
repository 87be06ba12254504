"""Low-rank decompositions, torch.lu, and names that PyTorch removed with a hint."""

from __future__ import annotations

from typing import Any

_GONE = "This function was deprecated since version 1.9 and is now removed. "
_REMOVED = {
    "eig": "`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors mimicking "
    "complex tensors.",
    "symeig": "The default behavior has changed from using the upper triangular portion of the matrix by default to using the "
    "lower triangular portion.",
    "lstsq": "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.",
    "solve": "`torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` has its arguments reversed and "
    "does not return the LU factorization.",
}


def _gone(name: str) -> Any:
    def gone(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(_GONE + _REMOVED[name])

    gone.__name__ = gone.__qualname__ = name
    gone.__doc__ = f"Removed from PyTorch; use torch.linalg.{'eigh' if name == 'symeig' else name}."
    return gone


def matrix_rank(input: Any, tol: Any = None, symmetric: bool = False, *, out: Any = None) -> Any:
    """Removed from PyTorch; use torch.linalg.matrix_rank."""
    raise RuntimeError(
        _GONE[:-1]
        + "\nPlease use the `torch.linalg.matrix_rank` function instead. The parameter 'symmetric' was renamed in "
        "`torch.linalg.matrix_rank()` to 'hermitian'."
    )


def lu(A: Any, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """Packed L and U and the pivots, and with ``get_infos`` where a pivot is zero."""
    import shim_torch

    if get_infos:
        return shim_torch.linalg.lu_factor_ex(A, pivot=pivot)
    return tuple(shim_torch.linalg.lu_factor(A, pivot=pivot))


def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> Any:
    """U, S, V of a matrix of rank about ``q``, from random directions sharpened ``niter`` times (Halko and others, 2009)."""
    import shim_torch

    q, niter = 6 if q is None else q, 2 if niter is None else niter
    A = A if M is None else A - M.expand(A.shape)
    if A.dim() < 2:
        raise RuntimeError("svd_lowrank: input should have at least 2 dimensions")
    wide = A.shape[-2] < A.shape[-1]
    X = A.mH if wide else A
    qr = shim_torch.linalg.qr
    directions = shim_torch.randn((*X.shape[:-2], X.shape[-1], q), dtype=X.dtype, device=X.device)
    Q = qr(X @ directions).Q
    for _ in range(niter):
        Q = qr(X @ qr(X.mH @ Q).Q).Q
    U, S, Vh = shim_torch.linalg.svd(Q.mH @ X, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """The ``q`` principal directions of the rows of ``A``: U, S, V."""
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


def functions() -> dict[str, Any]:
    """What torch takes from here; functions that are gone only say what to use instead."""
    found: dict[str, Any] = {"lu": lu, "matrix_rank": matrix_rank, "pca_lowrank": pca_lowrank, "svd_lowrank": svd_lowrank}
    return {**found, **{name: _gone(name) for name in _REMOVED}}
