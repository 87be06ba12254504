"""Low-rank decompositions, torch.lu, and names that PyTorch removed with a hint."""

from __future__ import annotations

import functools
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch as _torch
from shim_torch._impl.table.overridable import overridable as _overridable

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

    gone.__name__ = gone.__qualname__ = "_symeig" if name == "symeig" else name
    gone.__module__ = "torch._linalg_utils"
    gone.__doc__ = f"Removed from PyTorch; use torch.linalg.{'eigh' if name == 'symeig' else name}."
    return gone


def matrix_rank(input: Any, tol: Any = None, symmetric: bool = False, *, out: Any = None) -> Any:
    """Removed from PyTorch; use torch.linalg.matrix_rank."""
    raise RuntimeError(
        _GONE[:-1]
        + "\nPlease use the `torch.linalg.matrix_rank` function instead. The parameter 'symmetric' was renamed in "
        "`torch.linalg.matrix_rank()` to 'hermitian'."
    )


@_overridable
def lu(A: Any, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """Packed L and U and the pivots, and with ``get_infos`` where a pivot is zero."""
    from shim_torch._impl.surface.warnings import warn_once

    warn_once(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a future "
        "PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\n"
        "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\n"
        "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be replaced with\n"
        "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
    )
    found = _torch._lu_with_info(A, pivot=pivot, check_errors=False)
    wanted = found if get_infos else tuple(found)[:2]
    if out is None:
        return wanted
    for to, value in zip(out, wanted, strict=True):
        to.resize_as_(value).copy_(value)
    return out


@_overridable
def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> Any:
    """U, S, V of a matrix of rank about ``q``, from random directions sharpened ``niter`` times (Halko and others, 2009)."""
    from shim_torch import linalg

    q, niter = 6 if q is None else q, 2 if niter is None else niter
    A = A if M is None else A - M.expand(A.shape)
    if A.dim() < 2:
        raise RuntimeError("svd_lowrank: input should have at least 2 dimensions")
    wide = A.shape[-2] < A.shape[-1]
    X = A.mH if wide else A
    qr = linalg.qr
    directions = _torch.randn((*X.shape[:-2], X.shape[-1], q), dtype=X.dtype, device=X.device)
    Q = qr(X @ directions).Q
    for _ in range(niter):
        Q = qr(X @ qr(X.mH @ Q).Q).Q
    U, S, Vh = linalg.svd(Q.mH @ X, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


@_overridable
def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """The ``q`` principal directions of the rows of ``A``: U, S, V."""
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    A = A if A.layout == _core.strided or not center else A.to_dense()
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


@_overridable
def lobpcg(
    A: Any, k: int | None = None, B: Any = None, X: Any = None, n: int | None = None, iK: Any = None, niter: int | None = None,
    tol: float | None = None, largest: bool | None = None, method: str | None = None, tracker: Any = None,
    ortho_iparams: Any = None, ortho_fparams: Any = None, ortho_bparams: Any = None,
) -> Any:  # fmt: skip
    """The ``k`` largest (or smallest) eigenvalues of A x = λ B x and their vectors, by Knyazev's LOBPCG.

    Shapes:  A, B (*, m, m) symmetric (B positive definite), X (*, m, n), iK (*, m, m) -> values (*, k), vectors (*, m, k)
    """
    from shim_torch._impl.tensor.type_info import finfo

    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if n is None else n) if X is None else X.shape[-1]
    if m < 3 * n:
        raise ValueError(
            f"LPBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of requested eigenpairs (={n})"
        )
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"method must be 'basic' or 'ortho', got {method}")
    if tracker is not None:
        raise NotImplementedError("torch.lobpcg: tracker= is not supported by shim-torch; leave it out")
    tol = finfo(A.dtype).eps ** 0.5 if tol is None else tol
    X = _torch.randn((*A.shape[:-1], n), dtype=A.dtype, device=A.device) if X is None else X
    largest = True if largest is None else largest
    steps = 1000 if niter is None or niter < 0 else niter
    if _core.is_grad_enabled() and (A.requires_grad or (B is not None and B.requires_grad)):
        A, B = (A + A.mT) / 2, B if B is None else (B + B.mT) / 2
        return _eigenpairs().apply(A, B, X, iK, steps, tol, largest, k)
    values, vectors = _lobpcg(A, B, X, iK, steps, tol, largest)
    return values[..., :k], vectors[..., :k]


@functools.cache
def _eigenpairs() -> Any:
    """LOBPCG as an ``autograd.Function``: gradients of some eigenpairs of a symmetric matrix."""
    from shim_torch.autograd.function import Function

    class LOBPCGAutogradFunction(Function):
        @staticmethod
        def forward(ctx: Any, A: Any, B: Any, X: Any, iK: Any, steps: int, tol: float, largest: bool, k: int) -> Any:
            values, vectors = _lobpcg(A, B, X, iK, steps, tol, largest)
            values, vectors = values[..., :k].contiguous(), vectors[..., :k].contiguous()
            ctx.save_for_backward(A, B, values, vectors)
            return values, vectors

        @staticmethod
        def backward(ctx: Any, of_values: Any, of_vectors: Any) -> Any:
            from shim_torch import linalg

            A, B, values, vectors = ctx.saved_tensors
            start = "lobpcg.backward does not support"
            if A.is_sparse or (B is not None and B.is_sparse and ctx.needs_input_grad[1]):
                raise ValueError(f"{start} sparse input yet. Note that lobpcg.forward does though.")
            if A.is_complex() or (B is not None and B.is_complex()):
                raise ValueError(f"{start} complex input yet. Note that lobpcg.forward does though.")
            if B is not None:
                raise ValueError(f"{start} backward with B != I yet.")
            # Of one pair: (pseudo-inverse of (lambda - A) g + g_lambda u) u'; with u u' added the matrix has an inverse.
            u = vectors.mT.unsqueeze(-1)
            g = of_vectors.mT.unsqueeze(-1)
            eye = _torch.eye(A.shape[-1], dtype=A.dtype, device=A.device)
            shifted = values[..., None, None] * eye - A.unsqueeze(-3) + u @ u.mT
            moved = linalg.solve(shifted, g - u @ (u.mT @ g))
            return ((moved + of_values[..., None, None] * u) @ u.mT).sum(-3), *[None] * 7

    return LOBPCGAutogradFunction


def _ritz(A: Any, B: Any, S: Any, largest: bool, n: int) -> tuple[Any, Any]:
    """The best ``n`` values in the span of the columns of S, and their coefficients."""
    from shim_torch import linalg
    from shim_torch._impl.tensor.type_info import finfo

    eigh = linalg.eigh
    gram = S.mT @ (S if B is None else B @ S)
    size, turn = eigh((gram + gram.mT) / 2)
    kept = size > size.amax(-1, keepdim=True) * S.shape[-2] * finfo(S.dtype).eps
    scale = _torch.where(kept, size.clamp(min=finfo(S.dtype).tiny).rsqrt(), 0.0)
    basis = turn * scale.unsqueeze(-2)  # directions that the span does not have are zero columns
    inner = basis.mT @ (S.mT @ (A @ S)) @ basis
    worst = inner.abs().amax((-2, -1), keepdim=True) * (-2.0 if largest else 2.0) + (-1.0 if largest else 1.0)
    inner = (inner + inner.mT) / 2 + _torch.diag_embed((~kept).to(S.dtype)) * worst
    values, found = eigh(inner)
    if largest:
        values, found = values.flip(-1), found.flip(-1)
    return values[..., :n], basis @ found[..., :n]


def _lobpcg(A: Any, B: Any, X: Any, iK: Any, niter: int, tol: float, largest: bool) -> tuple[Any, Any]:
    from shim_torch import linalg
    from shim_torch._impl.tensor.type_info import finfo

    n = X.shape[-1]
    values, C = _ritz(A, B, X, largest, n)
    X, P = X @ C, None
    norm_a = linalg.matrix_norm(A).amax() if A.layout == _core.strided else A.norm()
    for _ in range(niter):
        BX = X if B is None else B @ X
        R = A @ X - BX * values.unsqueeze(-2)
        size = linalg.vector_norm(R, dim=-2) / (linalg.vector_norm(X, dim=-2) * (norm_a + values.abs()))
        if bool((size < tol).all()):
            break
        W = R if iK is None else iK @ R
        W = W / linalg.vector_norm(W, dim=-2, keepdim=True).clamp(min=finfo(W.dtype).tiny)
        S = _torch.cat([X, W] if P is None else [X, W, P], -1)
        values, C = _ritz(A, B, S, largest, n)
        P = S[..., n:] @ C[..., n:, :]
        X = S[..., :n] @ C[..., :n, :] + P
    return values, X
