"""Which forms of scaled_dot_product_attention may be chosen: switches of ``torch.backends.cuda``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from shim_torch._impl.surface import naming

_sdp = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "reduction": False, "overrideable": True}


def flash_sdp_enabled() -> bool:
    """Whether flash attention may be chosen. (Attention here has the math form only; the switches are kept and readable.)"""
    return _sdp["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Allows or forbids flash attention."""
    _sdp["flash"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Whether memory-efficient attention is allowed."""
    return _sdp["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Allows or forbids memory-efficient attention."""
    _sdp["mem_efficient"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """Whether attention by separate products and softmax is allowed."""
    return _sdp["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Allows or forbids attention by separate products and softmax."""
    _sdp["math"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Whether attention by cuDNN is allowed."""
    return _sdp["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Allows or forbids attention by cuDNN."""
    _sdp["cudnn"] = bool(enabled)


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Allows or forbids sums in the input's 16-bit dtype in ``math`` attention."""
    _sdp["reduction"] = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Whether ``math`` attention may sum in the input's 16-bit dtype."""
    return _sdp["reduction"]


def is_flash_attention_available() -> bool:
    """Whether there is a flash attention kernel: no, libraries bring theirs."""
    return False


def is_ck_sdpa_available() -> bool:
    """False: Composable Kernel is for AMD's GPUs."""
    return False


class SDPAParams:
    """The arguments of an attention call, for ``can_use_flash_attention`` and its like."""

    def __init__(
        self, query: Any, key: Any, value: Any, attn_mask: Any, dropout: float, is_causal: bool, enable_gqa: bool
    ) -> None:
        self.query, self.key, self.value, self.attn_mask = query, key, value, attn_mask
        self.dropout, self.is_causal, self.enable_gqa = dropout, is_causal, enable_gqa


def _no_kernel(params: SDPAParams, debug: bool) -> bool:
    if debug:
        import warnings

        warnings.warn("shim-torch has the math form of scaled_dot_product_attention only", stacklevel=3)
    return False


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether the call can use flash attention: False here."""
    return _no_kernel(params, debug)


def can_use_efficient_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether the call can use memory-efficient attention: False here."""
    return _no_kernel(params, debug)


def can_use_cudnn_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether the call can use cuDNN's attention: False here."""
    return _no_kernel(params, debug)


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[dict[str, bool]]:
    """The switches within a ``with`` block (older name of ``torch.nn.attention.sdpa_kernel``)."""
    old = dict(_sdp)
    _sdp.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _sdp.update(old)


naming.present(globals(), "torch.backends.cuda")
