"""Rearranged and repeated copies: flips, rolls and repeats."""

from __future__ import annotations

from typing import Any

import numpy as np

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import same, same_dtype, same_order, wrap_dim, wrap_dims

_COPY = {"dtype": same_dtype, "keep": ("self",)}


def _flip_dims(self: Any, dims: Any) -> tuple[int, ...]:
    return wrap_dims(dims, len(self.shape)) if len(dims) else ()


def _flip_shape(self, dims):
    _flip_dims(self, dims)
    return self.shape


@op(
    "flip(Tensor self, int[] dims) -> Tensor",
    native="flip",
    shape=_flip_shape,
    out=True,
    order=same_order,
    grad={"self": lambda g, dims: g.flip(dims)},
    **_COPY,
    batching="along_dim",
)
def flip(xp, self, dims):
    """A copy with the order of the elements along each of ``dims`` reversed."""
    axes = _flip_dims(self, dims)
    return xp.flip(self, axes) if axes else self


@composite("fliplr(Tensor self) -> Tensor")
def fliplr(self):
    """A copy with the columns (dim 1) in reversed order; RuntimeError below two dims."""
    if self.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return self.flip((1,))


@composite("flipud(Tensor self) -> Tensor")
def flipud(self):
    """A copy with the rows (dim 0) in reversed order; RuntimeError for 0-d tensors."""
    if self.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return self.flip((0,))


def _roll_shape(self, shifts, dims):
    if len(dims) == 1 and len(shifts) == 1:
        wrap_dim(dims[0], len(self.shape))
    elif len(shifts) == 0:
        raise RuntimeError("`shifts` required")
    elif len(dims) == 0 and len(shifts) == 1:
        pass
    elif len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if dims and not len(self.shape):
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    return self.shape


@op("roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", foreseen="any", shape=_roll_shape, out=True, native="roll", follows=("self",),
    grad={"self": lambda g, shifts, dims: g.roll([-s for s in shifts], dims)}, **_COPY)  # fmt: skip
def roll(xp, self, shifts, dims):
    """A copy with the elements moved by ``shifts`` along ``dims``; what passes the end comes in again at the start.

    Without ``dims`` the elements move as if the tensor were flat. RuntimeError unless there is one shift a dim.
    """
    if self.size == 0 or self.ndim == 0:
        return self
    if not len(dims):
        return xp.roll(self.reshape(-1), shifts[0]).reshape(self.shape)
    return xp.roll(self, tuple(shifts), tuple(wrap_dim(d, self.ndim) for d in dims))


def _rot90_shape(self, k, dims):
    n = len(self.shape)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if n < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {n}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == n:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    for d in dims:
        wrap_dim(d, n)
    shape = list(self.shape)
    if k % 2:
        shape[dims[0]], shape[dims[1]] = shape[dims[1]], shape[dims[0]]
    return tuple(shape)


def _rot90_order(self, k, dims):
    """That of the input, whose dims may have changed places; unturned, and of expanded ones, C order."""
    (order,) = same_order(self) if k % 4 else (None,)
    if k % 2:
        order = order or range(len(self.shape))
        a, b = (wrap_dim(d, len(order)) for d in dims)
        order = [b if d == a else a if d == b else d for d in order]
    return (order,)


@op("rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor", shape=_rot90_shape, out=True, order=_rot90_order, native="rot90",
    grad={"self": lambda g, k, dims: g.rot90(-k, dims)}, **_COPY, batching="along_dim")  # fmt: skip
def rot90(xp, self, k, dims):
    """A copy turned by ``k`` times 90° in the plane of two dims, from the first towards the second."""
    a, b = dims
    if k % 4 == 0:
        return self.copy()
    turned = self if k % 4 == 2 else self.swapaxes(a, b)
    back = [slice(None)] * self.ndim
    for d in (a, b) if k % 4 == 2 else (a,) if k % 4 == 1 else (b,):
        back[d] = slice(None, None, -1)
    return turned[tuple(back)]


def _repeat_shape(self, repeats):
    n = len(self.shape)
    if len(repeats) < n:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    padded = (1,) * (len(repeats) - n) + tuple(self.shape)
    sizes = tuple(s * r for s, r in zip(padded, repeats, strict=True))
    for s, r in zip(sizes, repeats, strict=True):
        if r < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {s}: {list(sizes)}")
    return sizes


def _repeat_grad(g, self_shape, repeats):
    extra = len(repeats) - len(self_shape)
    if extra:
        g = g.sum(tuple(range(extra)))
    split: list[int] = []
    dims: list[int] = []
    for size, times in zip(self_shape, repeats[extra:], strict=True):
        dims.append(len(split))
        split += [times, size]
    return g.reshape(split).sum(tuple(dims)) if dims else g


@op(
    "repeat(Tensor self, SymInt[] repeats) -> Tensor",
    foreseen="any",
    native="repeat",
    function=False,
    shape=_repeat_shape,
    grad={"self": _repeat_grad},
    **_COPY,
)
def repeat(xp, self, repeats):
    """Copies of the tensor side by side: ``repeats[i]`` of them along each dim.

    More repeats than dims make new dims in front; fewer, and negative ones, are a RuntimeError.
    """
    return xp.tile(self, tuple(repeats)) if len(repeats) else self


@composite("tile(Tensor self, SymInt[] dims) -> Tensor")
def tile(self, dims):
    """Copies of the tensor side by side as by ``repeat``; fewer numbers than dims are those of the last dims."""
    return self.repeat((1,) * (self.dim() - len(dims)) + tuple(dims))


def _repeat_places(xp: Any, repeats: Any, output_size: Any) -> Any:
    if repeats.dtype not in ("int32", "int64"):
        kind = _core.scalar_name(getattr(_core, str(repeats.dtype)))
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{kind}'")
    if repeats.ndim > 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.size and bool((repeats < 0).any()):
        raise RuntimeError("repeats can not be negative")
    if repeats.size and float(repeats.sum(dtype="float64")) >= 2.0**60:  # more bytes of places than 64 bits count
        raise RuntimeError("Storage size calculation overflowed: too many repeats")
    if isinstance(repeats, np.ndarray):
        places = np.repeat(np.arange(repeats.size), repeats.reshape(-1))
    else:  # CuPy repeats by numbers of the host only
        ends = xp.cumsum(repeats.reshape(-1), dtype="int64")
        places = xp.searchsorted(ends, xp.arange(int(ends[-1]) if repeats.size else 0), side="right")
    if output_size is not None and output_size != places.size:
        raise RuntimeError("allocated size does not match required size")
    return places.astype("int64")


@composite(
    "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor"
)
def repeat_interleave_tensor(self, repeats, dim, output_size):
    """Each element along a dim several times in a row; without ``dim`` of the flattened tensor.

    ``repeats``: one number for all, or an int32 or int64 tensor of one an element along the dim. ``output_size``: the
    result's size along the dim, which spares waiting for a GPU to tell it. With ``repeats`` alone: the index of each
    element, as often. RuntimeError for negative repeats and sizes that do not fit.
    """
    x, d = (self.reshape(-1), 0) if dim is None else (self, dim)
    if repeats.dim() == 0 or (repeats.dim() == 1 and repeats.size(0) == 1):
        repeats = repeats.reshape(1).expand(x.size(d) if x.dim() else 1)
    elif repeats.dim() == 1:
        if repeats.size(0) != x.size(d):
            raise RuntimeError(
                f"repeats must have the same size as input along dim, but got repeats.size(0) = {repeats.size(0)} and "
                f"input.size({d}) = {x.size(d)}"
            )
    else:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    places = _places_on_cuda(repeats, output_size) if repeats.is_cuda and repeats.numel() else None
    if places is None:
        places = aten.repeat_interleave.Tensor(repeats, output_size=output_size)
    return x.index_select(d, places)


def _places_on_cuda(repeats: Any, output_size: Any) -> Any:
    """The places, asking the GPU at most once: for their number. None in a compiled function, where that would be a read."""
    if repeats.dtype not in (_core.int32, _core.int64) or (output_size is None and _core.trace_active()):
        return None
    ends = repeats.cumsum(0)
    if output_size is None:
        output_size, least = torch.stack([ends[-1], repeats.amin().to(ends.dtype)]).tolist()
        if least < 0:
            raise RuntimeError("repeats can not be negative")
    places = torch.arange(output_size, device=repeats.device)
    return torch.searchsorted(ends, places, right=True, out_int32=repeats.dtype == _core.int32)


@op("repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor", keep=("repeats",), method=False,
    dtype=lambda repeats: (None, repeats.dtype), dynamic_shape=True)  # fmt: skip
def repeat_interleave_places(xp, repeats, output_size):
    """Each index of ``repeats`` as often as its element says, in the dtype of ``repeats``."""
    return _repeat_places(xp, repeats, output_size).astype(repeats.dtype)


@composite(
    "repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
    native="repeat_interleave",
)
def repeat_interleave_int(self, repeats, dim, output_size):
    """Each element along a dim ``repeats`` times in a row; without ``dim`` of the flattened tensor."""
    x, d = (self.reshape(-1), 0) if dim is None else (self, wrap_dim(dim, self.dim()))
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    if x.dim() == 0:
        x = x.reshape(1)
    shape = list(x.shape)
    wide = x.unsqueeze(d + 1).expand([*shape[: d + 1], repeats, *shape[d + 1 :]])
    out = wide.clone(memory_format=_core.contiguous_format).flatten(d, d + 1)
    if output_size is not None and output_size != out.size(d):
        raise RuntimeError("repeat_interleave: Invalid output_size")
    return out


@composite(
    "narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor",
    gradient_name="NarrowCopyBackward0",
    out=True,
    out_dtype="Expected self.dtype() == output.dtype() to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)",
    out_resize="silent",
)
def narrow_copy(self, dim, start, length):
    """A copy of ``length`` elements from ``start`` on along ``dim``; RuntimeError where there are none."""
    if not self.dim():
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if dim >= self.dim():
        raise RuntimeError(
            "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could this error message be "
            "improved?  If so, please report an enhancement request to PyTorch.)"
        )
    if length < 0 and self.dim():
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({self.size(dim)}).")
    return self.narrow(dim, start, length).clone()


@op("fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)", function=False, shape=same,
    dtype=same_dtype, grad={"self": lambda g, wrap: g.clone().fill_diagonal_(0, wrap)}, pointwise=False, expanded="same_value")  # fmt: skip
def fill_diagonal_(xp, self, fill_value, wrap):
    """In place: ``fill_value`` along the main diagonal of a matrix, or of a tensor whose dims are all of one size.

    ``wrap``: in a matrix with more rows than columns the diagonal begins again, after one row left out.
    RuntimeError below two dims, and for more than two that differ.
    """
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    out = self.copy()
    flat, (rows, columns) = out.reshape(-1), self.shape[:2]
    if self.ndim > 2:
        flat[:: sum(rows**i for i in range(self.ndim))] = fill_value
    else:
        flat[: None if wrap else min(rows, columns) * columns : columns + 1] = fill_value
    return out
