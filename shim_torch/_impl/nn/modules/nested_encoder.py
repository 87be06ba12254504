"""Where PyTorch's encoder packs what is not padded into a nested tensor. Here it stays padded, and comes out as there."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core


def why_not_nested(layer: Any, kind: Any) -> str:
    """Why PyTorch would not use nested tensors for this layer, empty if it would."""
    if not isinstance(layer, kind):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = {
        "norm_first was True": layer.norm_first,
        "self_attn.batch_first was not True(use batch_first for better inference performance)": not attention.batch_first,
        "self_attn._qkv_same_embed_dim was not True": not attention._qkv_same_embed_dim,
        "self_attn was passed bias=False": attention.in_proj_bias is None,
        "activation_relu_or_gelu was not True": not layer.activation_relu_or_gelu,
        "norm1.eps was not equal to encoder_layer.norm2.eps": layer.norm1.eps != layer.norm2.eps,
        "self_attn.num_heads is odd": attention.num_heads % 2 == 1,
    }
    return next((f"encoder_layer.{reason}" for reason, holds in reasons.items() if holds), "")


def without_padding(out: Any, src: Any, padding: Any, layer: Any) -> Any:
    """``out`` with zeros at padded positions: for inference, where only ends are padded."""
    wants_gradient = _core.is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in layer.parameters()))
    if src.dim() != 3 or wants_gradient or _core.is_autocast_enabled(src.device.type):
        return out
    padded = padding if padding.dtype == _core.bool else padding != 0
    if bool((padded.int().diff(dim=1) < 0).any()):
        return out
    return out.masked_fill(padded.unsqueeze(-1), 0)
