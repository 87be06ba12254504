"""Attention of float8 queries, keys and values that carry a scale for each head."""

from __future__ import annotations

import warnings
from enum import IntEnum
from typing import Any

from shim_torch._impl.native import _core

__all__ = ["DescaleType"]


class DescaleType(IntEnum):
    """What one scale is for."""

    PER_HEAD = 0  # of shape (batch, key-value heads)


def _checked(descale: Any, name: str, query: Any, key: Any) -> None:
    if descale is None:
        return
    if descale.dtype != _core.float32:
        raise ValueError(f"{name}_descale must have dtype float32, got {descale.dtype}")
    if descale.dim() != 2:
        raise ValueError(
            f"{name}_descale must be a 2D tensor with shape (batch_size, num_kv_heads) for PER_HEAD descaling, got "
            f"{descale.dim()}D tensor"
        )
    for dim, what, size, expected in (
        (0, "batch dimension must match query batch size", descale.size(0), query.size(0)),
        (1, "head dimension must match num_kv_heads", descale.size(1), key.size(1)),
    ):
        if size != expected:
            raise ValueError(f"{name}_descale {what}, expected {expected}, got {descale.size(dim)}")


def _unscaled(x: Any, descale: Any) -> Any:
    """In float32; the scales of key-value heads serve groups of query heads."""
    x = x.float()
    if descale is None:
        return x
    return x * descale.repeat_interleave(x.size(1) // descale.size(1), 1)[:, :, None, None]


def _scaled_dot_product_attention_quantized(
    query: Any,
    key: Any,
    value: Any,
    is_causal: bool = False,
    scale: float | None = None,
    q_descale: Any = None,
    k_descale: Any = None,
    v_descale: Any = None,
    q_descale_type: DescaleType = DescaleType.PER_HEAD,
    k_descale_type: DescaleType = DescaleType.PER_HEAD,
    v_descale_type: DescaleType = DescaleType.PER_HEAD,
) -> Any:
    """``query`` (N, Hq, L, E), ``key`` and ``value`` (N, H, S, E) in float8_e4m3fn; gives (N, Hq, L, Ev) in bfloat16.

    Computed in float32 on every device (PyTorch has a kernel for Hopper alone). It has no gradient. ValueError for
    scales of another dtype or shape.
    """
    from shim_torch.nn import functional

    for descale, name in ((q_descale, "q"), (k_descale, "k"), (v_descale, "v")):
        _checked(descale, name, query, key)
    if _core.is_grad_enabled() and any(x.requires_grad for x in (query, key, value)):
        warnings.warn(
            "_scaled_dot_product_attention_quantized does not support backward pass. Gradients will not be computed for "
            "query, key, or value.",
            UserWarning,
            stacklevel=2,
        )
    q, k, v = _unscaled(query, q_descale), _unscaled(key, k_descale), _unscaled(value, v_descale)
    attended = functional.scaled_dot_product_attention(
        q.detach(), k.detach(), v.detach(), is_causal=is_causal, scale=scale, enable_gqa=q.size(1) != k.size(1)
    )
    return attended.bfloat16()
