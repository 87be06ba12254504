"""Solving linear systems, and inverses."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.elimination import lu, substituted
from shim_torch._impl.records.shared.matrices import (
    LinAlgError,
    adjoint,
    check_matrix,
    cuda_linalg,
    first_failed,
    on_cuda,
    swapped,
)
from shim_torch._impl.surface.warnings import warn_once
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite, op

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)

_LINALG: dict[str, Any] = {"module": "linalg", "method": False, "overlap": "unchecked"}


def _first_zero_pivot(xp: Any, a: Any) -> Any:
    """LAPACK's info of each matrix: 0, or the place of the first pivot that is zero."""
    return lu(xp, a)[2]


# --- inverse --------------------------------------------------------------------------------------------------------


def _inverse_shape(A: Any) -> Any:
    check_matrix("linalg.inv", A, True)
    return [tuple(A.shape), tuple(A.shape[:-2])]


def _singular(name: str, info: Any) -> Any:
    where, at = first_failed(info)
    return LinAlgError(
        f"{name}: {where}The diagonal element {at} is zero, the inversion could not be completed because the input matrix "
        "is singular."
    )


@op("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", autocast="float32_cpu", shape=_inverse_shape,
    dtype=lambda A: (A.dtype, [A.dtype, _core.int32]), differentiable=(0,),
    grad={"A": lambda g, result0: -(adjoint(result0) @ g @ adjoint(result0))}, out=True, native="inverse",
    order=("columns", None), **_LINALG, out_dtype="structured")  # fmt: skip
def linalg_inv_ex(xp, A, check_errors):
    """The inverses of square matrices (*, n, n), and int32 info (*): 0, or the place (from 1) of the first zero pivot.

    Errors:  LinAlgError for a singular matrix with ``check_errors``; otherwise its inverse is of no use
    """
    if on_cuda(A):
        packed, pivots, info = lu(xp, A)
        if check_errors and bool((info > 0).any()):
            raise _singular("linalg.inv_ex", info)
        return cuda_linalg().lu_solve(packed, pivots, xp.eye(A.shape[-1], dtype=A.dtype), True, False), info
    info = xp.zeros(A.shape[:-2], "int32")
    try:
        inverse = xp.linalg.inv(A)
        failed = not bool(xp.isfinite(inverse).all()) and bool(xp.isfinite(A).all())
    except xp.linalg.LinAlgError:  # the matrices of the batch that have an inverse still get it
        failed, inverse = True, xp.full(A.shape, float("nan"), A.dtype)
        good = _first_zero_pivot(xp, A) == 0
        if good.ndim and bool(good.any()):
            inverse[good] = xp.linalg.inv(A[good])
    if failed:
        info = _first_zero_pivot(xp, A)
        if check_errors and bool((info > 0).any()):
            raise _singular("linalg.inv_ex", info)
    return inverse, info


@composite(
    "linalg_inv(Tensor A) -> Tensor",
    out=True,
    **_LINALG,
    autocast="float32_cpu",
    out_dtype="structured",
    out_error_name="linalg_inv_ex",
)
def linalg_inv(A):
    """The inverses of square matrices (*, n, n). LinAlgError for a singular one."""
    inverse, info = aten.linalg_inv_ex(A)
    if not info.is_meta and bool((info > 0).any()):
        raise _singular("linalg.inv", info.cpu().numpy())
    return inverse


@composite("inverse(Tensor self) -> Tensor", autocast="float32_cpu", out=True)
def inverse(self):
    """``torch.linalg.inv`` by another name."""
    return linalg_inv(self)


# --- systems --------------------------------------------------------------------------------------------------------


def _is_vector(a: Any, b: Any) -> bool:
    return b.dim() == 1 or (a.dim() - 1 == b.dim() and tuple(b.shape) == tuple(a.shape[:-1]))


def _check_system(name: str, A: Any, B: Any, left: bool, vector: bool) -> Any:
    """The common batch of A X = B, or X A = B; RuntimeError in PyTorch's words where the shapes do not fit."""
    if A.dtype != B.dtype:
        check_matrix(name, A)
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {_core.scalar_name(A.dtype)} and B of type "
            f"{_core.scalar_name(B.dtype)} instead"
        )
    check_matrix(name, A, True)
    if not vector and B.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor B must have at least 2 dimensions.")
    rows, columns = (B.shape[-1], 1) if vector else (B.shape[-2], B.shape[-1])
    if A.shape[-1] != (rows if left else columns):
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} ({A.shape[-2]}x{A.shape[-1]} and "
            f"{rows}x{columns})"
        )
    if not left and vector:
        raise RuntimeError(
            f"{name}: Vector broadcasting of the left hand side is not supported for left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    return _core.broadcast_shapes([A.shape[:-2], B.shape[: -1 if vector else -2]])


def _solve_shape(A: Any, B: Any, left: bool) -> Any:
    vector = A.dim() >= 2 and _is_vector(A, B)
    batch = _check_system("linalg.solve", A, B, left, vector)
    return [(*batch, B.shape[-1]) if vector else (*batch, *B.shape[-2:]), tuple(A.shape[:-2])]


def _solve_order(left: bool) -> Any:
    return ("columns" if left else None, None)


def _solve_b_grad(g: Any, A: Any, left: bool) -> Any:
    return aten.linalg_solve(adjoint(A), g, left=left)


def _solve_a_grad(g: Any, A: Any, result0: Any, B_shape: Any, left: bool) -> Any:
    vector = len(B_shape) == 1 or (A.dim() - 1 == len(B_shape) and tuple(B_shape) == tuple(A.shape[:-1]))
    back = _solve_b_grad(g, A, left)
    if vector:
        return -(back.unsqueeze(-1) @ adjoint(result0.unsqueeze(-1)))
    return -(back @ adjoint(result0)) if left else -(adjoint(result0) @ back)


@op("linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)",
    shape=_solve_shape, dtype=lambda A: (A.dtype, [A.dtype, _core.int32]), differentiable=(0,), out=True,
    grad={"A": _solve_a_grad, "B": _solve_b_grad}, order=_solve_order, native="solve", **_LINALG, out_dtype="structured", out_error_name="_linalg_solve_ex")  # fmt: skip
def linalg_solve_ex(xp, A, B, left, check_errors):
    """``torch.linalg.solve``, and int32 info (*): 0, or the place (from 1) of the first zero pivot.

    Errors:  LinAlgError for a singular matrix with ``check_errors``; otherwise its solution is of no use
    """
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    if on_cuda(A):
        packed, pivots, info = lu(xp, A)
        if check_errors and bool((info > 0).any()):
            raise _unsolvable("torch.linalg.solve_ex", info)
        x = cuda_linalg().lu_solve(packed, pivots, B[..., None] if vector else B, left, False)
        return (x[..., 0] if vector else x), info
    a, b = (A, B[..., None] if vector else B) if left else (swapped(xp, A), swapped(xp, B))
    batch = xp.broadcast(xp.empty(a.shape[:-2]), xp.empty(b.shape[:-2])).shape
    a, b = (xp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    info = xp.zeros(A.shape[:-2], "int32")
    try:
        x = xp.linalg.solve(a, b)
        failed = not bool(xp.isfinite(x).all()) and bool(xp.isfinite(A).all() and xp.isfinite(B).all())
    except xp.linalg.LinAlgError:
        failed, x = True, xp.full(b.shape, float("nan"), A.dtype)
    if failed:
        info = _first_zero_pivot(xp, A)
        if check_errors and bool((info > 0).any()):
            raise _unsolvable("torch.linalg.solve_ex", info)
    x = x[..., 0] if vector else x
    return (x if left else swapped(xp, x)), info


def _unsolvable(name: str, info: Any) -> Any:
    return LinAlgError(f"{name}: {first_failed(info)[0]}The solver failed because the input matrix is singular.")


@composite(
    "linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
    autocast="float32_cpu",
    out=True,
    **_LINALG,
    out_dtype="structured",
    out_error_name="_linalg_solve_ex",
)
def linalg_solve(A, B, left):
    """X of A X = B, or of X A = B with ``left=False``.

    Shapes:  A (*, n, n), B (*, n, k), with ``left=False`` (*, k, n), or vectors (n,) or (*, n) -> as B
    Dtypes:  one for both, floating or complex
    Errors:  LinAlgError for a singular matrix
    """
    result, info = aten.linalg_solve_ex(A, B, left=left)
    if not info.is_meta and bool((info > 0).any()):
        raise _unsolvable("torch.linalg.solve", info.cpu().numpy())
    return result


def _triangular_shape(self: Any, B: Any, left: bool) -> Any:
    batch = _check_system("linalg.solve_triangular", self, B, left, False)
    return (*batch, *B.shape[-2:])


def _triangle(x: Any, upper: bool, unit: bool) -> Any:
    return x.triu(1 if unit else 0) if upper else x.tril(-1 if unit else 0)


def _triangular_b_grad(g: Any, self: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    solve = aten.linalg_solve_triangular
    return solve(adjoint(self), g, upper=not upper, left=left, unitriangular=unitriangular)


def _triangular_a_grad(g: Any, self: Any, upper: bool, left: bool, unitriangular: bool, result: Any) -> Any:
    back = _triangular_b_grad(g, self, upper, left, unitriangular)
    found = back @ adjoint(result) if left else adjoint(result) @ back
    return -_triangle(found, upper, unitriangular)


@op("linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
    shape=_triangular_shape, dtype=lambda self: self.dtype, out=True,
    grad={"self": _triangular_a_grad, "B": _triangular_b_grad}, order=("columns",), native="solve_triangular", **_LINALG, out_dtype="kernel")  # fmt: skip
def linalg_solve_triangular(xp, self, B, upper, left, unitriangular):
    """Substitution, row by row; zeros on the diagonal give infinities, as in PyTorch."""
    return substituted(xp, self, B, upper, left, unitriangular)


@composite(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
    autocast="float32_cpu",
    gradient_name="TriangularSolveBackward0",
    out=True,
    out_dtype="structured",
)
def triangular_solve(self, A, upper, transpose, unitriangular):
    """Solves op(A) X = self for triangular A."""
    warn_once(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future PyTorch "
        "release.\ntorch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of the inputs.\n"
        "X = torch.triangular_solve(B, A).solution\nshould be replaced with\nX = torch.linalg.solve_triangular(A, B)."
    )
    for what, t in (("b", self), ("A", A)):
        if t.dim() < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {what} to have at least 2 dimensions, but it has {t.dim()} dimensions instead"
            )
    if A.size(-1) != A.size(-2):
        raise RuntimeError(f"A must be batches of square matrices, but they are {A.size(-2)} by {A.size(-1)} matrices")
    if A.size(-1) != self.size(-2):
        raise RuntimeError(
            f"Incompatible matrix sizes for triangular_solve: each A matrix is {A.size(-1)} by {A.size(-1)} but each b matrix is "
            f"{self.size(-2)} by {self.size(-1)}"
        )
    a = A.transpose(-2, -1) if transpose else A
    solve = aten.linalg_solve_triangular
    solution = solve(a, self, upper=upper != transpose, unitriangular=unitriangular)
    batch = solution.shape[:-2]
    solution = solution.mT.contiguous().mT  # as LAPACK writes it
    return solution, A.expand(*batch, *A.shape[-2:]).mT.contiguous().mT
