"""Ranks, condition numbers and least squares."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import differentiated
from shim_torch._impl.records.shared.matrices import LinAlgError, epsilon, rank_tolerances, refuse_complex_tolerances
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, direct
from shim_torch._impl.table.rules import no_meta_kernel

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)

_LINALG: dict[str, Any] = {"module": "linalg", "method": False, "overlap": "unchecked"}


def _full_precision(a: Any) -> None:
    if a.dtype not in (_core.float32, _core.float64, _core.complex64, _core.complex128):
        raise RuntimeError("This function doesn't handle types other than float and double")


def _singular_values(a: Any, hermitian: bool) -> Any:
    return aten.linalg_eigvalsh(a).abs() if hermitian else aten.linalg_svdvals(a)


def _limit(values: Any, atol: Any, rtol: Any) -> Any:
    largest = values.amax(-1, keepdim=True) if values.size(-1) else values
    a, r = (t.unsqueeze(-1) if isinstance(t, _core.TensorBase) else t for t in (atol, rtol))
    limit = largest * r
    return limit.clamp(min=a) if not isinstance(a, _core.TensorBase) else limit.maximum(a.to(limit.dtype))


def _rank(name: str, a: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    if a.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor input must have at least 2 dimensions.")
    _full_precision(a)
    if a.numel() == 0:
        return torch.zeros(a.shape[:-2], dtype=_core.int64, device=a.device)
    values = _singular_values(a.detach(), hermitian)
    atol, rtol = rank_tolerances(a, atol, rtol)
    return (values > _limit(values, atol, rtol)).sum(-1)


_NAME = "torch.linalg.matrix_rank"


@composite("linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor", autocast="float32_cpu",
           out=True, never_differentiable=True, **_LINALG, cast_error="torch.linalg.matrix_rank: Expected result to be safely castable from {R} dtype, but got result with dtype {O}")  # fmt: skip
def matrix_rank_tensors(input, atol, rtol, hermitian):
    """How many singular values exceed max(atol, rtol · largest)."""
    refuse_complex_tolerances(_NAME, atol=atol, rtol=rtol)
    return _rank(_NAME, input, atol, rtol, hermitian)


@composite("linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor", autocast="float32_cpu",
           out=True, never_differentiable=True, **_LINALG, cast_error="torch.linalg.matrix_rank: Expected result to be safely castable from {R} dtype, but got result with dtype {O}")  # fmt: skip
def matrix_rank_floats(self, atol, rtol, hermitian):
    """How many singular values exceed max(atol, rtol · largest), with numbers for tolerances."""
    return _rank(_NAME, self, atol, rtol, hermitian)


@composite(
    "linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
    autocast="float32_cpu",
    out=True,
    never_differentiable=True,
    **_LINALG,
    cast_error="torch.linalg.matrix_rank: Expected result to be safely castable from {R} dtype, but got result with dtype {O}",
)
def matrix_rank(self, tol, hermitian):
    """How many singular values exceed ``tol``."""
    return _rank(_NAME, self, tol, 0.0, hermitian)


@composite(
    "linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor",
    autocast="float32_cpu",
    out=True,
    never_differentiable=True,
    **_LINALG,
    cast_error="torch.linalg.matrix_rank: Expected result to be safely castable from {R} dtype, but got result with dtype {O}",
)
def matrix_rank_tensor(input, tol, hermitian):
    """How many singular values exceed ``tol``, which has a value for each matrix."""
    return _rank(_NAME, input, tol, 0.0, hermitian)


# --- least squares --------------------------------------------------------------------------------------------------


def _check_least_squares(a: Any, b: Any, driver: Any) -> bool:
    """Whether ``b`` is a vector (a batch of them)."""
    name = "torch.linalg.lstsq"
    if a.dim() < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if b.dim() < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {_core.scalar_name(a.dtype)} and other's "
            f"dtype {_core.scalar_name(b.dtype)}"
        )
    _full_precision(a)
    difference = a.dim() - b.dim()
    if difference not in (0, 1):
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    vector = a.dim() > 1 and difference == 1 and tuple(b.shape) == tuple(a.shape[:-1])
    at = -1 if vector or b.dim() == 1 else -2
    if a.shape[-2] != b.shape[at]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({at})")
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    return vector or b.dim() == 1


def _in_columns(solution: Any, rows: int) -> Any:
    """The solution as LAPACK leaves it: by columns, where the right-hand sides of ``rows`` elements were."""
    missing = rows - solution.size(-2)
    by_columns = solution.mT.contiguous()
    if missing:
        by_columns = aten.constant_pad_nd(by_columns, [0, missing]).narrow(-1, 0, solution.size(-2))
    return by_columns.mT


def _for_lapack(a: Any, b: Any) -> bool:
    plain = a.device.type == "cpu" and a.numel() and b.numel() and a.shape[:-2] == b.shape[:-2]
    return bool(plain) and not differentiated(a, b)


@direct("_lstsq_of(Tensor self, Tensor b, float rcond, str driver) -> (Tensor solution, Tensor rank, Tensor singular_values)",
        function=False, method=False, native="lstsq")  # fmt: skip
def _lstsq_of(self, b, rcond, driver):
    """The solution in the first of max(m, n) rows (the residuals' parts below it), ranks, and the singular values of gelsd and gelss."""
    m, n = self.shape[-2:]
    values = _singular_values(self, False)
    rank = (values > _limit(values, 0.0, rcond)).sum(-1)
    _check_rank(rank, driver, min(m, n))
    inverse = aten.linalg_pinv(self, max(rcond, 0.0), False)
    solution = inverse @ b
    if m > n:  # what is left over, as one row of its length
        left = (b - self @ solution).abs().square().sum(-2, keepdim=True).sqrt().to(self.dtype)
        solution = aten.constant_pad_nd(torch.cat([solution, left], -2), [0, 0, 0, m - n - 1])
    return (
        solution,
        rank if driver != "gels" else rank.reshape(-1)[:0],
        values if driver in ("gelsd", "gelss") else values.reshape(-1)[:0],
    )


def _check_rank(rank: Any, driver: str, full: int) -> None:
    if driver == "gels" and bool((rank < full).any()):
        raise LinAlgError(
            "torch.linalg.lstsq: The least squares solution could not be computed because the input matrix does not have full rank "
            f"(error code: {int(rank.min()) + 1})."
        )


def _by_lapack(a: Any, b: Any, rcond: float, driver: str, vector: bool) -> Any:
    m, n = a.shape[-2:]
    rows, rank, values = aten._lstsq_of(a, b, rcond, driver)
    solution = rows.narrow(-2, 0, n)
    residuals = values.new_zeros((0,))
    if m > n and driver != "gelsy" and (driver == "gels" or bool((rank == n).all())):
        residuals = rows.narrow(-2, n, m - n).abs().square().sum(-2)
    return solution.squeeze(-1) if vector else solution, residuals, rank, values


@composite("linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)", autocast="float32_cpu", gradient_name="LinalgLstsqBackward0",
           out=True, **_LINALG, cast_error="torch.linalg.lstsq: Expected solution to be safely castable from {R} dtype, but got solution with dtype {O}", out_order="contiguous_when_resized")  # fmt: skip
def linalg_lstsq(self, b, rcond, driver):
    """X of least ‖self · X - b‖; residuals where the system has more rows than columns and full rank."""
    vector = _check_least_squares(self, b, driver)
    if self.is_meta:
        raise no_meta_kernel("linalg_lstsq.out")
    driver = "gelsy" if driver is None else driver
    right = b.unsqueeze(-1) if vector else b
    m, n = self.shape[-2:]
    rcond = epsilon(self) * max(m, n) if rcond is None else rcond
    if _for_lapack(self, right):
        return _by_lapack(self, right, rcond, driver, vector)
    inverse = aten.linalg_pinv(self, max(rcond, 0.0), False)
    solution = inverse @ right
    real = self.dtype.to_real() if self.is_complex() else self.dtype
    none = self.new_zeros((0,), dtype=real)
    values = _singular_values(self.detach(), False)
    rank = (values > _limit(values, 0.0, rcond)).sum(-1)
    if self.numel():
        _check_rank(rank, driver, min(m, n))
    full = driver == "gels" or bool((rank == n).all())
    residuals = solution.reshape(-1)[:0]
    residuals = residuals.real if residuals.is_complex() else residuals
    if m > n and full and driver != "gelsy":
        residuals = (right - self @ solution).abs().square().sum(-2)
    return (
        solution.squeeze(-1) if vector else _in_columns(solution, max(m, n)),
        residuals,
        rank if driver != "gels" else none.long(),
        values if driver in ("gelsd", "gelss") else none.real,
    )


# --- condition ------------------------------------------------------------------------------------------------------

_INF = float("inf")


def _condition_by_inverse(self: Any, p: Any) -> Any:
    if self.shape[-1] != self.shape[-2]:
        shown = {_INF: "inf", -_INF: "-inf"}.get(p, p)
        raise RuntimeError(
            f"linalg.cond(ord={shown}): A must be batches of square matrices, but they are {self.shape[-2]} by "
            f"{self.shape[-1]} matrices"
        )
    inverse, info = aten.linalg_inv_ex(self)
    norm = aten.linalg_matrix_norm
    inverse = inverse.masked_fill(
        (info > 0).unsqueeze(-1).unsqueeze(-1), 0
    )  # there is none: the singular values of it neither
    found = norm(self, p) * norm(inverse, p)
    return found.masked_fill(info > 0, _INF)


@composite(
    "linalg_cond(Tensor self, Scalar? p=None) -> Tensor",
    autocast="float32_cpu",
    out=True,
    **_LINALG,
    cast_error="linalg.cond: Expected result to be safely castable from {R} dtype, but got result with dtype {O}",
    writes_out_last=True,
)
def linalg_cond(self, p):
    """norm(A) · norm(A⁻¹); None and 2 divide the largest singular value by the smallest, -2 the other way."""
    if self.dim() < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p is None or abs(p) == 2:
        values = aten.linalg_svdvals(self)
        if self.numel() == 0:
            return values.new_zeros(self.shape[:-2])
        found = values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
        return found
    if abs(p) not in (1, _INF):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    return _condition_by_inverse(self, p)


@composite(
    "linalg_cond.p_str(Tensor self, str p) -> Tensor",
    autocast="float32_cpu",
    out=True,
    **_LINALG,
    cast_error="linalg.cond: Expected result to be safely castable from {R} dtype, but got result with dtype {O}",
    writes_out_last=True,
)
def linalg_cond_named(self, p):
    """norm(A) · norm(A⁻¹) in the Frobenius ("fro") or nuclear ("nuc") norm; infinity for a singular matrix."""
    if self.dim() < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    return _condition_by_inverse(self, p)
