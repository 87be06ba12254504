"""Several views of one tensor: split, chunk, unbind and theirs by name of the dim."""

from __future__ import annotations

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, view
from shim_torch._impl.table.rules import wrap_dim


def _cut(self, dim, sizes):
    out, start = [], 0
    for n in sizes:
        out.append(self.narrow(dim, start, n))
        start += n
    return tuple(out)


def _joined(g, dim):
    return torch.cat(g, dim)


@view(
    "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
    native="split",
    grad={"self": _joined},
    batching="along_dim",
)
def split(self, split_size, dim):
    """Views of consecutive parts along a dim: of ``split_size`` elements (the last maybe fewer), or of listed sizes.

    RuntimeError for 0-d tensors, negative sizes, and a list that does not add up to the dim.
    """
    if self.dim() == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    n = self.size(dim)
    if split_size == 0:
        if n != 0:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
        return (self.narrow(dim, 0, 0),)
    sizes = [min(split_size, n - i) for i in range(0, n, split_size)] or [0]
    return _cut(self, dim, sizes)


@composite("split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]")
def split_sizes(self, split_size, dim):
    """Views of consecutive parts along a dim, of the sizes in a list."""
    return self.split_with_sizes(split_size, dim)


@view(
    "split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
    native="split_sizes",
    grad={"self": _joined},
    batching="along_dim",
)
def split_with_sizes(self, split_size, dim):
    """Views of consecutive parts along a dim, of the given sizes; RuntimeError unless they add up to it."""
    if sum(split_size) != self.size(dim):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {self.size(dim)} (input tensor's size at dimension "
            f"{wrap_dim(dim, self.dim())}), but got split_sizes={list(split_size)}"
        )
    if any(n < 0 for n in split_size):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(split_size)}"
        )
    return _cut(self, dim, split_size)


@composite("chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", native="chunk", batching="along_dim")
def chunk(self, chunks, dim):
    """At most ``chunks`` views of consecutive parts along a dim, of equal size; the last may be smaller.

    There are fewer where the rounded size fills the dim sooner. RuntimeError for 0-d tensors and fewer than one chunk.
    """
    if self.dim() == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = self.size(dim)
    size = (n + chunks - 1) // chunks
    if size == 0 and n == 0:
        return _cut(self, dim, [0] * chunks)
    return self.split(size, dim)


def _splittable(self):
    if self.dim() == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")


@composite(
    "tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]", batching="along_dim"
)
def tensor_split(self, sections, dim):
    """Views of ``sections`` consecutive parts along a dim, the first ones larger by one where it does not divide.

    With ``indices`` the parts begin there, as slices would. Either may come as an int64 tensor on the CPU. RuntimeError
    for 0-d tensors and fewer than one section.
    """
    _splittable(self)
    n = self.size(dim)
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    sizes = [n // sections] * sections  # what does not fit into memory fails here, before a view is made
    for i in range(n % sections):
        sizes[i] += 1
    return _cut(self, dim, sizes)


@composite(
    "tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]", batching="along_dim"
)
def tensor_split_indices(self, indices, dim):
    """Views of consecutive parts along a dim, cut at ``indices``: one part more than there are of them."""
    _splittable(self)
    edges = [None, *indices, None]
    return tuple(aten.slice(self, dim, a, b, 1) for a, b in zip(edges, edges[1:], strict=False))


@composite(
    "tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]"
)
def tensor_split_tensor(self, tensor_indices_or_sections, dim):
    """The places to cut come as a tensor: 0-d for a number of sections, else 1-d indices; int64 on the CPU."""
    given = tensor_indices_or_sections
    _splittable(self)
    if given.device.type != "cpu" or given.is_meta:
        raise RuntimeError(f"tensor_split expected tensor_indices_or_sections to be on cpu, but it's on {given.device}")
    if given.dtype != _core.int64:
        raise RuntimeError(
            f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {_core.scalar_name(given.dtype)}"
        )
    if given.dim() > 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a "
            f"tensor with {given.dim()} dims"
        )
    return self.tensor_split(given.item() if given.dim() == 0 else tuple(given.tolist()), dim)


def _stacked(g, dim):
    return torch.stack(g, dim)


@view(
    "unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
    native="unbind",
    grad={"self": _stacked},
    batching="along_dim",
)
def unbind(self, dim):
    """Views of what is at each index of a dim, without that dim; IndexError for 0-d tensors."""
    if self.dim() == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return tuple(self.select(dim, i) for i in range(self.size(dim)))


for _name, _dim, _least in (("hsplit", 1, 1), ("vsplit", 0, 2), ("dsplit", 2, 3)):

    def _make(name, dim, least):
        def check(self):
            if self.dim() < least:
                raise RuntimeError(
                    f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {self.dim()} dimensions!"
                )
            return 0 if name == "hsplit" and self.dim() == 1 else dim

        def sections_(self, sections):
            d = check(self)
            if sections <= 0 or self.size(d) % sections:
                raise RuntimeError(
                    f"torch.{name} attempted to split along dimension {d}, but the size of the dimension {self.size(d)} is not "
                    f"divisible by the split_size {sections}!"
                )
            return self.tensor_split(sections, d)

        composite(f"{name}.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")(sections_)
        composite(f"{name}.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")(
            lambda self, indices: self.tensor_split(indices, check(self))
        )

    _make(_name, _dim, _least)
