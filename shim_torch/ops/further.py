"""Splitting that makes no views, and filling that is not in place."""

from __future__ import annotations

from ._record import composite


@composite("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]")
def unsafe_chunk(self, chunks, dim):
    return tuple(self.chunk(chunks, dim))


@composite("unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]")
def unsafe_split(self, split_size, dim):
    return tuple(self.split(split_size, dim))


@composite("unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]")
def unsafe_split_with_sizes(self, split_sizes, dim):
    return tuple(self.split_with_sizes(split_sizes, dim))


@composite("fill.Scalar(Tensor self, Scalar value) -> Tensor", method=False)
def fill_scalar(self, value):
    """A tensor like ``self`` full of ``value``."""
    return self.clone().fill_(value)


@composite("fill.Tensor(Tensor self, Tensor value) -> Tensor", method=False)
def fill_tensor(self, value):
    return self.clone().fill_(value)
