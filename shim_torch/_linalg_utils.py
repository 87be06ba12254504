"""``torch._linalg_utils``: what LOBPCG and low-rank approximations are written with."""

from __future__ import annotations

from typing import Any

from shim_torch._lowrank import _gone
from shim_torch._lowrank import matrix_rank as matrix_rank

__all__ = ["basis", "bform", "get_floating_dtype", "is_sparse", "matmul", "qform", "symeig"]


def is_sparse(A: Any) -> bool:
    """Whether a matrix is sparse (COO). Errors: TypeError for what is no tensor."""
    import shim_torch

    if isinstance(A, shim_torch.Tensor):
        return A.layout == shim_torch.sparse_coo
    raise TypeError(f"expected Tensor but got {type(A)}")


def get_floating_dtype(A: Any) -> Any:
    """The floating dtype to compute with: A's own, float32 for integers."""
    import shim_torch

    return A.dtype if A.dtype in (shim_torch.float16, shim_torch.float32, shim_torch.float64) else shim_torch.float32


def matmul(A: Any, B: Any) -> Any:
    """``A @ B``; ``B`` where A is None, which stands for the identity."""
    import shim_torch

    if A is None:
        return B
    return shim_torch.sparse.mm(A, B) if is_sparse(A) else shim_torch.matmul(A, B)


def bform(X: Any, A: Any, Y: Any) -> Any:
    """``X^T A Y``."""
    return matmul(X.mT, matmul(A, Y))


def qform(A: Any, S: Any) -> Any:
    """``S^T A S``."""
    return bform(S, A, S)


def basis(A: Any) -> Any:
    """An orthogonal basis of A's columns."""
    import shim_torch

    return shim_torch.linalg.qr(A).Q


def symeig(A: Any, largest: bool | None = False) -> tuple[Any, Any]:
    """Eigenvalues and vectors of a symmetric matrix, ascending; with ``largest`` descending."""
    import shim_torch

    ascending = shim_torch.linalg.eigh(A, UPLO="U")
    values, vectors = (part.flip(-1) for part in ascending) if largest else ascending
    return values, vectors


eig, lstsq, solve, _symeig = (_gone(name) for name in ("eig", "lstsq", "solve", "symeig"))
