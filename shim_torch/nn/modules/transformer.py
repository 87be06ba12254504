"""Transformer layers: encoder, decoder and both together."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

from shim_torch._impl.nn.modules.attention import MultiheadAttention
from shim_torch._impl.nn.modules.nested_encoder import why_not_nested, without_padding
from shim_torch.nn import functional as F
from shim_torch.nn import init
from shim_torch.nn.modules.activation import GELU, ReLU
from shim_torch.nn.modules.container import ModuleList
from shim_torch.nn.modules.dropout import Dropout
from shim_torch.nn.modules.linear import Linear
from shim_torch.nn.modules.module import Module
from shim_torch.nn.modules.normalization import LayerNorm


def _get_activation_fn(activation: str | Callable[..., Any]) -> Callable[..., Any]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


def _get_seq_len(src: Any, batch_first: bool) -> int | None:
    """The length of the sequence; None for a nested tensor."""
    if src.is_nested:
        return None
    return src.size(0) if src.dim() == 2 else src.size(1 if batch_first else 0)


def _causal_mask(size: int, device: Any = None, dtype: Any = None) -> Any:
    import shim_torch

    dtype = shim_torch.get_default_dtype() if dtype is None else dtype
    return shim_torch.full((size, size), float("-inf"), dtype=dtype, device=device).triu(1)


def _is_causal(mask: Any, given: bool | None, size: int | None) -> bool:
    """Whether ``mask`` is the causal one, unless the caller says."""
    if given is not None:
        return given
    if mask is None:
        return False
    wanted = _causal_mask(mask.size(-2) if size is None else size, mask.device, mask.dtype)
    return mask.size() == wanted.size() and bool((mask == wanted).all())


class _Layer(Module):
    """The base of encoder and decoder layers: one or two attentions and a feed-forward block, in order.

    Step n uses ``norm{n}`` and ``dropout{n}``; the feed-forward block is the last step.
    """

    __constants__ = ["norm_first"]
    _attentions: tuple[str, ...]

    def _build(
        self, d_model: int, nhead: int, dim_feedforward: int, dropout: float, activation: Any, eps: float,
        batch_first: bool, norm_first: bool, **shared: Any,
    ) -> None:  # fmt: skip
        for name in self._attentions:
            self.add_module(name, MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **shared))
        self.linear1 = Linear(d_model, dim_feedforward, **shared)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **shared)
        self.norm_first = norm_first
        steps = range(1, len(self._attentions) + 2)
        for n in steps:
            self.add_module(f"norm{n}", LayerNorm(d_model, eps, **shared))
        for n in steps:
            self.add_module(f"dropout{n}", Dropout(dropout))
        self.activation = _get_activation_fn(activation)

    def _through(self, x: Any, *steps: Callable[[Any], Any]) -> Any:
        """``x`` after all steps: each adds its residual, and normalises before (``norm_first``) or after."""
        for n, step in enumerate(steps, 1):
            norm = getattr(self, f"norm{n}")
            x = x + step(norm(x)) if self.norm_first else norm(x + step(x))
        return x

    def _sa_block(self, x: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
        return self.dropout1(_attended(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal))

    def _ff_block(self, x: Any) -> Any:
        inner = self.dropout(self.activation(self.linear1(x)))
        return getattr(self, f"dropout{len(self._attentions) + 1}")(self.linear2(inner))


def _attended(attention: Any, x: Any, memory: Any, mask: Any, padding: Any, is_causal: bool) -> Any:
    masks = {"attn_mask": mask, "key_padding_mask": padding, "is_causal": is_causal}
    return attention(x, memory, memory, need_weights=False, **masks)[0]


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward part, each with a residual and layer normalisation: (S, N, E) -> (S, N, E)."""

    _attentions = ("self_attn",)

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = F.relu,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        sizes, place = (d_model, nhead, dim_feedforward), {"bias": bias, "device": device, "dtype": dtype}
        self._build(*sizes, dropout, activation, layer_norm_eps, batch_first, norm_first, **place)
        kinds = ((F.relu, ReLU), (F.gelu, GELU))
        known = [i for i, (f, kind) in enumerate(kinds, 1) if self.activation is f or isinstance(self.activation, kind)]
        self.activation_relu_or_gelu = known[0] if known else 0

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Any:
        """Self-attention and feed-forward block; ``src`` and the result are (S, N, E), or (N, S, E) if batch_first."""
        masks = (src_mask, src_key_padding_mask, is_causal)
        return self._through(src, lambda x: self._sa_block(x, *masks), self._ff_block)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the memory, and a feed-forward part: (T, N, E), (S, N, E) -> (T, N, E)."""

    _attentions = ("self_attn", "multihead_attn")

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = F.relu,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        sizes, place = (d_model, nhead, dim_feedforward), {"bias": bias, "device": device, "dtype": dtype}
        self._build(*sizes, dropout, activation, layer_norm_eps, batch_first, norm_first, **place)

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None, tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """Self-attention, attention to ``memory``, feed-forward block; the result has the shape of ``tgt``."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        across = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        blocks = (lambda x: self._sa_block(x, *own), lambda x: self._mha_block(x, *across), self._ff_block)
        return self._through(tgt, *blocks)

    def _mha_block(self, x: Any, mem: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
        return self.dropout2(_attended(self.multihead_attn, x, mem, attn_mask, key_padding_mask, is_causal))


def _copies(module: Module, n: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


class _Stack(Module):
    """Copies of a layer, one after another, and a last normalisation."""

    __constants__ = ["norm"]

    def _fill(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        self.layers = _copies(layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def _through(
        self, x: Any, *memory: Any, mask: Any, is_causal: bool | None, names: tuple[str, str], **rest: Any
    ) -> Any:
        """The layers' output for ``x``; ``names``: how they call the mask of ``x`` and whether it is the causal one."""
        batch_first = getattr(getattr(self.layers[0], "self_attn", None), "batch_first", False)
        length = x.size(0) if x.dim() == 2 else x.size(int(batch_first))
        rest |= zip(names, (mask, _is_causal(mask, is_causal, length)), strict=True)
        for layer in self.layers:
            x = layer(x, *memory, **rest)
        return x

    def _normed(self, x: Any) -> Any:
        return self.norm(x) if self.norm is not None else x


class TransformerEncoder(_Stack):
    """Several encoder layers, and a last normalisation."""

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self._fill(encoder_layer, num_layers, norm)
        self.enable_nested_tensor, self.use_nested_tensor, self.mask_check = enable_nested_tensor, False, mask_check
        if enable_nested_tensor and (reason := why_not_nested(encoder_layer, TransformerEncoderLayer)):
            warnings.warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {reason}", stacklevel=2
            )

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None
    ) -> Any:
        """All layers one after the other, then the norm; the result has the shape of ``src``."""
        names = ("src_mask", "is_causal")
        padding = {"src_key_padding_mask": src_key_padding_mask}
        out = self._through(src, mask=mask, is_causal=is_causal, names=names, **padding)
        if mask is None and src_key_padding_mask is not None and not self.training and self.enable_nested_tensor:
            if not why_not_nested(self.layers[0], TransformerEncoderLayer):
                out = without_padding(out, src, src_key_padding_mask, self.layers[0])
        return self._normed(out)


class TransformerDecoder(_Stack):
    """Several decoder layers, and a last normalisation."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self._fill(decoder_layer, num_layers, norm)

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """All layers one after the other, then the norm; the result has the shape of ``tgt``."""
        padding = {"tgt_key_padding_mask": tgt_key_padding_mask, "memory_key_padding_mask": memory_key_padding_mask}
        across = {"memory_mask": memory_mask, "memory_is_causal": memory_is_causal}
        names = ("tgt_mask", "tgt_is_causal")
        return self._normed(
            self._through(tgt, memory, mask=tgt_mask, is_causal=tgt_is_causal, names=names, **padding, **across)
        )


class Transformer(Module):
    """An encoder and a decoder: (S, N, E), (T, N, E) -> (T, N, E)."""

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = F.relu, custom_encoder: Any = None,
        custom_decoder: Any = None, layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False,
        bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        place = {"device": device, "dtype": dtype}
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        self.encoder = custom_encoder
        if custom_encoder is None:
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
            self.encoder = TransformerEncoder(TransformerEncoderLayer(*settings, **place), num_encoder_layers, norm)
        self.decoder = custom_decoder
        if custom_decoder is None:
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
            self.decoder = TransformerDecoder(TransformerDecoderLayer(*settings, **place), num_decoder_layers, norm)
        for weight in self.parameters():
            if weight.dim() > 1:
                init.xavier_uniform_(weight)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None,
        src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """The decoder's result for ``tgt`` given the encoder's for ``src``: the shape of ``tgt``.

        RuntimeError where the batches differ, or a last dim is not d_model.
        """
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if (src.size(-1), tgt.size(-1)) != (self.d_model, self.d_model):
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        own = {"mask": src_mask, "src_key_padding_mask": src_key_padding_mask, "is_causal": src_is_causal}
        padding = {"tgt_key_padding_mask": tgt_key_padding_mask, "memory_key_padding_mask": memory_key_padding_mask}
        causal = {"tgt_is_causal": tgt_is_causal, "memory_is_causal": memory_is_causal}
        memory = self.encoder(src, **own)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, **padding, **causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
        """A causal mask (size, size) to add to scores: -inf above the diagonal, 0 elsewhere."""
        return _causal_mask(sz, device, dtype)


# The names that code outside of PyTorch knows these by.
_get_clones = _copies
_generate_square_subsequent_mask, _detect_is_causal_mask = _causal_mask, _is_causal
