"""Views of one tensor: other sizes, orders and parts of the same memory."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import padded
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite, op, view
from shim_torch._impl.table.rules import same_dtype, wrap_dim


@view(
    "view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    function=False,
    grad={"self": lambda g, self_shape: g.reshape(self_shape)},
)
def view_(self, size):
    return _core.view(self, size)


@composite("view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", function=False)
def view_dtype(self, dtype):
    return _core.view_dtype(self, dtype)  # the same memory, but neither gradients nor a base: as PyTorch has it


@op(
    "_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
    function=False,
    method=False,
    native="_unsafe_view",
    shape=lambda self, size: _core.infer_size(size, self.numel()),
    dtype=same_dtype,
    keep=("self",),
    grad={"self": lambda g, self_shape: g.reshape(self_shape)},
)
def _unsafe_view(xp, self, size):
    return self.reshape(size)


@composite("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", native="reshape")
def reshape(self, shape):
    return (
        self.view(shape)
        if _core.can_view(self, shape)
        else _core.function("aten::_unsafe_view")(self.clone(memory_format=_core.contiguous_format), shape)
    )


@composite("view_as(Tensor(a) self, Tensor other) -> Tensor(a)", function=False)
def view_as(self, other):
    return self.view(other.shape)


@composite("reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", function=False)
def reshape_as(self, other):
    return self.reshape(other.shape)


@view(
    "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    grad={"self": lambda g, dim0, dim1: g.transpose(dim0, dim1)},
    batching="along_dim",
)
def transpose(self, dim0, dim1):
    return _core.transpose(self, dim0, dim1)


@composite("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", batching="along_dim")
def swapaxes(self, axis0, axis1):
    return self.transpose(axis0, axis1)


@composite("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", batching="along_dim")
def swapdims(self, dim0, dim1):
    return self.transpose(dim0, dim1)


@view("t(Tensor(a) self) -> Tensor(a)", grad={"self": lambda g: g.t()})
def t(self):
    if self.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.dim()}D")
    return _core.alias(self) if self.dim() < 2 else _core.transpose(self, 0, 1)


@view("permute(Tensor(a) self, int[] dims) -> Tensor(a)", grad={"self": lambda g, dims: g.permute(_inverse(dims))})
def permute(self, dims):
    return _core.permute(self, dims)


def _inverse(dims: Any) -> list[int]:
    n = len(dims)
    out = [0] * n
    for i, d in enumerate(dims):
        out[d % n] = i
    return out


@composite(
    "movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
    aliases=("moveaxis",),
    batching="along_dim",
)
def movedim(self, source, destination):
    n = self.dim()
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number of dims as "
            f"destination ({list(destination)} dims)"
        )
    src, dst = [wrap_dim(d, n) for d in source], [wrap_dim(d, n) for d in destination]
    for what, dims, given in (("source", src, source), ("destination", dst, destination)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({list(given)})")
    order = [-1] * n
    for s, d in zip(src, dst, strict=True):
        order[d] = s
    rest = iter(d for d in range(n) if d not in src)
    return self.permute([next(rest) if d < 0 else d for d in order])


@composite(
    "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)", aliases=("moveaxis",), batching="along_dim"
)
def movedim_int(self, source, destination):
    n = self.dim()
    if not (-n <= source < n and -n <= destination < n):
        return self.movedim((source,), (destination,))  # which says what is wrong
    order = list(range(n))
    order.insert(destination % n, order.pop(source % n))
    return self.permute(order)


@view(
    "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
    function=False,
    grad={"self": lambda g, self_shape: g.sum_to_size(self_shape)},
)
def expand(self, size, implicit):
    return _core.expand(self, size)


@composite("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", function=False)
def expand_as(self, other):
    return self.expand(other.shape)


@composite("broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)")
def broadcast_to(self, size):
    return self.expand(size)


@composite("sum_to_size(Tensor self, SymInt[] size) -> Tensor", function=False)
def sum_to_size(self, size):
    shape, extra = tuple(size), self.dim() - len(size)
    if extra < 0 or any(n not in (1, m) for n, m in zip(shape, self.shape[extra:], strict=True)):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}.")
    dims = [*range(extra), *(i + extra for i, n in enumerate(shape) if n == 1 and self.shape[i + extra] != 1)]
    if dims:
        return self.sum(dims, True).view(shape)
    return self.sum(()) if not shape else self  # PyTorch sums a tensor without dims too


@view("squeeze(Tensor(a) self) -> Tensor(a)", grad={"self": lambda g, self_shape: g.reshape(self_shape)})
def squeeze(self):
    return _core.squeeze(self)


@view(
    "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
    grad={"self": lambda g, self_shape: g.reshape(self_shape)},
    batching="along_dim",
)
def squeeze_dim(self, dim):
    return _core.squeeze(self, (dim,))


@view(
    "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    grad={"self": lambda g, self_shape: g.reshape(self_shape)},
    batching="along_dim",
)
def squeeze_dims(self, dim):
    return _core.squeeze(self, dim)


@view(
    "alias(Tensor(a) self) -> Tensor(a)", function=False, method=False, grad={"self": lambda g: g}, batching="pointwise"
)
def alias(self):
    return _core.alias(self)


@view("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", grad={"self": lambda g, self_shape: g.reshape(self_shape)})
def unsqueeze(self, dim):
    return _core.unsqueeze(self, dim)


@view(
    "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
    grad={
        "self": lambda g, self_shape, self_strides, self_start, size, stride, storage_offset: _as_strided_grad(
            g, self_shape, self_strides, size, stride, 0 if storage_offset is None else storage_offset - self_start
        )
    },
)
def as_strided(self, size, stride, storage_offset):
    return _core.as_strided(self, size, stride, storage_offset)


def _as_strided_grad(g, shape, strides, size, stride, offset):
    """Every element of the result adds to the element of the input that it is; ``offset`` counts from the input's start."""

    def places(sizes, steps):
        index = torch.zeros(tuple(sizes), dtype=_core.int64, device=g.device)
        for d, (n, s) in enumerate(zip(sizes, steps, strict=True)):
            index = index + (torch.arange(n, device=g.device) * s).reshape(
                [-1 if i == d else 1 for i in range(len(sizes))]
            )
        return index

    mine = places(shape, strides).reshape(-1)
    theirs = places(size, stride).reshape(-1) + offset
    least = min([0, *([int(theirs.min())] if theirs.numel() else [])])  # the result may begin before the input
    most = max(int(t.max()) if t.numel() else 0 for t in (mine, theirs))
    flat = g.new_zeros(most - least + 1).index_add(0, theirs - least, g.reshape(-1))
    shared = g.new_zeros(most + 1).index_add(0, mine, g.new_ones(mine.numel())) if 0 in strides else None
    flat = flat[-least:] if least else flat
    return (flat if shared is None else flat / shared.clamp(min=1))[mine].reshape(shape)


@view(
    "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
    function=False,
    grad={"self": lambda g, self_shape, dimension, size, step: _unfold_grad(g, self_shape, dimension, size, step)},
    batching="along_dim",
)
def unfold(self, dimension, size, step):
    return _core.unfold(self, dimension, size, step)


def _unfold_grad(g, shape, dim, size, step):
    if not len(shape):
        return g.reshape(())
    d = wrap_dim(dim, len(shape))
    windows = g.size(d)
    starts = torch.arange(windows, device=g.device) * step
    index = (starts[:, None] + torch.arange(size, device=g.device)).reshape(-1)
    moved = g.movedim(-1, d + 1).flatten(d, d + 1)
    return g.new_zeros(shape).index_add(d, index, moved)


@view(
    "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
    grad={
        "self": lambda g, self_shape, offset, dim1, dim2: padded(
            g, self_shape, lambda full: full.diagonal(offset, dim1, dim2)
        )
    },
    batching="along_dim",
)
def diagonal(self, offset, dim1, dim2):
    return _core.diagonal(self, offset, dim1, dim2)


@view(
    "view_as_real(Tensor(a) self) -> Tensor(a)",
    method=False,
    grad={"self": lambda g: torch.view_as_complex(g.contiguous())},
    batching="pointwise",
    nested="pointwise",
)
def view_as_real(self):
    return _core.view_as_real(self)


@view(
    "view_as_complex(Tensor(a) self) -> Tensor(a)",
    method=False,
    grad={"self": lambda g: torch.view_as_real(g.contiguous().resolve_conj())},
    batching="pointwise",
)
def view_as_complex(self):
    return _core.view_as_complex(self)
