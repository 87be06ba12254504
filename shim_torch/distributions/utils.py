"""``torch.distributions.utils``: parameters brought to one shape; probabilities and logits; triangles as vectors."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from numbers import Number
from operator import attrgetter
from typing import Any

import shim_torch as torch
from shim_torch.overrides import is_tensor_like

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]
euler_constant = 0.57721566490153286060


def _as_tensor(value: Any, like: Any) -> Any:
    """A number as a tensor of the dtype and device of ``like``; what is like a tensor stays as it is."""
    if is_tensor_like(value):
        return value
    if isinstance(value, Number):
        return torch.tensor(value, dtype=like.dtype, device=like.device)
    raise ValueError(
        "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
    )


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Numbers and tensors as tensors of one shape; numbers take the first tensor's dtype and device."""
    like = next((v for v in values if isinstance(v, torch.Tensor)), None)
    like = torch.empty(()) if like is None else like
    return torch.broadcast_tensors(*[_as_tensor(v, like) for v in values])


def _broadcastable(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes broadcast."""
    return all(i == j or 1 in (i, j) for i, j in zip(a[::-1], b[::-1], strict=False))


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any) -> Any:
    return torch.empty(shape, dtype=dtype, device=device).normal_()


def _open_uniform(like: Any, shape: Sequence[int]) -> Any:
    """Draws from the open interval (0, 1), of ``like``'s dtype and device."""
    found = torch.rand(shape, dtype=like.dtype, device=like.device)
    return found.clamp_(min=torch.finfo(like.dtype).tiny)


def _clipped_uniform(like: Any, shape: Sequence[int]) -> Any:
    """Draws between 0 and 1, one rounding away from both, of ``like``'s dtype and device."""
    return clamp_probs(torch.rand(shape, dtype=like.dtype, device=like.device))


def _log_gamma_density(a: Any, x: Any) -> Any:
    """log(x**(a - 1) * exp(-x) / Gamma(a))."""
    return torch.xlogy(a - 1, x) - x - torch.lgamma(a)


def _log_beta(a: Any, b: Any) -> Any:
    """The log of the beta function, Gamma(a) Gamma(b) / Gamma(a + b)."""
    return torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)


def _sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last ``dim`` dims."""
    return value if dim == 0 else value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def clamp_probs(probs: Any) -> Any:
    """Probabilities kept one rounding away from 0 and 1."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """log p, or log(p / (1 - p)) where there are two outcomes."""
    p = clamp_probs(probs)
    return p.log() - (-p).log1p() if is_binary else p.log()


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """The softmax over the last dim, or the sigmoid where there are two outcomes."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def member(path: str) -> Any:
    """A property that reads an attribute of a member, such as ``base_dist.loc``."""
    return property(attrgetter(path))


class lazy_property:
    """A property computed when first asked for, with gradients, and then kept as an attribute."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What a class answers for a lazy property, so that tools that look for properties find one."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


def _corner(size: int, diag: int, device: Any) -> Any:
    """Which elements of a square matrix lie on or below a diagonal."""
    index = torch.arange(size, device=device)
    return index < index.unsqueeze(-1) + (diag + 1)


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The elements on and below a diagonal, row by row: (..., D, D) to a vector."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _corner(n, diag, mat.device)]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """The matrix (..., D, D) whose elements on and below a diagonal are a vector's, row by row; zeros elsewhere.

    ValueError for a vector that no such triangle has as many elements as.
    """
    count = vec.shape[-1]
    # Up to the main diagonal a triangle of side m = D + diag has m (m + 1) / 2 elements; beyond it the corner above is missing.
    discriminant = 1 + 8 * count + 8 * max(diag, 0) * (diag + 1)
    size = round((math.sqrt(discriminant) - 1) / 2 - diag)
    if count < sum(min(max(row + diag + 1, 0), size) for row in range(size)):
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    matrix = vec.new_zeros((*vec.shape[:-1], size, size))  # of vec, which may be one of a batch that vmap hides
    matrix[..., _corner(size, diag, vec.device)] = vec
    return matrix
