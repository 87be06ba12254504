"""``torch.nn.attention.bias``: masks for scaled_dot_product_attention that are kept as sizes, not as tensors."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.nn import functional as F
from shim_torch.nn.attention._utils import _calculate_scale, _validate_sdpa_input  # noqa: F401  (asked for here too)

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """Where the diagonal of a causal mask begins."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(_core.Tensor):
    """A causal mask of (seq_len_q, seq_len_kv) for ``attn_mask``, known by its variant and sizes."""

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be CausalVariant, got {type(variant)}")
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!", stacklevel=2
            )

    def _upper_left(self, device: Any) -> Any:
        return _mask(self.seq_len_q, self.seq_len_kv, 0, device)

    def _lower_right(self, device: Any) -> Any:
        return _mask(self.seq_len_q, self.seq_len_kv, self.seq_len_kv - self.seq_len_q, device)

    def _materialize(self, device: Any = None) -> Any:
        """The mask as a boolean tensor: True where attention is allowed."""
        upper = self.variant == CausalVariant.UPPER_LEFT
        return self._upper_left(device) if upper else self._lower_right(device)

    def _written_out(self, query: Any, key: Any, value: Any) -> Any:
        """The mask as a tensor for these inputs; None for the upper-left variant, which kernels build themselves."""
        if self.variant == CausalVariant.UPPER_LEFT or self.seq_len_q == self.seq_len_kv:
            return None
        _validate_sdpa_input(query, key, value)
        return self._materialize(query.device)

    @staticmethod
    def _dispatch(
        query: Any,
        key: Any,
        value: Any,
        attn_mask: CausalBias,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Any:
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        mask = attn_mask._written_out(query, key, value)
        return F.scaled_dot_product_attention(
            query, key, value, mask, dropout_p, mask is None, scale=scale, enable_gqa=enable_gqa
        )

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Sequence[Any], args: Sequence[Any] = (), kwargs: Mapping[Any, Any] | None = None
    ) -> Any:
        kwargs = {} if kwargs is None else kwargs
        if func is F.scaled_dot_product_attention:
            return cls._dispatch(*args, **kwargs)
        return super().__torch_function__(func, types, args, kwargs)  # type: ignore[misc]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return repr(self._materialize())


def _mask(rows: int, columns: int, diagonal: int, device: Any) -> Any:
    import shim_torch

    return shim_torch.ones(rows, columns, device=device, dtype=shim_torch.bool).tril(diagonal)


def causal_upper_left(*size: int) -> CausalBias:
    """The causal mask of (seq_len_q, seq_len_kv) whose diagonal begins in the upper left corner."""
    if len(size) != 2:
        raise AssertionError("causal_upper_left only supports 2D tensors")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size: int) -> CausalBias:
    """The causal mask of (seq_len_q, seq_len_kv) whose diagonal ends in the lower right corner."""
    if len(size) != 2:
        raise AssertionError("causal_lower_right only supports 2D tensors")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
