"""Decompositions of matrices: Cholesky, QR, singular values, eigenvalues."""

from __future__ import annotations

from typing import Any

from native import _core
from shim_torch._utils import _scalar

from ._record import composite, direct, op

_LINALG = {"module": "linalg", "method": False}


class LinAlgError(RuntimeError):
    """torch.linalg.LinAlgError: a matrix is singular, not positive definite, or an iteration did not converge."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
LinAlgError.__module__ = "torch._C"


# The kernels that refuse low precision on the CPU, where no check came before them; for the last two, integers too.
_KERNELS = {
    "linalg.cholesky": "cholesky_cpu",
    "linalg.det": "lu_cpu",
    "linalg.solve": "lu_cpu",
    "linalg.eig": "linalg_eig_out_cpu",
    "linalg.svd": "linalg_svd_cpu",
    "linalg.svdvals": "linalg_svd_cpu",
    "svd": "linalg_svd_cpu",
    "linalg.qr": "geqrf_cpu",
    "torch.linalg.lu_solve": "linalg.lu_solve_cpu",
    "torch.linalg.ldl_factor_ex": "ldl_factor_kernel_cpu",
    "torch.linalg.ldl_solve": "ldl_solve_kernel_cpu",
    "linalg.eigh": "linalg_eigh_cpu",
    "linalg.solve_triangular": "triangular_solve_cpu",
}
_NO_CHECK = ("linalg.eigh", "linalg.solve_triangular")
_SAYING = {"linalg.svdvals": "linalg.svd", "svd": "linalg.svd"}


def check_matrix(name: str, a: Any, square: bool = False, argument: str = "A") -> Any:
    """The dtype of a batch of matrices; RuntimeError in torch.linalg's words where it is none."""
    if a.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    if square and a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )
    low = a.dtype in (_core.float16, _core.bfloat16) or a.dtype.itemsize == 1
    if a.device.type == "cpu" and (
        (low and a.dtype.is_floating_point and name in _KERNELS)
        or (name in _NO_CHECK and not (a.dtype.is_floating_point or a.dtype.is_complex))
    ):
        raise NotImplementedError(f"\"{_KERNELS[name]}\" not implemented for '{_scalar(a.dtype)}'")
    if not (a.dtype.is_floating_point or a.dtype.is_complex):
        name = _SAYING.get(name, name)
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {_scalar(a.dtype)}")
    if low:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {_scalar(a.dtype)}")
    return a.dtype


def adjoint(t: Any) -> Any:
    """The conjugate transpose of the last two dims."""
    t = t.transpose(-2, -1)
    return t.conj() if t.is_complex() else t


def swapped(xp: Any, a: Any) -> Any:
    """The transpose of an array's last two axes."""
    return xp.swapaxes(a, -1, -2)


def _checked(name: str, square: bool = True, argument: str = "A") -> Any:
    return lambda t: check_matrix(name, t, square, argument)


# --- Cholesky -------------------------------------------------------------------------------------------------------


def _cholesky_grad(g: Any, result0: Any, upper: bool) -> Any:
    import shim_torch

    L, g = (adjoint(result0), adjoint(g)) if upper else (result0, g)
    solve = shim_torch.ops.aten.linalg_solve_triangular
    inner = (adjoint(L) @ g).tril()
    inner = (inner + adjoint(inner.tril(-1))) * 0.5
    return solve(L, solve(adjoint(L), inner, upper=True), upper=False, left=False)


def _square_shape(name: str, argument: str = "A") -> Any:
    def rule(self: Any) -> Any:
        check_matrix(name, self, True, argument)
        return [tuple(self.shape), tuple(self.shape[:-2])]

    return rule


@op("linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
    shape=_square_shape("linalg.cholesky"), dtype=lambda self: (self.dtype, [self.dtype, _core.int32]),
    differentiable=(0,), grad={"self": _cholesky_grad}, out=True, order=("columns", None), **_LINALG)  # fmt: skip
def linalg_cholesky_ex(xp, self, upper, check_errors):
    batch, n = self.shape[:-2], self.shape[-1]
    info = xp.zeros(batch, "int32")
    a = swapped(xp, self).conj() if upper else self
    try:
        L = _factor(xp, a) if self.size else xp.zeros_like(self)
    except Exception:  # NumPy's LinAlgError: some matrix of the batch is not positive definite
        L, info = _cholesky_each(xp, a.reshape(-1, n, n), batch)
        L = L.reshape(self.shape)
    bad = int(info.reshape(-1)[0]) if info.ndim == 0 else 0
    if check_errors and bool((info > 0).any()):
        raise LinAlgError(_not_definite("linalg.cholesky_ex", info, bad))
    return (swapped(xp, L).conj() if upper else L), info


def _factor(xp: Any, a: Any) -> Any:
    """Cholesky's factor; an exception where there is none, which CuPy does not raise by itself."""
    L = xp.linalg.cholesky(a)
    if "cupy" in type(L).__module__:
        low = xp.tril(a, -1) + xp.eye(a.shape[-1], dtype=a.dtype) * a.real  # what is imaginary on the diagonal is not read
        largest = float(xp.abs(low).max())
        off = float(xp.abs(xp.tril(xp.matmul(L, swapped(xp, L).conj())) - low).max())
        if not off <= largest * a.shape[-1] * 100 * float(xp.finfo(a.dtype).eps):
            raise ArithmeticError("not positive definite")
    return L


def _cholesky_each(xp: Any, stack: Any, batch: Any) -> tuple[Any, Any]:
    """All matrices of a stack column by column, each up to the first of its leading minors that is not definite."""
    n = stack.shape[-1]
    out, order = xp.zeros_like(stack), xp.full(len(stack), n)
    for j in range(n):
        row = out[:, j, :j].conj()
        pivot = (stack[:, j, j] - xp.einsum("ij,ij->i", out[:, j, :j], row)).real
        order = xp.where((order == n) & ~(pivot > 0), j, order)
        root = xp.sqrt(xp.where(pivot > 0, pivot, 1))
        out[:, j, j] = root
        below = stack[:, j + 1 :, j] - xp.einsum("ijk,ik->ij", out[:, j + 1 :, :j], row)
        out[:, j + 1 :, j] = below / root[:, None]
    kept = xp.arange(n) < order[:, None]
    out = xp.where(kept[:, :, None] & kept[:, None, :], out, 0).astype(stack.dtype)
    return out, xp.where(order < n, order + 1, 0).astype("int32").reshape(batch)


def _not_definite(name: str, info: Any, first: int) -> str:
    where = ""
    if info.ndim:
        flat = info.reshape(-1)
        at = int((flat > 0).argmax())
        where, first = f"(Batch element {at}): ", int(flat[at])
    return (
        f"{name}: {where}The factorization could not be completed because the input is not positive-definite (the leading minor of "
        f"order {first} is not positive-definite)."
    )


@composite("linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor", out=True, **_LINALG)
def linalg_cholesky(self, upper):
    return _cholesky("linalg.cholesky", self, upper)


def _cholesky(name: str, self: Any, upper: bool) -> Any:
    import shim_torch

    L, info = shim_torch.ops.aten.linalg_cholesky_ex(self, upper=upper)
    if not self.is_meta and bool((info > 0).any()):
        info = info.cpu().numpy()
        raise LinAlgError(_not_definite(name, info, int(info.reshape(-1)[0])))
    return L


@composite("cholesky(Tensor self, bool upper=False) -> Tensor", out=True)
def cholesky(self, upper):
    return _cholesky("cholesky", self, upper)


def _cholesky_inverse_grad(g: Any, self: Any, result: Any, upper: bool) -> Any:
    both = result @ ((g + adjoint(g)) @ result)
    return -(self @ both) if upper else -(both @ self)


@direct("cholesky_inverse(Tensor self, bool upper=False) -> Tensor", out=True, grad={"self": _cholesky_inverse_grad})
def cholesky_inverse(self, upper):
    import shim_torch

    check_matrix("cholesky_inverse", self, True)
    diagonal = self.diagonal(0, -2, -1)
    if not self.is_meta and bool((diagonal == 0).any()):
        places = (diagonal == 0).reshape(-1, self.size(-1)).nonzero()[0].tolist()
        batch = f"(Batch element {places[0]}): " if self.dim() > 2 else ""
        raise LinAlgError(
            f"cholesky_inverse: {batch}The diagonal element {places[1] + 1} is zero, the inversion could not be completed because "
            "the input matrix is singular."
        )
    one = shim_torch.eye(self.size(-1), dtype=self.dtype, device=self.device).expand(self.shape)
    return cholesky_solve(one, self, upper)


def _cholesky_solve_factor(g: Any, input2: Any, result: Any, upper: bool) -> Any:
    import shim_torch

    both = shim_torch.ops.aten.cholesky_solve(g, input2, upper) @ adjoint(result)
    both = both + adjoint(both)
    return -(input2 @ both) if upper else -(both @ input2)


def _cholesky_solve_grad(g: Any, input2: Any, upper: bool) -> Any:
    import shim_torch

    return shim_torch.ops.aten.cholesky_solve(g, input2, upper)


@direct("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", out=True,
        grad={"self": _cholesky_solve_grad, "input2": _cholesky_solve_factor})  # fmt: skip
def cholesky_solve(self, input2, upper):
    import shim_torch

    if self.dim() < 2:
        raise RuntimeError(f"b should have at least 2 dimensions, but has {self.dim()} dimensions instead")
    if input2.dim() < 2:
        raise RuntimeError(f"u should have at least 2 dimensions, but has {input2.dim()} dimensions instead")
    if input2.size(-1) != input2.size(-2):
        raise RuntimeError(
            f"A must be batches of square matrices, but they are {input2.size(-2)} by {input2.size(-1)} matrices"
        )
    if input2.size(-1) != self.size(-2):
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {input2.size(-1)} by {input2.size(-1)} but each b "
            f"matrix is {self.size(-2)} by {self.size(-1)}"
        )
    solve = shim_torch.ops.aten.linalg_solve_triangular
    first, second = (adjoint(input2), input2) if upper else (input2, adjoint(input2))
    return solve(second, solve(first, self, upper=False), upper=True)


# --- QR -------------------------------------------------------------------------------------------------------------


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
    import shim_torch

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
    return shim_torch.cat([first, rest], -1)


def _qr_square_grad(g0: Any, g1: Any, Q: Any, R: Any) -> Any:
    """(gQ + Q · copyltu(R gRᴴ - gQᴴ Q)) R⁻ᴴ."""
    import shim_torch

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
    return adjoint(shim_torch.ops.aten.linalg_solve_triangular(R, adjoint(x), upper=True))


@op("linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)", shape=_qr_shape, dtype=lambda A: (A.dtype, [A.dtype] * 2),
    out=True, grad={"A": _qr_grad}, order=("columns", "columns"), **_LINALG)  # fmt: skip
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


@composite("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)", out=True)
def qr(self, some):
    import shim_torch

    return tuple(shim_torch.linalg.qr(self, "reduced" if some else "complete"))


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
    if gU is not None:
        inner = skew(adjoint(U) @ gU) / E * row
    if gVh is not None:
        inner = inner + row.transpose(-2, -1) * (skew(Vh @ adjoint(gVh)) / E)
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
    order=("columns", None, "columns"), **_LINALG)  # fmt: skip
def linalg_svd(xp, A, full_matrices, driver):
    if driver is not None and "cupy" not in type(A).__module__:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    m, n = A.shape[-2:]
    if A.size == 0:
        k, batch = min(m, n), A.shape[:-2]
        u = xp.broadcast_to(xp.eye(m, m if full_matrices else k, dtype=A.dtype), (*batch, m, m if full_matrices else k))
        v = xp.broadcast_to(xp.eye(n if full_matrices else k, n, dtype=A.dtype), (*batch, n if full_matrices else k, n))
        return u, xp.zeros((*batch, k), A.real.dtype), v
    if not bool(xp.isfinite(A).all()):
        raise LinAlgError(
            "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."
        )
    u, s, vh = xp.linalg.svd(A, full_matrices=full_matrices)
    return u, s, vh


@composite("linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", out=True, **_LINALG)
def linalg_svdvals(A, driver):
    import shim_torch

    check_matrix("linalg.svdvals", A)
    return shim_torch.ops.aten.linalg_svd(A, False)[1]


@composite("svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)", out=True)
def svd(self, some, compute_uv):
    import shim_torch

    check_matrix("svd", self)
    U, S, Vh = shim_torch.ops.aten.linalg_svd(self, not some)
    return (U, S, adjoint(Vh)) if compute_uv else (U.detach().zero_(), S, adjoint(Vh).detach().zero_())


# --- eigenvalues ----------------------------------------------------------------------------------------------------


def _eigh_grad(g0: Any, g1: Any, result0: Any, result1: Any) -> Any:
    L, V = result0, result1
    inner = 0 if g0 is None else g0.to(V.dtype).diag_embed()
    if g1 is not None:
        E = L.unsqueeze(-2) - L.unsqueeze(-1)
        turn = adjoint(V) @ g1
        mixed = (turn - adjoint(turn)) * 0.5 / (E + E.new_ones(E.size(-1)).diag_embed()).to(V.dtype)
        inner = inner + mixed - mixed.diagonal(0, -2, -1).diag_embed()
    return V @ inner @ adjoint(V)


def _eigh_shape(self: Any) -> Any:
    check_matrix("linalg.eigh", self, True)
    return [tuple(self.shape[:-1]), tuple(self.shape)]


@op("linalg_eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)", shape=_eigh_shape,
    dtype=lambda self: (self.dtype, [self.dtype.to_real(), self.dtype]), out=True, grad={"self": _eigh_grad},
    order=(None, "columns"), **_LINALG)  # fmt: skip
def linalg_eigh(xp, self, UPLO):
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    if self.size == 0:
        return xp.zeros(self.shape[:-1], self.real.dtype), xp.zeros(self.shape, self.dtype)
    values, vectors = xp.linalg.eigh(self, UPLO.upper())
    return values, vectors


@composite("linalg_eigvalsh(Tensor self, str UPLO='L') -> Tensor", out=True, **_LINALG)
def linalg_eigvalsh(self, UPLO):
    import shim_torch

    return shim_torch.ops.aten.linalg_eigh(self, UPLO)[0]


def _eig_shape(self: Any) -> Any:
    if self.dim() > 1 and not (self.dtype.is_floating_point or self.dtype.is_complex):
        raise RuntimeError(f"Unknown Complex ScalarType for {_scalar(self.dtype)}")
    check_matrix("linalg.eig", self, True)
    return [tuple(self.shape[:-1]), tuple(self.shape)]


def _eig_grad(g0: Any, g1: Any, self_dtype: Any, result0: Any, result1: Any) -> Any:
    import shim_torch

    L, V = result0, result1
    inner = 0 if g0 is None else g0.diag_embed()
    if g1 is not None:
        VhgV = adjoint(V) @ g1
        diagonal = VhgV.diagonal(0, -2, -1)
        change = VhgV - adjoint(V) @ (V * diagonal.real.unsqueeze(-2))
        E = (L.unsqueeze(-2) - L.unsqueeze(-1)).conj()
        change = change / (E + shim_torch.eye(E.size(-1), dtype=E.dtype, device=E.device))
        inner = inner + change - change.diagonal(0, -2, -1).diag_embed()
    g = shim_torch.ops.aten.linalg_solve(adjoint(V), inner @ adjoint(V))
    return g if self_dtype.is_complex else g.real


@op("linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", shape=_eig_shape,
    dtype=lambda self: (self.dtype, [self.dtype.to_complex()] * 2), out=True, grad={"self": _eig_grad},
    order=(None, "columns"), **_LINALG)  # fmt: skip
def linalg_eig(xp, self):
    if not hasattr(xp.linalg, "eig"):
        raise NotImplementedError("torch.linalg.eig: on CUDA it needs CuPy 14 or newer; move the tensor to the CPU")
    if not bool(xp.isfinite(self).all()):
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    complex_dtype = (xp.zeros((), self.dtype) + xp.zeros((), "complex64")).dtype
    values, vectors = xp.linalg.eig(self)
    return values.astype(complex_dtype), vectors.astype(complex_dtype)


@composite("linalg_eigvals(Tensor self) -> Tensor", out=True, **_LINALG)
def linalg_eigvals(self):
    import shim_torch

    return shim_torch.ops.aten.linalg_eig(self)[0]
