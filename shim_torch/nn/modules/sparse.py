"""Embedding layers."""

from __future__ import annotations

from typing import Any

import shim_torch
from shim_torch._impl.nn.modules.building import settings_beside
from shim_torch.autograd.grad_mode import no_grad
from shim_torch.nn import functional as F
from shim_torch.nn import init
from shim_torch.nn.modules.module import Module
from shim_torch.nn.parameter import Parameter

_PLAIN = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}


def _row(index: int | None, rows: int, name: str) -> int | None:
    """``index`` as a row number; negative ones count from the end."""
    if index is None:
        return None
    if not -rows <= index < rows:
        raise AssertionError(f"{name} must be within num_embeddings")
    return index % rows


def _take_table(layer: Any, given: Any, device: Any, dtype: Any, requires_grad: bool = True) -> None:
    """Makes ``given`` the layer's weight, or a new table (rows, columns) with drawn values."""
    shape = (layer.num_embeddings, layer.embedding_dim)
    if given is not None and given.shape != shape:
        raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
    table = shim_torch.empty(shape, dtype=dtype, device=device) if given is None else given
    layer.weight = Parameter(table, requires_grad=requires_grad)
    if given is None:
        layer.reset_parameters()


class Embedding(Module):
    """A table of vectors, looked up by index: input (*) of int64 -> (*, embedding_dim)."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = _row(padding_idx, num_embeddings, "Padding_idx")
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        _take_table(self, _weight, device, dtype, requires_grad=not _freeze)

    def reset_parameters(self) -> None:
        """Draws from N(0, 1), with zeros at the padding index."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Any) -> Any:
        """The weight's rows at the indices (int32 or int64): (*) to (*, embedding_dim)."""
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        """The settings that ``repr`` shows."""
        plain = {"padding_idx": None, **_PLAIN, "sparse": False}
        return f"{self.num_embeddings}, {self.embedding_dim}" + settings_beside(self, **plain)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Any,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """A layer over a given (rows, columns) table."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, cols = embeddings.shape
        return cls(
            rows, cols, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight=embeddings, _freeze=freeze
        )


class EmbeddingBag(Module):
    """Sums, means or maxima of bags of embeddings: indices in bags -> (bags, embedding_dim)."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.max_norm, self.norm_type = (
            num_embeddings,
            embedding_dim,
            max_norm,
            norm_type,
        )
        self.scale_grad_by_freq, self.mode, self.sparse = scale_grad_by_freq, mode, sparse
        self.padding_idx = _row(padding_idx, num_embeddings, "padding_idx")
        self.include_last_offset = include_last_offset
        _take_table(self, _weight, device, dtype)

    def reset_parameters(self) -> None:
        """Draws the embeddings from N(0, 1); the one of ``padding_idx`` is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Any,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """A layer with given embeddings (rows, columns), which are not trained with ``freeze``."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        made = cls(
            rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset, padding_idx
        )  # fmt: skip
        made.weight.requires_grad = not freeze
        return made

    def extra_repr(self) -> str:
        """The settings that ``repr`` shows."""
        shown = f"{self.num_embeddings}, {self.embedding_dim}" + settings_beside(self, **_PLAIN)
        return shown + f", mode={self.mode!r}" + settings_beside(self, padding_idx=None)

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """One reduced row a bag: (bags, embedding_dim).

        ``input`` is (bags, size), or (N,) with the bags' starts in ``offsets``; ``per_sample_weights`` has its shape.
        """
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )
