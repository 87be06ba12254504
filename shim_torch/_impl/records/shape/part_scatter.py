"""Copies with a part replaced: diagonal_scatter, select_scatter and their like."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite


def _part_check(part: Any, src: Any) -> None:
    if tuple(part.shape) != tuple(src.shape):
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. "
            f"src size = {list(src.shape)}, slice size = {list(part.shape)}"
        )


def _laid_out_alike(self: Any) -> Any:
    """A copy with the strides and the start of ``self``: in C order where it overlaps itself or somebody looks on."""
    overlaps = any(step == 0 and n > 1 for n, step in zip(self.shape, self.stride(), strict=True))
    seen_by_none = _core.unseen_on_cuda(self) if self.is_cuda else _core.unseen(self)
    if (self.is_contiguous() and not self.storage_offset()) or overlaps or not seen_by_none:
        return self.clone(memory_format=_core.contiguous_format)
    memory = _core.empty_tensor(
        (self.untyped_storage().nbytes() // self.element_size(),), dtype=self.dtype, device=self.device
    )
    alike = self.new_empty(0).set_(memory.untyped_storage(), self.storage_offset(), self.shape, self.stride())
    return alike.copy_(self)


def _with_part(self: Any, src: Any, take: Any) -> Any:
    full = _laid_out_alike(self)
    part = take(full)
    _part_check(part, src)
    part.copy_(src)
    return full


@composite("diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor")
def diagonal_scatter(self, src, offset, dim1, dim2):
    """A copy of ``self`` with ``src`` in place of a diagonal; RuntimeError if ``src`` has another shape than that."""
    return _with_part(self, src, lambda t: t.diagonal(offset, dim1, dim2))


@composite(
    "select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", no_complex_gradient="select_scatter"
)
def select_scatter(self, src, dim, index):
    """A copy of ``self`` with ``src`` at ``index`` of ``dim``; RuntimeError if the shapes differ."""
    return _with_part(self, src, lambda t: t.select(dim, index))


@composite(
    "slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor",
    out=True,
    no_complex_gradient="slice_scatter",
    out_dtype="structured",
    out_error_name="aten::slice_scatter",
    out_resize="first",
)
def slice_scatter(self, src, dim, start, end, step):
    """A copy of ``self`` with ``src`` in place of ``start:end:step`` of ``dim``; RuntimeError if the shapes differ."""
    return _with_part(self, src, lambda t: aten.slice(t, dim, start, end, step))


@composite(
    "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor"
)
def as_strided_scatter(self, src, size, stride, storage_offset):
    """A copy of ``self`` with ``src`` in place of what ``as_strided(size, stride, storage_offset)`` is of it.

    RuntimeError if ``src`` has another shape, and for a tensor with gradient that is not contiguous.
    """
    if self.requires_grad and not self.is_contiguous():
        raise RuntimeError(
            "!self.requires_grad() || self.is_contiguous() INTERNAL ASSERT FAILED: as_strided_scatter is currently only supported "
            "for contiguous inputs"
        )
    return _with_part(self, src, lambda t: t.as_strided(size, stride, storage_offset))
