"""Distances between vectors: cosine similarity, and p-norms of differences."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import gradient_once
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite


@composite("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor", autocast="float32_cuda")
def cosine_similarity(x1, x2, dim, eps):
    """x1·x2 / (max(‖x1‖, eps) · max(‖x2‖, eps)) over ``dim``; the inputs broadcast."""
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    dtype = _core.promote_types(x1.dtype, x2.dtype)
    if not dtype.is_floating_point:
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {_core.scalar_name(dtype)}"
        )
    a, b = aten.broadcast_tensors([x1.to(dtype), x2.to(dtype)])
    first = aten.linalg_vector_norm(a, 2, dim, True).clamp(min=eps)
    second = aten.linalg_vector_norm(b, 2, dim, True).clamp(min=eps)
    return ((a / first) * (b / second)).sum(dim)


@composite(
    "pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False) -> Tensor", method=False
)
def pairwise_distance(x1, x2, p, eps, keepdim):
    """‖x1 - x2 + eps‖ over the last dim."""
    return aten.linalg_vector_norm(x1 - x2 + eps, p, -1, keepdim)


def _distances_by_products(x1: Any, x2: Any) -> Any:
    """√(‖a‖² - 2 a·b + ‖b‖²) as one product of lengthened rows."""
    first, second = (x.square().sum(-1, keepdim=True) for x in (x1, x2))
    left = torch.cat([x1 * -2, first, torch.ones_like(first)], -1)
    right = torch.cat([x2, torch.ones_like(second), second], -1)
    return left.matmul(right.transpose(-2, -1)).clamp_min(1e-30).sqrt()


def _lengths(between: Any, p: Any) -> Any:
    found = aten.linalg_vector_norm(between, p, -1)
    if p == 0:  # the count has no gradient, distances have a zero one
        found = found + between.masked_fill(between == between, 0).sum(-1)
    return found


@composite("cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> Tensor", gradient_name=True, function=False, method=False,
    native="cdist", refuses=(("l", "cdist"),), autocast="float32", forward_error_name="_cdist_forward")  # fmt: skip
def cdist(x1, x2, p, compute_mode):
    """Distances between all rows: (*, P, M), (*, R, M) -> (*, P, R)."""
    for name, t in (("X1", x1), ("X2", x2)):
        if not t.dtype.is_floating_point:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {_core.scalar_name(t.dtype)}")
        if t.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {t.dim()}D")
    if x1.dtype != x2.dtype:
        raise RuntimeError(
            f"expected scalar type {_core.scalar_name(x1.dtype)} but found {_core.scalar_name(x2.dtype)}"
        )
    if x1.size(-1) != x2.size(-1):
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.size(-1)} X2: {x2.size(-1)}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode not in (None, 0, 1, 2):
        raise RuntimeError(f"possible modes: 0, 1, 2, but was: {compute_mode}")
    by_products = compute_mode == 1 or (compute_mode != 2 and max(x1.size(-2), x2.size(-2)) > 25)
    if p == 2 and x1.is_cuda and by_products and x1.numel() and x2.numel():
        return _distances_by_products(x1, x2)
    if p != 2 or not by_products:
        x1, x2 = gradient_once(x1, "_cdist_backward"), gradient_once(x2, "_cdist_backward")
    between = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return _lengths(between, p)


@composite(
    "pdist(Tensor self, float p=2) -> Tensor",
    gradient_name=True,
    method=False,
    autocast="float32_cuda",
    forward_error_name="_pdist_forward",
)
def pdist(self, p):
    """Distances between all pairs of rows (N, M), i < j: N (N - 1) / 2 of them."""
    if self.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.dim()}D")
    if not self.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    first, second = torch.triu_indices(self.size(0), self.size(0), 1, device=self.device).unbind(0)
    plain = (
        self.dtype in (_core.float32, _core.float64)
        and _core.unseen(self)
        and not (self.requires_grad and _core.is_grad_enabled())
    )
    if plain and first.numel() and self.size(1):
        between = aten.cdist(self, self, p, 2)  # twice the distances, by a kernel
        return between.view(-1).index_select(0, first * self.size(0) + second)
    self = gradient_once(self, "_pdist_backward")
    return _lengths(self.index_select(0, first) - self.index_select(0, second), p)
