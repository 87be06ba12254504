"""Views: other shapes over the same memory. Bodies give tensors without history; gradients are formulas."""

from __future__ import annotations

from typing import Any

from native import _core

from ._record import composite, op, view
from ._rules import same_dtype, wrap_dim


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
)
def transpose(self, dim0, dim1):
    return _core.transpose(self, dim0, dim1)


@composite("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)")
def swapaxes(self, axis0, axis1):
    return self.transpose(axis0, axis1)


@composite("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
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


@composite("movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", aliases=("moveaxis",))
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


@composite("movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)", aliases=("moveaxis",))
def movedim_int(self, source, destination):
    return self.movedim((source,), (destination,))


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


@view("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", grad={"self": lambda g, self_shape: g.reshape(self_shape)})
def squeeze_dim(self, dim):
    return _core.squeeze(self, (dim,))


@view(
    "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", grad={"self": lambda g, self_shape: g.reshape(self_shape)}
)
def squeeze_dims(self, dim):
    return _core.squeeze(self, dim)


@view("alias(Tensor(a) self) -> Tensor(a)", function=False, method=False, grad={"self": lambda g: g})
def alias(self):
    return _core.alias(self)


@view("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", grad={"self": lambda g, self_shape: g.reshape(self_shape)})
def unsqueeze(self, dim):
    return _core.unsqueeze(self, dim)


@view(
    "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
    grad={"self": lambda g, self_shape, dim, index: _select_grad(g, self_shape, dim, index)},
)
def select(self, dim, index):
    return _core.select(self, dim, index)


def _select_grad(g, shape, dim, index):
    import shim_torch

    return shim_torch.ops.aten.select_backward(g, shape, dim, index)


@view(
    "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
    function=False,
    method=False,
    grad={"self": lambda g, self_shape, dim, start, end, step: _slice_grad(g, self_shape, dim, start, end, step)},
)
def slice_(self, dim, start, end, step):
    return _core.slice(self, dim, 0 if start is None else start, 2**63 - 1 if end is None else end, step)


def _slice_grad(g, shape, dim, start, end, step):
    import shim_torch

    return shim_torch.ops.aten.slice_backward(
        g, shape, dim, 0 if start is None else start, 2**63 - 1 if end is None else end, step
    )


def _padded(g, shape, place):
    full = g.new_zeros(shape)
    place(full).copy_(g)
    return full


@composite("narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)", native="narrow")
def narrow(self, dim, start, length):
    import shim_torch

    _core.narrow(self, dim, start, length)  # its errors
    if start < 0:
        start += self.size(dim)
    return shim_torch.ops.aten.slice(self, dim, start, start + length, 1)


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
    import shim_torch

    def places(sizes, steps):
        index = shim_torch.zeros(tuple(sizes), dtype=shim_torch.int64, device=g.device)
        for d, (n, s) in enumerate(zip(sizes, steps, strict=True)):
            index = index + (shim_torch.arange(n, device=g.device) * s).reshape(
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
)
def unfold(self, dimension, size, step):
    return _core.unfold(self, dimension, size, step)


def _unfold_grad(g, shape, dim, size, step):
    import shim_torch

    if not len(shape):
        return g.reshape(())
    d = wrap_dim(dim, len(shape))
    windows = g.size(d)
    starts = shim_torch.arange(windows, device=g.device) * step
    index = (starts[:, None] + shim_torch.arange(size, device=g.device)).reshape(-1)
    moved = g.movedim(-1, d + 1).flatten(d, d + 1)
    return g.new_zeros(shape).index_add(d, index, moved)


@view(
    "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
    grad={
        "self": lambda g, self_shape, offset, dim1, dim2: _padded(
            g, self_shape, lambda full: full.diagonal(offset, dim1, dim2)
        )
    },
)
def diagonal(self, offset, dim1, dim2):
    return _core.diagonal(self, offset, dim1, dim2)


@view(
    "view_as_real(Tensor(a) self) -> Tensor(a)",
    method=False,
    grad={"self": lambda g: _core_torch().view_as_complex(g.contiguous())},
)
def view_as_real(self):
    return _core.view_as_real(self)


@view(
    "view_as_complex(Tensor(a) self) -> Tensor(a)",
    method=False,
    grad={"self": lambda g: _core_torch().view_as_real(g.contiguous())},
)
def view_as_complex(self):
    return _core.view_as_complex(self)


def _core_torch():
    import shim_torch

    return shim_torch


@composite("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)")
def unflatten(self, dim, sizes):
    d = wrap_dim(dim, self.dim())
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    n = 1
    for s in sizes:
        n *= s
    if -1 not in sizes and n != self.size(d):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({self.size(d)}) in the input tensor"
        )
    new = _core.infer_size(sizes, self.size(d))
    return self.view((*self.shape[:d], *new, *self.shape[d + 1 :]))


@composite("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)")
def flatten(self, start_dim, end_dim):
    start, end = wrap_dim(start_dim, self.dim()), wrap_dim(end_dim, self.dim())
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if self.dim() == 0:
        return self.reshape((1,))
    if start == end:
        return self
    n = 1
    for s in self.shape[start : end + 1]:
        n *= s
    return self.reshape((*self.shape[:start], n, *self.shape[end + 1 :]))


@composite("ravel(Tensor(a) self) -> Tensor(a)")
def ravel(self):
    return self.contiguous().view((-1,))


# --- several views --------------------------------------------------------------------------------------------------------


def _cut(self, dim, sizes):
    out, start = [], 0
    for n in sizes:
        out.append(self.narrow(dim, start, n))
        start += n
    return tuple(out)


def _joined(g, dim):
    import shim_torch

    return shim_torch.cat(g, dim)


@view(
    "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
    native="split",
    grad={"self": _joined},
)
def split(self, split_size, dim):
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
    return self.split_with_sizes(split_size, dim)


@view(
    "split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
    native="split_sizes",
    grad={"self": _joined},
)
def split_with_sizes(self, split_size, dim):
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


@composite("chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", native="chunk")
def chunk(self, chunks, dim):
    if self.dim() == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = self.size(dim)
    size = (n + chunks - 1) // chunks
    if size == 0 and n == 0:
        return tuple(self.narrow(dim, 0, 0) for _ in range(chunks))
    return self.split(size, dim)


def _splittable(self):
    if self.dim() == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")


@composite("tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]")
def tensor_split(self, sections, dim):
    _splittable(self)
    n = self.size(dim)
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    return _cut(self, dim, [n // sections + (i < n % sections) for i in range(sections)])


@composite("tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]")
def tensor_split_indices(self, indices, dim):
    _splittable(self)
    import shim_torch

    edges = [None, *indices, None]
    return tuple(shim_torch.ops.aten.slice(self, dim, a, b, 1) for a, b in zip(edges, edges[1:], strict=False))


@composite(
    "tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]"
)
def tensor_split_tensor(self, tensor_indices_or_sections, dim):
    """The places to cut come as a tensor: 0-d for a number of sections, else 1-d indices; int64 on the CPU."""
    given = tensor_indices_or_sections
    _splittable(self)
    if given.device.type != "cpu":
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
    import shim_torch

    return shim_torch.stack(g, dim)


@view("unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", native="unbind", grad={"self": _stacked})
def unbind(self, dim):
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


@composite("atleast_1d(Tensor self) -> Tensor", method=False)
def atleast_1d(self):
    return self.reshape(1) if self.dim() == 0 else self


@composite("atleast_2d(Tensor self) -> Tensor", method=False)
def atleast_2d(self):
    return self.reshape(1, 1) if self.dim() == 0 else self.unsqueeze(0) if self.dim() == 1 else self


@composite("atleast_3d(Tensor self) -> Tensor", method=False)
def atleast_3d(self):
    if self.dim() == 0:
        return self.reshape(1, 1, 1)
    if self.dim() == 1:
        return self.unsqueeze(0).unsqueeze(-1)
    return self.unsqueeze(-1) if self.dim() == 2 else self


@composite("broadcast_tensors(Tensor[] tensors) -> Tensor[]", function=False, method=False)
def broadcast_tensors(tensors):
    shape = _core.broadcast_shapes([t.shape for t in tensors])
    return tuple(t.expand(shape) for t in tensors)


@composite("adjoint(Tensor(a) self) -> Tensor(a)")
def adjoint(self):
    if self.dim() == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return self.transpose(-2, -1).conj() if self.dim() else self


def _matrix_transpose(self):
    if self.dim() < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {self.dim()}-D tensor."
        )
    return self.transpose(-2, -1)


def properties() -> dict[str, property]:
    """T, mT, H, mH, real and imag of the tensor type."""
    return {
        "T": property(lambda self: self.permute(list(range(self.dim()))[::-1]) if self.dim() != 2 else self.t()),
        "mT": property(_matrix_transpose),
        "H": property(lambda self: self.t().conj() if self.dim() in (0, 2) else _no_h(self)),
        "mH": property(lambda self: _matrix_transpose(self).conj()),
    }


def _no_h(self):
    raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor.")
