"""What ``nn.MultiheadAttention`` and ``nn.TransformerEncoderLayer`` run in inference in PyTorch: whole layers as one operator."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite

_PRIVATE: dict[str, Any] = {"method": False}


@composite("_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor", **_PRIVATE)
def _masked_softmax(self, mask, dim, mask_type):
    """Softmax of (B, H, T, S) where the mask is False; mask_type: 0 (T, S) of the source, 1 (B, S) of padding, 2 any shape."""
    if mask_type is None:
        raise RuntimeError("Mask Type should be defined")
    if mask_type not in (0, 1, 2):
        raise RuntimeError("Mask Type should be 0 (src_mask), 1 (src_key_padding_mask), or 2 (default_mask)")
    if mask.dtype is not _core.bool:
        raise RuntimeError("Mask should be a boolean tensor")
    if mask_type == 1 and mask.dim() == 2:
        mask = mask.reshape(mask.shape[0], *[1] * (self.dim() - 2), mask.shape[1])
    hidden = self.masked_fill(mask, -math.inf)
    return hidden.softmax(self.dim() - 1 if dim is None else dim)


@composite(
    "_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int num_heads) -> (Tensor, Tensor, Tensor)", **_PRIVATE
)
def _transform_bias_rescale_qkv(qkv, qkv_bias, num_heads):
    """(B, T, 3 · D) with its bias as queries, keys and values (B, heads, T, D / heads); the queries are scaled."""
    width = qkv_bias.shape[0] // 3
    if num_heads == 0 or width % num_heads:
        raise RuntimeError(
            "Expected D % num_head == 0 to be true, but got false.  (Could this error message be improved?  If so, please "
            "report an enhancement request to PyTorch.)"
        )
    each = width // num_heads
    parts = (qkv + qkv_bias).reshape(*qkv.shape[:2], 3, num_heads, each).permute(2, 0, 3, 1, 4)
    q, k, v = (part.contiguous() for part in parts.unbind(0))
    return q / math.sqrt(each), k, v


def _check_attention(query: Any, key: Any, value: Any, embed_dim: int, heads: int, weight: Any, bias: Any) -> None:
    for name, t in (("query", query), ("key", key), ("value", value)):
        if t.dim() != 3:
            raise RuntimeError(f"expected 3-D `{name}`, got {t.dim()}-D tensor")
    if query.shape[2] != embed_dim:
        raise RuntimeError(f"passed-in embed_dim {embed_dim} didn't match last dim of query {query.shape[2]}")
    if weight.dim() != 2:
        raise RuntimeError(f"expected 2-D `qkv_weight`, got {weight.dim()}-D tensor")
    if 3 * embed_dim != weight.shape[0]:
        raise RuntimeError("expected `qkv_weight` first dim to be 3x embed_dim")
    if weight.shape[1] != embed_dim:
        raise RuntimeError("expected `qkv_weight` second dim to be embed_Dim")
    if bias.dim() != 1:
        raise RuntimeError(f"expected 1-D `qkv_bias`, got {bias.dim()}-D tensor")
    if bias.shape[0] != 3 * embed_dim:
        raise RuntimeError("expected `qkv_bias` first dim and first dim of query to be equal")
    if heads == 0 or embed_dim % heads:
        raise RuntimeError("`embed_dim` must divide evenly by `num_heads`")


@composite(
    "_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)",
    **_PRIVATE,
)
def _native_multi_head_attention(
    query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, need_weights,
    average_attn_weights, mask_type,
):  # fmt: skip
    """(attention of (B, T, D) projected in and out, its weights (B, T, S), or by head; None when not needed)."""
    _check_attention(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias)
    linear = aten.linear
    if query is key and key is value:
        together = linear(query, qkv_weight)
        q, k, v = _transform_bias_rescale_qkv(together, qkv_bias, num_head)
    else:
        made = []
        for x, w, b in zip((query, key, value), qkv_weight.chunk(3), qkv_bias.chunk(3), strict=True):
            made.append(linear(x, w, b).unflatten(-1, (num_head, embed_dim // num_head)).transpose(1, 2))
        q, k, v = made[0] / math.sqrt(embed_dim // num_head), made[1], made[2]
    scores = q @ k.transpose(-1, -2)
    weights = scores.softmax(-1) if mask is None else _masked_softmax(scores, mask, 3, mask_type)
    context = (weights @ v).transpose(1, 2).reshape(query.shape[0], query.shape[1], embed_dim)
    output = linear(context, proj_weight, proj_bias)
    if not need_weights:
        return output, None
    return output, weights.mean(1) if average_attn_weights else weights


@composite(
    "_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor",
    **_PRIVATE,
)
def _transformer_encoder_layer_fwd(
    src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps, norm_weight_1,
    norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2, mask, mask_type,
):  # fmt: skip
    """A layer of attention and a feed-forward net, each with a norm and a way around it."""

    def norm(x: Any, weight: Any, bias: Any) -> Any:
        return aten.layer_norm(x, (embed_dim,), weight, bias, eps)

    x = norm(src, norm_weight_1, norm_bias_1) if norm_first else src
    attention = (embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type)
    x = src + _native_multi_head_attention(x, x, x, *attention)[0]
    x = x if norm_first else norm(x, norm_weight_1, norm_bias_1)
    inner = aten.linear(norm(x, norm_weight_2, norm_bias_2) if norm_first else x, ffn_weight_1, ffn_bias_1)
    inner = aten.gelu(inner) if use_gelu else aten.relu(inner)
    x = x + aten.linear(inner, ffn_weight_2, ffn_bias_2)
    return x if norm_first else norm(x, norm_weight_2, norm_bias_2)
