"""Solving linear systems, inverses, determinants and what is made of them."""

from __future__ import annotations

from typing import Any

from native import _core
from shim_torch._utils import _scalar

from ._record import composite, op
from ._rules import wrap_dim
from .decomposition import LinAlgError, adjoint, check_matrix, lu, swapped

_LINALG: dict[str, Any] = {"module": "linalg", "method": False}


def _aten() -> Any:
    import shim_torch

    return shim_torch.ops.aten


def _identity(a: Any, n: int) -> Any:
    import shim_torch

    return shim_torch.eye(n, dtype=a.dtype, device=a.device)


def _first_zero_pivot(xp: Any, a: Any) -> Any:
    """LAPACK's info of each matrix: 0, or the place of the first pivot that is zero."""
    return lu(xp, a)[2]


def _where(info: Any) -> tuple[str, int]:
    """ "(Batch element 2): " and the info of the first matrix that failed."""
    flat = info.reshape(-1)
    at = int((flat > 0).argmax())
    return (f"(Batch element {at}): " if info.ndim else ""), int(flat[at])


# --- inverse --------------------------------------------------------------------------------------------------------


def _inverse_shape(A: Any) -> Any:
    check_matrix("linalg.inv", A, True)
    return [tuple(A.shape), tuple(A.shape[:-2])]


def _singular(name: str, info: Any) -> Any:
    where, at = _where(info)
    return LinAlgError(
        f"{name}: {where}The diagonal element {at} is zero, the inversion could not be completed because the input matrix "
        "is singular."
    )


@op("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", shape=_inverse_shape,
    dtype=lambda A: (A.dtype, [A.dtype, _core.int32]), differentiable=(0,),
    grad={"A": lambda g, result0: -(adjoint(result0) @ g @ adjoint(result0))}, out=True, **_LINALG)  # fmt: skip
def linalg_inv_ex(xp, A, check_errors):
    info = xp.zeros(A.shape[:-2], "int32")
    try:
        inverse = xp.linalg.inv(A)
        failed = not bool(xp.isfinite(inverse).all()) and bool(xp.isfinite(A).all())
    except Exception:  # NumPy's LinAlgError
        failed, inverse = True, xp.full(A.shape, float("nan"), A.dtype)
    if failed:
        info = _first_zero_pivot(xp, A)
        if check_errors and bool((info > 0).any()):
            raise _singular("linalg.inv_ex", info)
    return inverse, info


@composite("linalg_inv(Tensor A) -> Tensor", out=True, **_LINALG)
def linalg_inv(A):
    inverse, info = _aten().linalg_inv_ex(A)
    if not info.is_meta and bool((info > 0).any()):
        raise _singular("linalg.inv", info.cpu().numpy())
    return inverse


@composite("inverse(Tensor self) -> Tensor", out=True)
def inverse(self):
    return linalg_inv(self)


# --- systems --------------------------------------------------------------------------------------------------------


def _is_vector(a: Any, b: Any) -> bool:
    return b.dim() == 1 or (a.dim() - 1 == b.dim() and tuple(b.shape) == tuple(a.shape[:-1]))


def _check_system(name: str, A: Any, B: Any, left: bool, vector: bool) -> Any:
    """The common batch of A X = B, or X A = B; RuntimeError in PyTorch's words where the shapes do not fit."""
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {_scalar(A.dtype)} and B of type "
            f"{_scalar(B.dtype)} instead"
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


def _solve_b_grad(g: Any, A: Any, left: bool) -> Any:
    return _aten().linalg_solve(adjoint(A), g, left=left)


def _solve_a_grad(g: Any, A: Any, result0: Any, B_shape: Any, left: bool) -> Any:
    vector = len(B_shape) == 1 or (A.dim() - 1 == len(B_shape) and tuple(B_shape) == tuple(A.shape[:-1]))
    back = _solve_b_grad(g, A, left)
    if vector:
        return -(back.unsqueeze(-1) @ adjoint(result0.unsqueeze(-1)))
    return -(back @ adjoint(result0)) if left else -(adjoint(result0) @ back)


@op("linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)",
    shape=_solve_shape, dtype=lambda A: (A.dtype, [A.dtype, _core.int32]), differentiable=(0,), out=True,
    grad={"A": _solve_a_grad, "B": _solve_b_grad}, **_LINALG)  # fmt: skip
def linalg_solve_ex(xp, A, B, left, check_errors):
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    a, b = (A, B[..., None] if vector else B) if left else (swapped(xp, A), swapped(xp, B))
    batch = xp.broadcast_shapes(a.shape[:-2], b.shape[:-2]) if hasattr(xp, "broadcast_shapes") else None
    if batch is not None:
        a, b = (xp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    info = xp.zeros(A.shape[:-2], "int32")
    try:
        x = xp.linalg.solve(a, b)
        failed = not bool(xp.isfinite(x).all()) and bool(xp.isfinite(A).all() and xp.isfinite(B).all())
    except Exception:  # NumPy's LinAlgError
        failed, x = True, xp.full(b.shape, float("nan"), A.dtype)
    if failed:
        info = _first_zero_pivot(xp, A)
        if check_errors and bool((info > 0).any()):
            raise _unsolvable("torch.linalg.solve_ex", info)
    x = x[..., 0] if vector else x
    return (x if left else swapped(xp, x)), info


def _unsolvable(name: str, info: Any) -> Any:
    return LinAlgError(f"{name}: {_where(info)[0]}The solver failed because the input matrix is singular.")


@composite("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", out=True, **_LINALG)
def linalg_solve(A, B, left):
    result, info = _aten().linalg_solve_ex(A, B, left=left)
    if not info.is_meta and bool((info > 0).any()):
        raise _unsolvable("torch.linalg.solve", info.cpu().numpy())
    return result


def _triangular_shape(self: Any, B: Any, left: bool) -> Any:
    batch = _check_system("linalg.solve_triangular", self, B, left, False)
    return (*batch, *B.shape[-2:])


def _triangle(x: Any, upper: bool, unit: bool) -> Any:
    return x.triu(1 if unit else 0) if upper else x.tril(-1 if unit else 0)


def _triangular_b_grad(g: Any, self: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    solve = _aten().linalg_solve_triangular
    return solve(adjoint(self), g, upper=not upper, left=left, unitriangular=unitriangular)


def _triangular_a_grad(g: Any, self: Any, upper: bool, left: bool, unitriangular: bool, result: Any) -> Any:
    back = _triangular_b_grad(g, self, upper, left, unitriangular)
    found = back @ adjoint(result) if left else adjoint(result) @ back
    return -_triangle(found, upper, unitriangular)


@op("linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
    shape=_triangular_shape, dtype=lambda self: self.dtype, out=True,
    grad={"self": _triangular_a_grad, "B": _triangular_b_grad}, **_LINALG)  # fmt: skip
def linalg_solve_triangular(xp, self, B, upper, left, unitriangular):
    """Substitution, row by row; zeros on the diagonal give infinities, as in PyTorch."""
    a, b = (self, B) if left else (swapped(xp, self), swapped(xp, B))
    upper = upper if left else not upper
    n = a.shape[-1]
    lead = xp.broadcast(xp.empty(a.shape[:-2]), xp.empty(b.shape[:-2])).shape
    x = xp.array(xp.broadcast_to(b, (*lead, *b.shape[-2:])))
    for i in reversed(range(n)) if upper else range(n):
        known = slice(i + 1, n) if upper else slice(0, i)
        row = x[..., i, :]
        if known.stop > known.start:
            row = row - xp.matmul(a[..., i : i + 1, known], x[..., known, :])[..., 0, :]
        x[..., i, :] = row if unitriangular else row / a[..., i, i][..., None]
    return x if left else swapped(xp, x)


@composite(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)"
)
def triangular_solve(self, A, upper, transpose, unitriangular):
    """Solves op(A) X = self for triangular A."""
    check_matrix("triangular_solve", A, True)
    a = A.transpose(-2, -1) if transpose else A
    solve = _aten().linalg_solve_triangular
    solution = solve(a, self, upper=upper != transpose, unitriangular=unitriangular)
    batch = solution.shape[:-2]
    return solution, A.expand(*batch, *A.shape[-2:]).clone()


# --- determinants ---------------------------------------------------------------------------------------------------


def _det_shape(name: str) -> Any:
    def rule(A: Any) -> Any:
        check_matrix(name, A, True)
        return tuple(A.shape[:-2])

    return rule


def _det_grad(g: Any, A: Any, result: Any) -> Any:
    """g · det · A⁻ᴴ: zero where the determinant is, as PyTorch has it."""
    scale = g * (result.conj() if result.is_complex() else result)
    eye = _identity(A, A.size(-1))
    zero = (result == 0).unsqueeze(-1).unsqueeze(-1)
    a = eye.where(zero, A) if bool(zero.any()) else A
    return _aten().linalg_solve(adjoint(a), eye * scale.unsqueeze(-1).unsqueeze(-1))


@op("linalg_det(Tensor A) -> Tensor", shape=_det_shape("linalg.det"), dtype=lambda A: A.dtype, out=True,
    grad={"A": _det_grad}, **_LINALG)  # fmt: skip
def linalg_det(xp, A):
    return xp.asarray(xp.linalg.det(A)).astype(A.dtype)


@composite("det(Tensor self) -> Tensor")
def det(self):
    return _aten().linalg_det(self)


def _slogdet_shape(A: Any) -> Any:
    check_matrix("linalg.slogdet", A, True)
    return [tuple(A.shape[:-2])] * 2


def _slogdet_grad(g0: Any, g1: Any, A: Any, result0: Any) -> Any:
    import shim_torch

    if A.is_complex():
        real = g1 if g1 is not None else shim_torch.zeros_like(result0.real)
        turn = (g0.conj() * result0).imag if g0 is not None else shim_torch.zeros_like(real)
        scale = shim_torch.complex(real, -turn)
    elif g1 is None:
        return A * 0
    else:
        scale = g1
    return _aten().linalg_solve(adjoint(A), _identity(A, A.size(-1)) * scale.unsqueeze(-1).unsqueeze(-1))


@op("linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", shape=_slogdet_shape,
    dtype=lambda A: (A.dtype, [A.dtype, A.dtype.to_real()]), out=True, grad={"A": _slogdet_grad}, **_LINALG)  # fmt: skip
def linalg_slogdet(xp, A):
    sign, size = xp.linalg.slogdet(A)
    return xp.asarray(sign).astype(A.dtype), xp.asarray(size).astype(A.real.dtype)


@composite("slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)")
def slogdet(self):
    return tuple(_aten().linalg_slogdet(self))


@composite("logdet(Tensor self) -> Tensor")
def logdet(self):
    """log(det): nan where the determinant is negative."""
    check_matrix("logdet", self, True)
    sign, size = _aten().linalg_slogdet(self)
    return sign.log() + size.to(sign.dtype)


# --- powers and products --------------------------------------------------------------------------------------------


def _power(self: Any, n: int) -> Any:
    check_matrix("linalg.matrix_power", self, True)
    if n == 0:
        every = _aten().ones_like(self, dtype=_core.bool)  # of A the gradient is zero, not absent
        return self.masked_fill(every, 0) + _identity(self, self.size(-1))
    base, n = (linalg_inv(self), -n) if n < 0 else (self, n)
    result = None
    while n:
        if n & 1:
            result = base if result is None else result @ base
        n >>= 1
        base = base @ base if n else base
    return result.clone() if result is self else result


composite("linalg_matrix_power(Tensor self, int n) -> Tensor", out=True, **_LINALG)(lambda self, n: _power(self, n))
composite("matrix_power(Tensor self, int n) -> Tensor", out=True)(lambda self, n: _power(self, n))


def _exponential(self: Any) -> Any:
    """Taylor's series after halving until the norm is small, then squaring back."""
    check_matrix("linalg.matrix_exp", self, True)
    n = self.size(-1)
    if self.numel() == 0:
        return self.clone()
    norm = float(self.detach().abs().sum(-2).max())
    halvings = 0
    while norm > 0.5 and halvings < 1024:
        norm, halvings = norm / 2, halvings + 1
    x = self * (0.5**halvings) if halvings else self
    total = term = _identity(self, n).expand(self.shape)
    for k in range(1, 19 if self.dtype.itemsize > (8 if self.is_complex() else 4) else 11):
        term = term @ x / k
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total


composite("linalg_matrix_exp(Tensor self) -> Tensor", out=True, **_LINALG)(lambda self: _exponential(self))
composite("matrix_exp(Tensor self) -> Tensor")(lambda self: _exponential(self))
composite("linalg_matmul(Tensor self, Tensor other) -> Tensor", out=True, **_LINALG)(
    lambda self, other: self.matmul(other)
)


@composite("linalg_multi_dot(Tensor[] tensors) -> Tensor", out=True, **_LINALG)
def linalg_multi_dot(tensors):
    """The product of all matrices in the cheapest order."""
    n = len(tensors)
    if n < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {n}")
    for i, t in enumerate(tensors):
        ends = i in (0, n - 1)
        if t.dim() != 2 and not (ends and t.dim() == 1):
            name = "the first tensor" if i == 0 else "the last tensor" if i == n - 1 else f"tensor {i}"
            raise RuntimeError(f"multi_dot(): {name} must be {'1D or 2D' if ends else '2D'} but got {t.dim()}D")
    row, column = tensors[0].dim() == 1, tensors[-1].dim() == 1
    chain = list(tensors)
    chain[0] = chain[0].unsqueeze(0) if row else chain[0]
    chain[-1] = chain[-1].unsqueeze(-1) if column else chain[-1]
    for i in range(n - 1):
        if chain[i].size(-1) != chain[i + 1].size(0):
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(tensors[i].shape)} and {list(tensors[i + 1].shape)} "
                "cannot be multiplied"
            )
    x = _cheapest(chain)
    x = x.squeeze(0) if row else x
    return x.squeeze(-1) if column else x


def _cheapest(chain: list[Any]) -> Any:
    n, sizes = len(chain), [c.size(0) for c in chain] + [chain[-1].size(1)]
    cost = [[0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            prices = [cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            cost[i][j] = min(prices)
            cut[i][j] = i + prices.index(cost[i][j])

    def product(i: int, j: int) -> Any:
        return chain[i] if i == j else product(i, cut[i][j]) @ product(cut[i][j] + 1, j)

    return product(0, n - 1)


@composite("chain_matmul(Tensor[] matrices) -> Tensor", function=False, method=False)
def chain_matmul(matrices):
    return matrices[0] if len(matrices) == 1 else linalg_multi_dot(matrices)


@composite("kron(Tensor self, Tensor other) -> Tensor", out=True)
def kron(self, other):
    """Kronecker's product: every element of ``self`` times ``other``."""
    n = max(self.dim(), other.dim())
    a = self.reshape([1] * (n - self.dim()) + list(self.shape))
    b = other.reshape([1] * (n - other.dim()) + list(other.shape))
    sizes = [x * y for x, y in zip(a.shape, b.shape, strict=True)]
    a = a.reshape([v for s in a.shape for v in (s, 1)])
    b = b.reshape([v for s in b.shape for v in (1, s)])
    return (a * b).reshape(sizes)


def _cross(self: Any, other: Any, dim: int) -> Any:
    import shim_torch

    if self.dim() != other.dim():
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    d = wrap_dim(dim, self.dim())
    if self.size(d) != 3 or other.size(d) != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.size(d)} and {other.size(d)}"
        )
    a, b = shim_torch.broadcast_tensors(self, other)
    (a0, a1, a2), (b0, b1, b2) = a.unbind(d), b.unbind(d)
    return shim_torch.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], d)


composite("linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", out=True, **_LINALG)(
    lambda self, other, dim: _cross(self, other, dim)
)


@composite("cross(Tensor self, Tensor other, int? dim=None) -> Tensor", out=True)
def cross(self, other, dim):
    """The vector product over a dim of size 3: the first one where none is named."""
    if dim is None:
        dim = next((d for d, n in enumerate(self.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return _cross(self, other, dim)


@composite("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", out=True, **_LINALG)
def linalg_vecdot(x, y, dim):
    """Σ conj(x) · y over ``dim``."""
    if x.dim() == 1 and y.dim() == 1:
        return x.vdot(y) if x.is_complex() else x.dot(y)
    return ((x.conj() if x.is_complex() else x) * y).sum(dim)


@composite("linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", **_LINALG)
def linalg_vander(x, N):
    """Powers 0 ... N - 1 of each value."""
    import shim_torch

    if x.dtype == _core.bool:
        raise RuntimeError(f"linalg.vander: Expected a tensor of numeric dtype, got {_scalar(x.dtype)}")
    if x.dim() == 0:
        raise RuntimeError("The input tensor must have at least one dimension.")
    n = x.size(-1) if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = x.unsqueeze(-1).expand(*x.shape, n - 1).cumprod(-1)
    return shim_torch.cat([shim_torch.ones_like(powers[..., :1]), powers], -1)


@composite("linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)", **_LINALG)
def linalg_diagonal(A, offset, dim1, dim2):
    return A.diagonal(offset, dim1, dim2)


@composite("linalg_tensorinv(Tensor self, int ind=2) -> Tensor", out=True, **_LINALG)
def linalg_tensorinv(self, ind):
    """The inverse of self as a map from its dims past ``ind`` to the first ones."""
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    first, last = list(self.shape[:ind]), list(self.shape[ind:])
    m, n = _product(first), _product(last)
    if m != n:
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got {n} != {m}"
        )
    return linalg_inv(self.reshape(m, n)).reshape([*last, *first])


def _product(sizes: Any) -> int:
    n = 1
    for s in sizes:
        n *= s
    return n


@composite("linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor", out=True, **_LINALG)
def linalg_tensorsolve(self, other, dims):
    """X with tensordot(self, X, X.ndim) == other."""
    n = self.dim()
    if dims is not None:
        moved = [wrap_dim(d, n) for d in dims]
        self = self.movedim(moved, list(range(n - len(moved), n)))
    last = list(self.shape[other.dim() :])
    m, k = _product(last), other.numel()
    if m != k:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but "
            f"got {m} != {k}"
        )
    return linalg_solve(self.reshape(m, m), other.reshape(-1), True).reshape(last)
