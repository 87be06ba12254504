"""Symmetric and Hermitian indefinite systems: the factors L D Lᵀ with Bunch and Kaufman's pivots, and solutions by them."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.matrices import check_matrix
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import type_name, underived

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)

_LINALG: dict[str, Any] = {"module": "linalg", "method": False, "overlap": "unchecked"}
_ALPHA = (1 + math.sqrt(17)) / 8  # bounds the growth of elements over a 1x1 and a 2x2 step alike


def _size(x: Any) -> Any:
    """How large entries count as when pivots are looked for."""
    return abs(x.real) + abs(x.imag) if x.dtype.kind == "c" else abs(x)


def _pivot(a: Any, k: int, hermitian: bool) -> tuple[int, int] | None:
    """The row to exchange and the block's size (1 or 2) at step ``k``; None for a column of zeros."""
    n = len(a)
    here = float(abs(a[k, k].real) if hermitian else _size(a[k, k]))
    below = _size(a[k + 1 :, k])
    largest = float(below.max()) if n > k + 1 else 0.0
    if max(here, largest) == 0:
        return None
    if here >= _ALPHA * largest:
        return k, 1
    row = k + 1 + int(below.argmax())
    beside = [float(v) for part in (a[row, k:row], a[row + 1 :, row]) if len(part) for v in (_size(part).max(),)]
    most = max(beside)
    if here >= _ALPHA * largest * (largest / most):
        return k, 1
    there = float(abs(a[row, row].real) if hermitian else _size(a[row, row]))
    return (row, 1) if there >= _ALPHA * most else (row, 2)


def _swap(a: Any, k: int, at: int, step: int, hermitian: bool) -> None:
    """Exchanges rows and columns of the lower triangle: the block's last one with ``at``."""
    last = k + step - 1
    if at == last:
        return
    a[at + 1 :, [last, at]] = a[at + 1 :, [at, last]]
    column, row = a[last + 1 : at, last].copy(), a[at, last + 1 : at].copy()
    a[last + 1 : at, last], a[at, last + 1 : at] = (row.conj(), column.conj()) if hermitian else (row, column)
    if hermitian:
        a[at, last] = a[at, last].conj()
    a[last, last], a[at, at] = a[at, at].copy(), a[last, last].copy()
    if step == 2:
        a[k + 1, k], a[at, k] = a[at, k].copy(), a[k + 1, k].copy()


def _block(a: Any, k: int, step: int, hermitian: bool) -> Any:
    """The diagonal block of D at ``k``."""
    if step == 1:
        return a[k : k + 1, k : k + 1]
    block = a[k : k + 2, k : k + 2].copy()
    block[0, 1] = block[1, 0].conj() if hermitian else block[1, 0]
    return block


def _factor(xp: Any, a: Any, hermitian: bool) -> tuple[Any, int]:
    """Factors one lower triangle in place; its pivots (from 1, negative for 2x2 blocks) and the first zero block."""
    n = len(a)
    pivots, info, k = xp.zeros(n, "int32"), 0, 0
    while k < n:
        found = _pivot(a, k, hermitian)
        at, step = found if found is not None else (k, 1)
        if found is None:
            info = info or k + 1
        else:
            _swap(a, k, at, step, hermitian)
            rest, end = slice(k + step, n), k + step
            if hermitian:
                for i in range(k, end):
                    a[i, i] = a[i, i].real
            columns = a[rest, k:end].copy()
            scaled = xp.linalg.solve(_block(a, k, step, hermitian).T, columns.T).T  # columns · D⁻¹
            a[rest, rest] -= xp.tril(xp.matmul(scaled, columns.conj().T if hermitian else columns.T))
            a[rest, k:end] = scaled
        pivots[k : k + step] = at + 1 if step == 1 else -(at + 1)
        k += step
    return pivots, info


def _ldl_shape(self: Any) -> Any:
    check_matrix("torch.linalg.ldl_factor_ex", self, True)
    return [tuple(self.shape), tuple(self.shape[:-1]), tuple(self.shape[:-2])]


@op("linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)",
    shape=_ldl_shape, dtype=lambda self: (self.dtype, [self.dtype, _core.int32, _core.int32]), differentiable=(0,), out=True,
    grad={"self": underived("linalg_ldl_factor_ex")}, order=("columns", None, None), native="ldl_factor", **_LINALG, out_dtype="structured", out_error_name="aten::linalg_ldl_factor_ex")  # fmt: skip
def linalg_ldl_factor_ex(xp, self, hermitian, check_errors):
    """L (below the diagonal) and D of P A Pᵀ = L D Lᵀ (Lᴴ if ``hermitian``), as LAPACK's sytrf packs them."""
    n = self.shape[-1]
    hermitian = hermitian and self.dtype.kind == "c"
    count = math.prod(self.shape[:-2])
    stack = xp.tril(self).reshape(count, n, n).copy()
    pivots, info = xp.zeros((len(stack), n), "int32"), xp.zeros(len(stack), "int32")
    for i, a in enumerate(stack):
        pivots[i], info[i] = _factor(xp, a, hermitian)
    if check_errors and bool((info > 0).any()):
        raise RuntimeError(f"torch.linalg.ldl_factor_ex: Unknown error code: {int(info.max())}.")
    return stack.reshape(self.shape), pivots.reshape(self.shape[:-1]), info.reshape(self.shape[:-2])


@composite(
    "linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
    out=True,
    **_LINALG,
    out_dtype="structured",
    out_error_name="aten::linalg_ldl_factor_ex",
)
def linalg_ldl_factor(self, hermitian):
    """``torch.linalg.ldl_factor_ex`` without info. RuntimeError for a matrix whose D is singular."""
    packed, pivots, info = aten.linalg_ldl_factor_ex(self, hermitian=hermitian)
    if not info.is_meta and bool((info > 0).any()):
        raise RuntimeError(f"torch.linalg.ldl_factor: Unknown error code: {int(info.max())}.")
    return packed, pivots


def _check_solve(LD: Any, pivots: Any, B: Any) -> None:
    name = "torch.linalg.ldl_solve"
    check_matrix(name, LD, True)
    if LD.shape[-1] != B.size(-2):
        n, (rows, columns) = LD.shape[-1], B.shape[-2:]
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {n} by {n} but each b matrix is {rows} by {columns}"
        )
    if pivots.is_floating_point() or pivots.is_complex() or pivots.dtype is _core.bool:
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {type_name(pivots.dtype)}")
    if tuple(pivots.shape) != tuple(LD.shape[:-1]):
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape {list(pivots.shape)} instead"
        )
    if LD.dtype != B.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {type_name(B.dtype)} and A of type {type_name(LD.dtype)} "
            "instead."
        )


def _solve_shape(LD: Any, pivots: Any, B: Any) -> Any:
    _check_solve(LD, pivots, B)
    return (*_core.broadcast_shapes([LD.shape[:-2], B.shape[:-2]]), *B.shape[-2:])


def _solve(xp: Any, a: Any, pivots: list[int], x: Any, hermitian: bool) -> None:
    """Solves one system in place: down through P L, the blocks of D, and up through Lᵀ Pᵀ."""
    n, k, blocks = len(a), 0, []
    while k < n:
        step = 1 if pivots[k] > 0 else 2
        last, at = k + step - 1, abs(pivots[k]) - 1
        x[[last, at]] = x[[at, last]]
        x[k + step :] -= xp.matmul(a[k + step :, k : k + step], x[k : k + step])
        x[k : k + step] = xp.linalg.solve(_block(a, k, step, hermitian), x[k : k + step])
        blocks.append((k, step, last, at))
        k += step
    for k, step, last, at in reversed(blocks):
        columns = a[k + step :, k : k + step].T
        x[k : k + step] -= xp.matmul(columns.conj() if hermitian else columns, x[k + step :])
        x[[last, at]] = x[[at, last]]


@op("linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor", shape=_solve_shape,
    dtype=lambda LD: LD.dtype, keep=("pivots",), out=True,
    grad={"LD": underived("linalg_ldl_solve"), "B": underived("linalg_ldl_solve")}, order=("columns",), native="ldl_solve", **_LINALG, out_dtype="structured", out_error_name="aten::linalg_ldl_solve")  # fmt: skip
def linalg_ldl_solve(xp, LD, pivots, B, hermitian):
    """X of A X = B, from the factors that ldl_factor gives."""
    n = LD.shape[-1]
    lead = xp.broadcast(xp.empty(LD.shape[:-2]), xp.empty(B.shape[:-2])).shape
    count = math.prod(lead)
    factors = xp.broadcast_to(LD, (*lead, n, n)).reshape(count, n, n)
    places = xp.broadcast_to(pivots, (*lead, n)).reshape(count, n).tolist()
    out = xp.array(xp.broadcast_to(B, (*lead, *B.shape[-2:])))
    stack = out.reshape(count, *B.shape[-2:])
    for a, place, x in zip(factors, places, stack, strict=True):
        _solve(xp, a, place, x, hermitian and a.dtype.kind == "c")
    return stack.reshape(out.shape)
