"""Attention layers."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.table.calls import torch
from shim_torch.nn import functional as F
from shim_torch.nn import init
from shim_torch.nn.modules.linear import NonDynamicallyQuantizableLinear
from shim_torch.nn.modules.module import Module
from shim_torch.nn.parameter import Parameter

# What the function takes of the layer under the same name.
_PASSED_ON = ("num_heads", "in_proj_weight", "in_proj_bias", "bias_k", "bias_v", "add_zero_attn", "training",
              "q_proj_weight", "k_proj_weight", "v_proj_weight")  # fmt: skip


class MultiheadAttention(Module):
    """Attention of several heads: queries (L, N, E), keys (S, N, kdim), values (S, N, vdim); batch first by ``batch_first``.

    Gives the output (L, N, E) and, if ``need_weights``, the weights (N, L, S), averaged over heads unless told otherwise.
    """

    __constants__ = ["batch_first"]
    bias_k: Any
    bias_v: Any

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def made(*shape: int) -> Parameter:
            return Parameter(torch.empty(shape, dtype=dtype, device=device))

        same = self._qkv_same_embed_dim
        for name, size in (("q_proj_weight", embed_dim), ("k_proj_weight", self.kdim), ("v_proj_weight", self.vdim)):
            self.register_parameter(name, None if same else made(embed_dim, size))
        self.register_parameter("in_proj_weight", made(3 * embed_dim, embed_dim) if same else None)
        self.register_parameter("in_proj_bias", made(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, made(1, 1, embed_dim) if add_bias_kv else None)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def merge_masks(self, attn_mask: Any, key_padding_mask: Any, query: Any) -> tuple[Any, int | None]:
        """One mask of both, and its kind: (None, None), the padding (N, L) and 1, or (N, heads, L, L) and 2.

        Masks are summed where both are given: they are the floating-point form. ``query`` (N, L, E) gives the sizes.
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        lead = (batch, -1) if attn_mask.dim() == 3 else (1, 1)
        merged = attn_mask.view(*lead, length, length).expand(batch, self.num_heads, length, length)
        return merged if key_padding_mask is None else merged + key_padding_mask.view(batch, 1, 1, length), 2

    def forward(
        self, query: Any, key: Any, value: Any, key_padding_mask: Any = None, need_weights: bool = True,
        attn_mask: Any = None, average_attn_weights: bool = True, is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """(output, attention weights or None).

        ``query`` and the output are (L, N, E), or (N, L, E) if batch_first, or (L, E); ``key``, ``value`` have S for L.
        Weights are (N, L, S), or (N, heads, L, S) without ``average_attn_weights``; None without ``need_weights``.
        """
        inputs = (query, key, value)
        batch_leads = self.batch_first and query.dim() == 3
        if batch_leads:
            inputs = tuple(t.transpose(0, 1) for t in inputs)
        output, weights = F.multi_head_attention_forward(
            *inputs, self.embed_dim, dropout_p=self.dropout, out_proj_weight=self.out_proj.weight,
            out_proj_bias=self.out_proj.bias, use_separate_proj_weight=not self._qkv_same_embed_dim,
            key_padding_mask=key_padding_mask, attn_mask=attn_mask, is_causal=is_causal, need_weights=need_weights,
            average_attn_weights=average_attn_weights, **{name: getattr(self, name) for name in _PASSED_ON},
        )  # fmt: skip
        return output.transpose(0, 1) if batch_leads else output, weights
