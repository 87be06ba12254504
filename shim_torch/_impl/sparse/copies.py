"""Clones, casts, moves and tensors like a sparse one."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.sparse import coo, dispatch
from shim_torch._impl.sparse.dispatch import kernel
from shim_torch._impl.table.calls import torch

dispatch.runs_as_it_is(["detach", "detach_", "alias", "is_same_size", "lift_fresh", "lift"])


def _apart(t: Any, change: Any) -> Any:
    p = coo.parts(t)
    plain = None if p.plain is None else change(p.plain, False)
    parts = (change(p.indices, False), plain, change(p.values, True))
    return _core.set_coalesced(
        _core.sparse_tensor(p.layout, t.shape, *parts, p.sparse_dim, p.dense_dim, False), p.coalesced
    )


@kernel("clone")
def clone(self: Any, memory_format: Any = None) -> Any:
    """A copy of the parts; RuntimeError for memory formats other than preserve_format."""
    if memory_format is not None and memory_format != _core.preserve_format:
        raise RuntimeError(f"unsupported memory format option {_format(memory_format)}")
    return _apart(self, lambda part, _: part.clone())


def _format(memory_format: Any) -> str:
    return "".join(w.capitalize() for w in str(memory_format).rpartition(".")[2].replace("_format", "").split("_"))


@kernel("contiguous")
def contiguous(self: Any, memory_format: Any) -> Any:
    """Raises RuntimeError: sparse tensors have no memory format."""
    if self.layout != _core.sparse_coo:
        raise RuntimeError("Sparse CSR tensors do not have is_contiguous")
    raise RuntimeError(f"unsupported memory format option {_format(memory_format)}")


@kernel("_to_copy")
def to_copy(
    self: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, non_blocking: Any, memory_format: Any
) -> Any:
    """A copy with another dtype or device; RuntimeError where another layout is asked for."""
    if layout is not None and layout != self.layout:
        raise RuntimeError(
            f"to(options) doesn't support converting to a different layout, but got self.layout being {coo.word(self)} and "
            f"options.layout set as {coo.word(layout)}"
        )
    if memory_format is not None and memory_format != _core.preserve_format:
        raise RuntimeError("memory format option is only supported by strided tensors")
    if device is not None and device.type == "meta":
        p = coo.parts(self)
        if p.layout == _core.sparse_coo:
            return coo.empty(self.shape, p.sparse_dim, p.dense_dim, dtype or self.dtype, device)
        from shim_torch._impl.sparse import compressed as _compressed

        return _compressed.zeros_like(self, dtype or self.dtype, device)

    def change(part: Any, is_values: bool) -> Any:
        return part.to(device=device or part.device, dtype=dtype if is_values and dtype else part.dtype, copy=True)

    return _apart(self, change)


@kernel("copy_")
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Copies ``src`` into the sparse tensor, which gets its entries."""
    return dispatch.copy_(self, src, non_blocking)


@kernel("resize_as_")
def resize_as_(self: Any, the_template: Any, memory_format: Any = None) -> Any:
    """Resizes to the template's sizes, with its sparse and dense dims; layouts must be equal."""
    if self.layout == the_template.layout == _core.sparse_coo:
        return coo.resize(self, tuple(the_template.shape), the_template.sparse_dim(), the_template.dense_dim())
    if self.layout == the_template.layout:
        from shim_torch._impl.sparse import compressed as _compressed

        return _compressed.resize_as(self, the_template)
    raise RuntimeError(f"resize_as_: expected tensors of the same layout, got {self.layout} and {the_template.layout}")


def resize_(self: Any, size: Any) -> Any:
    """Resizes a compressed tensor; COO tensors are refused."""
    if self.layout == _core.sparse_coo:
        dispatch.refuse("aten::resize_", [self])
    from shim_torch._impl.sparse import compressed as _compressed

    return _compressed.resize_(self, tuple(size))


def _new(self: Any, size: Any, dtype: Any, layout: Any, device: Any, what: str, value: Any = None) -> Any:
    layout = layout or self.layout
    options = {"dtype": dtype or self.dtype, "device": device or self.device}
    if layout == _core.strided:
        if what == "full":
            return torch.full(size, value, **options)
        return getattr(torch, what)(size, **options)
    if what in ("full", "ones"):
        if layout == _core.sparse_coo:
            raise (
                RuntimeError("full(...) is not implemented for sparse layout")
                if what == "full"
                else NotImplementedError(dispatch.could_not_run("aten::fill_.Scalar", dispatch.backend([self])))
            )
    return empty_of(size, layout, options["dtype"], options["device"])


def empty_of(size: Any, layout: Any, dtype: Any, device: Any) -> Any:
    """A tensor of a sparse layout without entries: what ``zeros`` and ``empty`` are."""
    if layout == _core.sparse_coo:
        return coo.empty(size, len(size), 0, dtype, device)
    from shim_torch._impl.sparse import compressed as _compressed

    return _compressed.zeros(size, layout, dtype, device)


def zeros_of(self: Any, dtype: Any, layout: Any, device: Any) -> Any:
    """No entries, of a sparse layout: batches of compressed tensors are sparse dims of COO ones."""
    if layout == _core.sparse_coo:
        dense = 0 if self.layout == _core.strided else coo.parts(self).dense_dim
        return coo.empty(self.shape, self.dim() - dense, dense, dtype, device)
    from shim_torch._impl.sparse import compressed as _compressed

    return _compressed.zeros_like(self, dtype, device, layout)


def _empty_like_compressed(self: Any, dtype: Any, layout: Any, device: Any) -> Any:
    if layout != self.layout:
        raise RuntimeError(
            f"empty_like with different sparse layout is not supported (self is {coo.word(self)} but you requested "
            f"{coo.word(layout)})"
        )
    from shim_torch._impl.sparse import compressed as _compressed

    return _compressed.empty_like(self, dtype, device)


def _like(name: str, what: str) -> None:
    def body(self: Any, *rest: Any) -> Any:
        value, (dtype, layout, device, _, memory_format) = (rest[0] if what == "full" else None), rest[-5:]
        dtype, layout, device = dtype or self.dtype, layout or self.layout, device or self.device
        compressed = self.layout not in (_core.sparse_coo, _core.strided)
        if layout == _core.strided and memory_format not in (None, _core.preserve_format) and not compressed:
            return _new(self, tuple(self.shape), dtype, layout, device, what, value).contiguous(
                memory_format=memory_format
            )
        if memory_format is not None and layout != _core.strided:
            raise RuntimeError("memory format option is only supported by strided tensors")
        if what == "zeros" and layout != _core.strided:
            return zeros_of(self, dtype, layout, device)
        if compressed:
            made = _empty_like_compressed(self, dtype, layout, device)
            return made if what == "empty" else made.fill_(1 if what == "ones" else value)
        if layout == self.layout == _core.sparse_coo and what == "empty":
            p = coo.parts(self)
            return coo.empty(self.shape, p.sparse_dim, p.dense_dim, dtype, device)
        return _new(self, tuple(self.shape), dtype, layout, device, what, value)

    kernel(name)(body)


for _name, _what in (("zeros_like", "zeros"), ("empty_like", "empty"), ("ones_like", "ones"), ("full_like", "full")):
    _like(_name, _what)


def _random_like(name: str, drawn: str) -> None:
    def body(self: Any, *rest: Any) -> Any:
        layout = rest[-4]
        if rest[-1] is not None and layout != _core.strided:
            raise RuntimeError("memory format option is only supported by strided tensors")
        if self.layout not in (_core.strided, _core.sparse_coo) and layout in (None, self.layout):
            values = coo.parts(self).values.to(rest[-5] or self.dtype, copy=True)
            return coo.with_values(self, getattr(values, drawn)())
        if layout == _core.strided:
            dtype, device = rest[-5] or self.dtype, rest[-3] or self.device
            return getattr(torch, name.removesuffix("_like"))(tuple(self.shape), dtype=dtype, device=device)
        raise NotImplementedError(dispatch.could_not_run(f"aten::{drawn}", dispatch.backend([self])))

    kernel(name)(body)


_random_like("rand_like", "uniform_")
_random_like("randn_like", "normal_")


@kernel("new_empty")
def new_empty(self: Any, size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    """A sparse tensor of ``size`` without entries; with ``layout=torch.strided`` an uninitialised dense one."""
    return _new(self, size, dtype, layout, device, "empty")


@kernel("new_zeros")
def new_zeros(self: Any, size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    """A sparse tensor of ``size`` without entries; with ``layout=torch.strided`` dense zeros."""
    return _new(self, size, dtype, layout, device, "zeros")


@kernel("new_ones")
def new_ones(self: Any, size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    """Dense ones; NotImplementedError for COO tensors, and no entries in compressed layouts."""
    return _new(self, size, dtype, layout, device, "ones")


@kernel("new_full")
def new_full(self: Any, size: Any, value: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    """A dense constant; RuntimeError for COO tensors, and no entries in compressed layouts."""
    return _new(self, size, dtype, layout, device, "full", value)


def _drawn(name: str) -> None:
    def body(self: Any, first: Any, second: Any, generator: Any = None) -> Any:
        if self.layout == _core.sparse_coo:
            dispatch.refuse(f"aten::{name}", [self])
        getattr(coo.parts(self).values, name)(first, second, generator=generator)
        return self

    kernel(name)(body)


_drawn("normal_")
_drawn("uniform_")
