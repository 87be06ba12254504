"""Householder reflections: geqrf, orgqr, ormqr."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import differentiated
from shim_torch._impl.records.shared.matrices import adjoint, check_matrix, cuda_linalg, on_cuda, swapped
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, direct, op
from shim_torch._impl.table.rules import type_name

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)

_LINALG: dict[str, Any] = {"module": "linalg", "method": False, "overlap": "unchecked"}


def _of_lapack(dtype: Any) -> bool:
    return dtype in (_core.float32, _core.float64, _core.complex64, _core.complex128)


def _check_tau(name: str, input: Any, tau: Any) -> None:
    if input.dim() - tau.dim() != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.dim()} and "
            f"input.ndim is equal to {input.dim()}"
        )
    if tau.shape[:-1] != input.shape[:-2]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )


@composite(
    "linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
    autocast="float32_cpu",
    gradient_name="LinalgHouseholderProductBackward0",
    out=True,
    **_LINALG,
    cast_error="torch.linalg.householder_product: Expected result to be safely castable from {R} dtype, but got result with dtype {O}",
    out_order="contiguous_when_resized",
)
def linalg_householder_product(input, tau):
    """The first n columns of the product of the reflections that ``geqrf`` packs below the diagonal."""
    name = "torch.linalg.householder_product"
    if input.dim() < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    m, n = input.shape[-2:]
    if m < n:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if n < tau.shape[-1]:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    _check_tau(name, input, tau)
    if tau.dtype != input.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {type_name(tau.dtype)} does not match input dtype {type_name(input.dtype)}"
        )
    if input.device.type == "cpu" and not _of_lapack(input.dtype):
        raise NotImplementedError(f"\"orgqr_cpu\" not implemented for '{_core.scalar_name(input.dtype)}'")
    if input.numel() and tau.numel() and not differentiated(input, tau):
        return aten._householder_of(input, tau)
    return _product_of_reflections(input, tau)


def _product_of_reflections(input: Any, tau: Any) -> Any:
    m, n = input.shape[-2:]
    eye = torch.eye(m, n, dtype=input.dtype, device=input.device)
    x = eye.expand(*input.shape[:-2], m, n)
    if not tau.size(-1) or not n:  # constant, but still a function of the input
        x = x + input.masked_fill(torch.ones_like(input, dtype=_core.bool), 0)
    below = input.tril(-1) + eye
    for k in reversed(range(tau.size(-1))):
        v = below[..., k : k + 1]
        x = x - tau[..., k].unsqueeze(-1).unsqueeze(-1) * (v @ (adjoint(v) @ x))
    return x.mT.contiguous().mT  # as LAPACK writes it


@op("_householder_of(Tensor input, Tensor tau) -> Tensor", shape=lambda input: tuple(input.shape), dtype=lambda input: input.dtype,
    order=("columns",), function=False, method=False, native="householder")  # fmt: skip
def _householder_of(xp, input, tau):
    if on_cuda(input):
        return cuda_linalg().householder_product(input, tau)
    m, n = input.shape[-2:]
    below = xp.tril(input, -1) + xp.eye(m, n, dtype=input.dtype)
    x = xp.broadcast_to(xp.eye(m, n, dtype=input.dtype), input.shape)
    for k in reversed(range(tau.shape[-1])):
        v = below[..., k : k + 1]
        x = x - tau[..., k, None, None] * xp.matmul(v, xp.matmul(swapped(xp, v).conj(), x))
    return x


@composite(
    "orgqr(Tensor self, Tensor input2) -> Tensor", autocast="float32_cpu", out=True, out_order="contiguous_when_resized"
)
def orgqr(self, input2):
    """``torch.linalg.householder_product`` by LAPACK's name: the first columns of the product of reflections."""
    return linalg_householder_product(self, input2)


def _geqrf_dtype(self: Any) -> Any:
    if self.dim() < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    return check_matrix("torch.geqrf", self)


@op("geqrf(Tensor self) -> (Tensor a, Tensor tau)", autocast="float32_cpu",
    shape=lambda self: (_geqrf_dtype(self), [tuple(self.shape), (*self.shape[:-2], min(self.shape[-2:]))])[1],
    dtype=lambda self: (_geqrf_dtype(self), [self.dtype] * 2), out=True, order=("columns", None), native="geqrf", refuses=(("bil", "geqrf_cpu"),), out_order="contiguous_when_resized")  # fmt: skip
def geqrf(xp, self):
    """Householder's reflections below the diagonal, R on and above it, and their scales (LAPACK's conventions)."""
    if on_cuda(self):
        return cuda_linalg().geqrf(self)
    a, (m, n) = self.copy(), self.shape[-2:]
    k = min(m, n)
    tau = xp.zeros((*self.shape[:-2], k), self.dtype)
    for j in range(k):
        x = a[..., j:, j]
        alpha = x[..., 0].copy()
        rest = xp.sqrt((xp.abs(x[..., 1:]) ** 2).sum(-1))
        size = xp.sqrt(xp.abs(alpha) ** 2 + rest**2)
        beta = xp.where(alpha.real > 0, -size, size).astype(self.dtype)
        plain = (rest == 0) & (alpha.imag == 0)
        beta = xp.where(plain, alpha, beta)
        safe = xp.where(plain, xp.ones((), self.dtype), beta)
        scale = xp.where(plain, xp.zeros((), self.dtype), (beta - alpha) / safe)
        below = xp.where(plain, xp.ones((), self.dtype), alpha - beta)
        v = x / below[..., None]
        v[..., 0] = 1
        block = a[..., j:, j + 1 :]
        inner = xp.matmul(v.conj()[..., None, :], block)
        a[..., j:, j + 1 :] = block - scale.conj()[..., None, None] * v[..., :, None] * inner
        a[..., j + 1 :, j] = v[..., 1:]
        a[..., j, j] = beta
        tau[..., j] = scale
    return a, tau


def _check_ormqr(self: Any, tau: Any, other: Any, left: bool) -> None:
    for what, t in (("input", self), ("other", other)):
        if t.dim() < 2:
            raise RuntimeError(f"torch.ormqr: {what} must have at least 2 dimensions.")
    if self.dim() != other.dim() and self.dim() - tau.dim() == 1:
        raise RuntimeError(
            "torch.ormqr: Expected other to have the same number of dimensions as input, but got other.ndim equal to "
            f"{other.dim()} and input.ndim is equal to {self.dim()}"
        )
    if self.dim() == other.dim() and other.shape[:-2] != self.shape[:-2] and tau.shape[:-1] == self.shape[:-2]:
        raise RuntimeError(
            "torch.ormqr: Expected batch dimensions of other to be equal to input.shape[:-2], but got "
            f"{list(other.shape[:-2])}"
        )
    side = -2 if left else -1
    if other.size(side) < tau.size(-1):
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be greater than or equal to tau.shape[-1]")
    if tau.dim() and tau.size(-1) != min(other.size(side), self.size(-1)) and self.dim() - tau.dim() == 1:
        raise RuntimeError(f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    if other.size(side) != self.size(-2):
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    _check_tau("torch.ormqr", self, tau)
    for what, t in (("tau", tau), ("other", other)):
        if t.dtype != self.dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {what} to have the same dtype, but input has dtype{type_name(self.dtype)} and "
                f"{what} has dtype {type_name(t.dtype)}"
            )


@composite(
    "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor",
    autocast="float32_cpu",
    gradient_name="OrmqrBackward0",
    out=True,
    forward_error_name="ormqr",
    out_dtype="torch.ormqr: Expected input and result to have the same dtype, but input has dtype{R} and result has dtype {O}",
    out_order="contiguous_when_resized",
)
def ormqr(self, input2, input3, left, transpose):
    """The full Q of packed reflections times ``input3``."""
    _check_ormqr(self, input2, input3, left)
    if self.device.type == "cpu" and not _of_lapack(self.dtype):
        raise NotImplementedError(f"\"ormqr_cpu\" not implemented for '{_core.scalar_name(self.dtype)}'")
    if input3.numel() and input2.numel() and self.device.type == "cpu" and not differentiated(self, input2, input3):
        return aten._ormqr_of(self, input2, input3, left, transpose)
    return _times_full_q(self, input2, input3, left, transpose)


@direct("_ormqr_of(Tensor self, Tensor tau, Tensor other, bool left, bool transpose) -> Tensor", function=False, method=False,
        native="ormqr")  # fmt: skip
def _ormqr_of(self, tau, other, left, transpose):
    return _times_full_q(self, tau, other, left, transpose)


def _times_full_q(self: Any, input2: Any, input3: Any, left: bool, transpose: bool) -> Any:
    m = self.size(-2)
    wide = self
    if self.size(-1) < m:
        wide = torch.cat([self, self.new_zeros((*self.shape[:-1], m - self.size(-1)))], -1)
    Q = linalg_householder_product(wide[..., :m], input2)
    Q = adjoint(Q) if transpose else Q
    product = Q @ input3 if left else input3 @ Q
    return product.mT.contiguous().mT  # as LAPACK writes it
