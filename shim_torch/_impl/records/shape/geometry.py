"""Operators that tell a tensor's geometry, and few that make a tensor like another."""

from __future__ import annotations

from shim_torch._impl.table.record import composite


@composite("sym_size(Tensor self) -> SymInt[]", function=False, method=False)
def sym_size(self):
    """The sizes, as a list of ints."""
    return list(self.shape)


@composite("sym_size.int(Tensor self, int dim) -> SymInt", function=False, method=False)
def sym_size_int(self, dim):
    """The size of one dim."""
    return self.size(dim)


@composite("sym_stride(Tensor self) -> SymInt[]", function=False, method=False)
def sym_stride(self):
    """The strides in elements, as a list of ints."""
    return list(self.stride())


@composite("sym_stride.int(Tensor self, int dim) -> SymInt", function=False, method=False)
def sym_stride_int(self, dim):
    """The stride of one dim, in elements."""
    return self.stride(dim)


@composite("sym_numel(Tensor self) -> SymInt", function=False, method=False)
def sym_numel(self):
    """The number of elements."""
    return self.numel()


@composite("sym_storage_offset(Tensor self) -> SymInt", function=False, method=False)
def sym_storage_offset(self):
    """Where in its storage the tensor begins, in elements."""
    return self.storage_offset()


@composite(
    "_new_zeros_with_same_feature_meta(Tensor self, Tensor other, *, int self_num_batch_dims=0) -> Tensor",
    method=False,
)
def _new_zeros_with_same_feature_meta(self, other, self_num_batch_dims):
    """Zeros in the layout of ``other``, led by the first dims of ``self``: what a tangent of ``other`` starts as."""
    lead = list(self.shape[:self_num_batch_dims])
    count = 1
    for n in lead:
        count *= n
    elements = other.untyped_storage().nbytes() // other.element_size()
    strides = list(other.stride())
    outer: list[int] = []
    step = elements
    for n in reversed(lead):
        outer.insert(0, step)
        step *= n
    return other.new_zeros(count * elements).as_strided(
        [*lead, *other.shape], [*outer, *strides], other.storage_offset()
    )


@composite("prim::device(Tensor a) -> Device", function=False, method=False)
def prim_device(a):
    """The tensor's device."""
    return a.device


@composite("prim::layout(Tensor a) -> Layout", function=False, method=False)
def prim_layout(a):
    """The tensor's layout: strided, or one of the sparse ones."""
    return a.layout
