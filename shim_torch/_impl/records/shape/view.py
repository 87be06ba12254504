"""Views of one tensor: other sizes, dtypes and parts of the same memory."""

from __future__ import annotations

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import padded
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite, op, view
from shim_torch._impl.table.rules import same_dtype, wrap_dim


@view(
    "view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    native="view",
    function=False,
    grad={"self": lambda g, self_shape: g.reshape(self_shape)},
)
def view_(self, size):
    """The same memory in other sizes, one of which may be -1; or, given a dtype, read as elements of that one.

    RuntimeError where the strides do not allow it: ``reshape`` copies there. As another dtype it has no gradient.
    """
    return _core.view(self, size)


@composite("view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", function=False)
def view_dtype(self, dtype):
    """The same bytes read as another dtype; the last dim grows or shrinks with the element's size. No gradient."""
    return _core.view_dtype(self, dtype)  # the same memory, but neither gradients nor a base: as PyTorch has it


@op(
    "_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
    foreseen="any",
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
    """The elements in other sizes, one of which may be -1: a view where the strides allow, else a copy."""
    return (
        self.view(shape)
        if _core.can_view(self, shape)
        else _core.function("aten::_unsafe_view")(self.clone(memory_format=_core.contiguous_format), shape)
    )


@composite("view_as(Tensor(a) self, Tensor other) -> Tensor(a)", function=False)
def view_as(self, other):
    """A view in the sizes of ``other``."""
    return self.view(other.shape)


@composite("reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", function=False)
def reshape_as(self, other):
    """The elements in the sizes of ``other``: a view where the strides allow, else a copy."""
    return self.reshape(other.shape)


@view(
    "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
    native="expand",
    function=False,
    grad={"self": lambda g, self_shape: g.sum_to_size(self_shape)},
)
def expand(self, size, implicit):
    """A view in which dims of size 1 repeat their element, and new ones in front repeat the tensor: strides of 0.

    -1 keeps a size. RuntimeError where another size would change.
    """
    return _core.expand(self, size)


@composite("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", function=False)
def expand_as(self, other):
    """A view expanded to the sizes of ``other``."""
    return self.expand(other.shape)


@composite("broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)")
def broadcast_to(self, size):
    """A view expanded to ``size``: ``expand`` by NumPy's name."""
    return self.expand(size)


@composite("sum_to_size(Tensor self, SymInt[] size) -> Tensor", function=False)
def sum_to_size(self, size):
    """The sum over the dims that broadcasting from ``size`` would repeat; RuntimeError if it does not broadcast."""
    shape, extra = tuple(size), self.dim() - len(size)
    if extra < 0 or any(n not in (1, m) for n, m in zip(shape, self.shape[extra:], strict=True)):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}.")
    dims = [*range(extra), *(i + extra for i, n in enumerate(shape) if n == 1 and self.shape[i + extra] != 1)]
    if dims:
        return self.sum(dims, True).view(shape)
    return self.sum(()) if not shape else self  # PyTorch sums a tensor without dims too


@view(
    "squeeze(Tensor(a) self) -> Tensor(a)", native="squeeze", grad={"self": lambda g, self_shape: g.reshape(self_shape)}
)
def squeeze(self):
    """A view without the dims of size 1: all of them, or of those given. Dims of other sizes stay."""
    return _core.squeeze(self)


@view(
    "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
    native="squeeze",
    grad={"self": lambda g, self_shape: g.reshape(self_shape)},
    batching="along_dim",
)
def squeeze_dim(self, dim):
    """A view without ``dim`` if that is of size 1."""
    return _core.squeeze(self, (dim,))


@view(
    "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    native="squeeze",
    grad={"self": lambda g, self_shape: g.reshape(self_shape)},
    batching="along_dim",
)
def squeeze_dims(self, dim):
    """A view without those of the given dims that are of size 1."""
    return _core.squeeze(self, dim)


@view(
    "alias(Tensor(a) self) -> Tensor(a)",
    native="alias",
    function=False,
    method=False,
    grad={"self": lambda g: g},
    batching="pointwise",
)
def alias(self):
    """A view of the whole tensor."""
    return _core.alias(self)


@view(
    "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
    native="unsqueeze",
    grad={"self": lambda g, self_shape: g.reshape(self_shape)},
)
def unsqueeze(self, dim):
    """A view with a new dim of size 1 in front of ``dim``; a negative one counts from the end of the result."""
    return _core.unsqueeze(self, dim)


@view(
    "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
    native="as_strided",
    grad={
        "self": lambda g, self_shape, self_strides, self_start, size, stride, storage_offset: _as_strided_grad(
            g, self_shape, self_strides, size, stride, 0 if storage_offset is None else storage_offset - self_start
        )
    },
)
def as_strided(self, size, stride, storage_offset):
    """A view of any elements of the storage: sizes, strides and start (by default the tensor's own) count elements.

    Elements may overlap; a gradient is the sum over all places that show the element. RuntimeError beyond the storage.
    """
    return _core.as_strided(self, size, stride, storage_offset)


def _reach(sizes, strides):
    """The least and the largest place of an element, from the first one's."""
    ways = [(n - 1) * s for n, s in zip(sizes, strides, strict=True) if n]
    return sum(w for w in ways if w < 0), sum(w for w in ways if w > 0)


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
    first, last = _reach(size, stride)
    least = min(0, first + offset) if theirs.numel() else 0  # the result may begin before the input
    most = max(_reach(shape, strides)[1], last + offset if theirs.numel() else 0)
    flat = g.new_zeros(most - least + 1).index_add(0, theirs - least, g.reshape(-1))
    shared = g.new_zeros(most + 1).index_add(0, mine, g.new_ones(mine.numel())) if 0 in strides else None
    flat = flat[-least:] if least else flat
    return (flat if shared is None else flat / shared.clamp(min=1))[mine].reshape(shape)


@view(
    "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
    native="unfold",
    function=False,
    grad={"self": lambda g, self_shape, dimension, size, step: _unfold_grad(g, self_shape, dimension, size, step)},
    batching="along_dim",
)
def unfold(self, dimension, size, step):
    """A view of all windows of ``size`` elements along a dim, ``step`` apart; the elements are in a new last dim."""
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
    native="diagonal",
    grad={
        "self": lambda g, self_shape, offset, dim1, dim2: padded(
            g, self_shape, lambda full: full.diagonal(offset, dim1, dim2)
        )
    },
    batching="along_dim",
)
def diagonal(self, offset, dim1, dim2):
    """A view of the diagonals of the matrices that two dims span, as a new last dim.

    ``offset``: how many diagonals above (negative: below) the main one.
    """
    return _core.diagonal(self, offset, dim1, dim2)


@view(
    "view_as_real(Tensor(a) self) -> Tensor(a)",
    native="view_as_real",
    method=False,
    grad={"self": lambda g: torch.view_as_complex(g.contiguous())},
    batching="pointwise",
    nested="pointwise",
)
def view_as_real(self):
    """A view of a complex tensor (*) as real and imaginary parts (*, 2); RuntimeError for lazy conjugates."""
    return _core.view_as_real(self)


@view(
    "view_as_complex(Tensor(a) self) -> Tensor(a)",
    native="view_as_complex",
    method=False,
    grad={"self": lambda g: torch.view_as_real(g.contiguous().resolve_conj())},
    batching="pointwise",
)
def view_as_complex(self):
    """A view of pairs (*, 2) as complex numbers (*); RuntimeError for other sizes, strides and dtypes."""
    return _core.view_as_complex(self)
