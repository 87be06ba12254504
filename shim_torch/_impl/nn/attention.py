"""``multi_head_attention_forward``: projections, masks, attention, output projection."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nn.calls import _overridden, _override
from shim_torch._impl.table.calls import torch


def _functional() -> Any:
    from shim_torch.nn import functional

    return functional


def _mask(mask: Any, name: str, other: Any, other_name: str, dtype: Any, check_other: bool = True) -> Any:
    """The mask as floats to add to the scores: True in a bool mask becomes -inf."""
    if mask is None:
        return None
    if mask.dtype != _core.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if check_other and other is not None and mask.dtype != other.dtype:
        import warnings

        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=4,
        )
    if mask.is_floating_point():
        return mask
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(mask, -math.inf)


def _check_shapes(query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any, num_heads: int) -> bool:
    """Whether the inputs have a batch dim; AssertionError with PyTorch's text for shapes that do not fit."""
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor"
        )
    batched = query.dim() == 3
    kind = "batched (3-D)" if batched else "unbatched (2-D)"
    n = query.dim()
    if key.dim() != n or value.dim() != n:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {n}-D but found {key.dim()}-D and {value.dim()}-D tensors "
            "respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != n - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {n - 1}-D but found {key_padding_mask.dim()}-D "
            "tensor instead"
        )
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(
                f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead"
            )
        if not batched and attn_mask.dim() == 3:
            wanted = (num_heads, query.shape[0], key.shape[0])
            if tuple(attn_mask.shape) != wanted:
                raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {attn_mask.shape}")
    return batched


def _check_projections(query: Any, key: Any, value: Any, embed_dim: int, num_heads: int, separate: bool) -> int:
    given = query.shape[-1]
    if given != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {given}")
    head = given // num_heads
    if head * num_heads != given:
        raise AssertionError(f"embed_dim {given} not divisible by num_heads {num_heads}")
    if separate:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
    elif key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    return head


def _projected(
    query: Any, key: Any, value: Any, weights: Any, in_proj_weight: Any, in_proj_bias: Any
) -> tuple[Any, ...]:
    linear = _functional().linear
    if weights is None:
        weights = in_proj_weight.chunk(3)
    biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
    return tuple(linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))


def _sized_mask(attn_mask: Any, target: int, source: int, heads: int) -> Any:
    """The mask with a dim for batch · heads."""
    if attn_mask is None:
        return None
    if attn_mask.dim() == 2:
        if tuple(attn_mask.shape) != (target, source):
            raise RuntimeError(f"The shape of the 2D attn_mask is {attn_mask.shape}, but should be {(target, source)}.")
        return attn_mask.unsqueeze(0)
    if tuple(attn_mask.shape) != (heads, target, source):
        raise RuntimeError(
            f"The shape of the 3D attn_mask is {attn_mask.shape}, but should be {(heads, target, source)}."
        )
    return attn_mask


def _check_fixed(bias_k: Any, bias_v: Any, static_k: Any, static_v: Any, sizes: tuple[int, int]) -> None:
    """Checks that biases come in pairs and not with static keys, and that those are (batch · heads, *, head size)."""
    if (bias_k is None) != (bias_v is None):
        given, lacking = ("bias_k", "bias_v") if bias_v is None else ("bias_v", "bias_k")
        raise AssertionError(f"{given} is set but {lacking} is None")
    for word, fixed in (("key", static_k), ("value", static_v)):
        if fixed is not None and bias_k is not None:
            raise AssertionError(f"bias cannot be added to static {word}.")
    for name, fixed in (("static_k", static_k), ("static_v", static_v)):
        for dim, wanted in ((0, sizes[0]), (2, sizes[1])):
            if fixed is not None and fixed.size(dim) != wanted:
                raise AssertionError(f"expecting {name}.size({dim}) of {wanted}, but got {fixed.size(dim)}")


def _spread_padding(mask: Any, batch: int, heads: int, source: int) -> Any:
    """A mask (N, S) of keys as (N · heads, 1, S)."""
    for dim, wanted in enumerate((batch, source)):
        if mask.shape[dim] != wanted:
            raise AssertionError(f"Expected key_padded_mask.shape[{dim}] to be {wanted}, but got {mask.shape[dim]}")
    return mask.view(batch, 1, 1, source).expand(-1, heads, -1, -1).reshape(batch * heads, 1, source)


def _causal(attn_mask: Any, is_causal: bool, no_padding: bool, need_weights: bool, dtype: Any) -> tuple[Any, bool]:
    """The mask that is added, and whether the kernel is told to mask what lies ahead."""
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and no_padding and not need_weights:
        return None, True
    return _mask(attn_mask, "attn_mask", None, "", dtype, False), is_causal and no_padding


def multi_head_attention_forward(
    query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int, in_proj_weight: Any, in_proj_bias: Any,
    bias_k: Any, bias_v: Any, add_zero_attn: bool, dropout_p: float, out_proj_weight: Any, out_proj_bias: Any,
    training: bool = True, key_padding_mask: Any = None, need_weights: bool = True, attn_mask: Any = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Any = None, k_proj_weight: Any = None,
    v_proj_weight: Any = None, static_k: Any = None, static_v: Any = None, average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Any:  # fmt: skip
    """Attention of several heads over (L, N, E) inputs: the output, and the weights (N, L, S) if wanted."""
    if _overridden(query, key, value, in_proj_weight, in_proj_bias, bias_k, bias_v, out_proj_weight, out_proj_bias):
        return _override(
            multi_head_attention_forward, 13, query, key, value, in_proj_weight, in_proj_bias, bias_k, bias_v,
            out_proj_weight, out_proj_bias,
        )  # fmt: skip
    F = _functional()
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    target, batch, embed = query.shape
    key_padding_mask = _mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query.dtype)
    attn_mask, is_causal = _causal(attn_mask, is_causal, key_padding_mask is None, need_weights, query.dtype)
    head = _check_projections(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected(query, key, value, weights, in_proj_weight, in_proj_bias)
    attn_mask = _sized_mask(attn_mask, target, key.shape[0], batch * num_heads)
    _check_fixed(bias_k, bias_v, static_k, static_v, (batch * num_heads, head))
    if bias_k is not None:
        k, v = torch.cat([k, bias_k.repeat(1, batch, 1)]), torch.cat([v, bias_v.repeat(1, batch, 1)])
    q, k, v = (
        x.reshape(x.size(0), batch * num_heads, head).transpose(0, 1) if fixed is None else fixed
        for x, fixed in ((q, None), (k, static_k), (v, static_v))
    )
    if add_zero_attn:
        zeros = k.new_zeros((batch * num_heads, 1, head))
        k, v = torch.cat([k, zeros], 1), torch.cat([v, zeros], 1)
    more = (bias_k is not None) + bool(add_zero_attn)
    if more:
        attn_mask = None if attn_mask is None else F.pad(attn_mask, (0, more))
        key_padding_mask = None if key_padding_mask is None else F.pad(key_padding_mask, (0, more))
    source = k.size(1)
    if key_padding_mask is not None:
        spread = _spread_padding(key_padding_mask, batch, num_heads, source)
        attn_mask = spread if attn_mask is None else attn_mask + spread
    dropout_p = dropout_p if training else 0.0
    shape = (q, k, v, attn_mask, (batch, num_heads, target, source, head))
    if need_weights:
        out, scores = _weighted(*shape, dropout_p)
    else:
        out, scores = _fused(*shape, dropout_p, is_causal and attn_mask is None), None
    out = F.linear(out.reshape(target * batch, embed), out_proj_weight, out_proj_bias).view(
        target, batch, out_proj_weight.size(0)
    )
    if scores is not None and average_attn_weights:
        scores = scores.mean(1)
    if not batched:
        out, scores = out.squeeze(1), None if scores is None else scores.squeeze(0)
    return out, scores


def _weighted(q: Any, k: Any, v: Any, mask: Any, sizes: Any, dropout_p: float) -> tuple[Any, Any]:
    """Attention with its weights: (L, N, E) and (N, heads, L, S)."""
    batch, heads, target, source, head = sizes
    scaled = q * math.sqrt(1.0 / head)
    scores = scaled.bmm(k.transpose(-2, -1)) if mask is None else torch.baddbmm(mask, scaled, k.transpose(-2, -1))
    weights = scores.softmax(-1)
    weights = _functional().dropout(weights, dropout_p) if dropout_p > 0 else weights
    out = weights.bmm(v).transpose(0, 1).reshape(target, batch, heads * head)
    return out, weights.view(batch, heads, target, source)


def _fused(q: Any, k: Any, v: Any, mask: Any, sizes: Any, dropout_p: float, causal: bool) -> Any:
    batch, heads, target, source, head = sizes
    if mask is not None:
        mask = (
            mask.unsqueeze(0)
            if mask.size(0) == 1 and mask.dim() == 3
            else mask.view(batch, heads, mask.size(-2), source)
        )
    parts = (q.view(batch, heads, target, head), k.view(batch, heads, source, head), v.view(batch, heads, source, head))
    out = _functional().scaled_dot_product_attention(*parts, mask, dropout_p, causal)
    return out.permute(2, 0, 1, 3).reshape(target, batch, heads * head)
