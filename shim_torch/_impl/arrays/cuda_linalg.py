"""LU factors, triangular systems and reflections on CUDA: cuSOLVER and cuBLAS on the handles and streams that CuPy keeps.

Arrays are CuPy's, batches of matrices ``(..., m, n)``; results lie by columns, as these libraries write them.
"""

from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np
from cupy.cuda import device
from cupy_backends.cuda.libs import cublas, cusolver

_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
_N, _T, _C = 0, 1, 2  # cublasOperation_t
_FEW = 65536  # elements of a matrix for each of the batch up to which one batched launch is the faster way


def _function(library: Any, name: str, dtype: Any) -> Any:
    """``getrf`` of cuSOLVER as ``sgetrf`` and so on; what is orthogonal for real matrices is unitary for complex ones."""
    letter = _LETTERS[dtype.char]
    if letter in "cz":
        name = name.replace("or", "un", 1) if name.startswith("or") else name
    return getattr(library, letter + name)


def _by_columns(a: Any, lead: Any) -> Any:
    """A copy, broadcast to the batch ``lead``, as one stack ``(count, n, m)`` of the transposes."""
    wide = cupy.broadcast_to(a, (*lead, *a.shape[-2:])).swapaxes(-1, -2)
    return cupy.array(wide, order="C", copy=True).reshape(math.prod(lead), a.shape[-1], a.shape[-2])


def _as_matrices(stack: Any, lead: Any) -> Any:
    return stack.reshape(*lead, *stack.shape[1:]).swapaxes(-1, -2)


def _addresses(stack: Any, which: Any = None) -> Any:
    """Where each matrix of a stack begins, or those with the numbers ``which``."""
    numbers = cupy.arange(len(stack)) if which is None else which
    step = math.prod(stack.shape[1:]) * stack.itemsize
    return (numbers * step + stack.data.ptr).astype(np.uintp)


def _numbers(lead: Any, wide: Any) -> Any:
    """For each matrix of the batch ``wide`` the number of the one of ``lead`` that it is a broadcast of."""
    return cupy.broadcast_to(cupy.arange(math.prod(lead)).reshape(lead), wide).reshape(-1)


def lu(a: Any) -> tuple[Any, Any, Any]:
    """Packed L and U, pivots from 1 (int32), and the first zero pivot (int32, 0: none)."""
    *lead, m, n = a.shape
    x, k = _by_columns(a, lead), min(m, n)
    pivots, info = cupy.empty((len(x), k), np.int32), cupy.zeros(len(x), np.int32)
    if not x.size:
        pass
    elif m == n and len(x) > 1 and len(x) * _FEW >= n * n:
        factor = _function(cublas, "getrfBatched", a.dtype)
        factor(device.get_cublas_handle(), n, _addresses(x).data.ptr, n, pivots.data.ptr, info.data.ptr, len(x))
    else:
        handle, factor = device.get_cusolver_handle(), _function(cusolver, "getrf", a.dtype)
        work = cupy.empty(_function(cusolver, "getrf_bufferSize", a.dtype)(handle, m, n, x.data.ptr, m), a.dtype)
        for i in range(len(x)):
            factor(handle, m, n, x[i].data.ptr, m, work.data.ptr, pivots[i].data.ptr, info[i : i + 1].data.ptr)
    return _as_matrices(x, lead), pivots.reshape(*lead, k), info.reshape(tuple(lead))


def lu_solve(packed: Any, pivots: Any, b: Any, left: bool, adjoint: bool) -> Any:
    """X of A X = b (or X A = b; Aᴴ for A with ``adjoint``), from the factors of A; X A = b gives X by rows."""
    lead = np.broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    n, complex_ = packed.shape[-1], b.dtype.kind == "c"
    if left:
        x, trans = _by_columns(b, lead), _C if adjoint and complex_ else _T if adjoint else _N
    else:  # op(A)ᵀ Xᵀ = bᵀ; with op(A) = Aᴴ that is conj(A) Xᵀ = bᵀ: both sides conjugated
        x, trans = _by_columns(b.swapaxes(-1, -2), lead), _N if adjoint else _T
        if adjoint and complex_:
            x = x.conj()
    if x.size:
        _solve_stack(packed, pivots, x, lead, n, trans)
    if left:
        return _as_matrices(x, lead)
    return (x.conj() if adjoint and complex_ else x).reshape(*lead, *x.shape[1:])


def _solve_stack(packed: Any, pivots: Any, x: Any, lead: Any, n: int, trans: int) -> None:
    factors = _by_columns(packed, packed.shape[:-2])
    columns, numbers = x.shape[1], _numbers(packed.shape[:-2], lead)
    places = cupy.ascontiguousarray(pivots.reshape(-1, n)[numbers].astype(np.int32))
    if len(x) > 1:
        solve, status = _function(cublas, "getrsBatched", x.dtype), np.zeros(1, np.int32)
        handle, a, b = device.get_cublas_handle(), _addresses(factors, numbers), _addresses(x)
        solve(handle, trans, n, columns, a.data.ptr, n, places.data.ptr, b.data.ptr, n, status.ctypes.data, len(x))
        return
    info = cupy.empty(1, np.int32)
    solve = _function(cusolver, "getrs", x.dtype)
    solve(
        device.get_cusolver_handle(),
        trans,
        n,
        columns,
        factors.data.ptr,
        n,
        places.data.ptr,
        x.data.ptr,
        n,
        info.data.ptr,
    )


def solve_triangular(a: Any, b: Any, upper: bool, left: bool, unit: bool) -> Any:
    """X of A X = b, or X A = b, for triangular A; zeros on the diagonal give infinities."""
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x, (m, n) = _by_columns(b, lead), b.shape[-2:]
    if not x.size:
        return _as_matrices(x, lead)
    factors = _by_columns(a, a.shape[:-2])
    one, ld = np.ones((), a.dtype), a.shape[-1]
    how = (0 if left else 1, 1 if upper else 0, _N, 1 if unit else 0, m, n, one.ctypes.data)
    handle = device.get_cublas_handle()
    if len(x) > 1:
        addresses, to = _addresses(factors, _numbers(a.shape[:-2], lead)), _addresses(x)
        _function(cublas, "trsmBatched", a.dtype)(handle, *how, addresses.data.ptr, ld, to.data.ptr, m, len(x))
    else:
        _function(cublas, "trsm", a.dtype)(handle, *how, factors.data.ptr, ld, x.data.ptr, m)
    return _as_matrices(x, lead)


def geqrf(a: Any) -> tuple[Any, Any]:
    """R above Householder's reflections, and their scales."""
    *lead, m, n = a.shape
    x, k = _by_columns(a, lead), min(m, n)
    scales, info = cupy.zeros((len(x), k), a.dtype), cupy.empty(1, np.int32)
    if x.size:
        handle, factor = device.get_cusolver_handle(), _function(cusolver, "geqrf", a.dtype)
        size = _function(cusolver, "geqrf_bufferSize", a.dtype)(handle, m, n, x.data.ptr, m)
        work = cupy.empty(size, a.dtype)
        for i in range(len(x)):
            factor(handle, m, n, x[i].data.ptr, m, scales[i].data.ptr, work.data.ptr, size, info.data.ptr)
    return _as_matrices(x, lead), scales.reshape(*lead, k)


def householder_product(a: Any, scales: Any) -> Any:
    """The first columns of the product of the reflections that ``geqrf`` packs."""
    *lead, m, n = a.shape
    x, k = _by_columns(a, lead), scales.shape[-1]
    tau, info = cupy.ascontiguousarray(scales).reshape(len(x), k), cupy.empty(1, np.int32)
    if x.size:
        handle, make = device.get_cusolver_handle(), _function(cusolver, "orgqr", a.dtype)
        size = _function(cusolver, "orgqr_bufferSize", a.dtype)(handle, m, n, k, x.data.ptr, m, tau.data.ptr)
        work = cupy.empty(size, a.dtype)
        for i in range(len(x)):
            make(handle, m, n, k, x[i].data.ptr, m, tau[i].data.ptr, work.data.ptr, size, info.data.ptr)
    return _as_matrices(x, lead)
