"""Gathering, scattering and masking by indices. ``Tensor.__getitem__`` and ``__setitem__`` are in ``shim_torch._indexing``."""

from __future__ import annotations

import warnings
from typing import Any

from native import _core

from ._record import composite, op
from ._rules import holding, no_meta_kernel, same_dtype, type_name, wrap_dim


def _places(self: Any, indices: Any) -> list[Any]:
    """One index tensor, or None, for every dim that ``indices`` covers: masks become the places where they are true."""
    if len(indices) > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()} (got {len(indices)})")
    found: list[Any] = []
    for index in indices:
        if index is None:
            found.append(None)
        elif index.dtype in (_core.bool, _core.uint8):
            if index.dtype is _core.uint8:
                warnings.warn(
                    "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
                    stacklevel=3,
                )
            _check_mask(self, index, len(found))
            found += index.to(self.device).nonzero(as_tuple=True)
        elif index.dtype in (_core.int64, _core.int32):
            found.append(index if index.device == self.device else index.to(self.device))
        else:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if len(found) > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()} (got {len(found)})")
    return found


def _check_mask(self: Any, mask: Any, dim: int) -> None:
    for i, n in enumerate(mask.shape):
        if dim + i >= self.dim() or n != self.size(dim + i):
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {i} does not match the shape of the indexed tensor "
                f"{list(self.shape)} at index {dim + i}"
            )


def _indexed_shape(self: Any, indices: Any) -> tuple[int, ...]:
    """The result shape of advanced indexing: index dims in place if adjacent, else first."""
    at = [i for i, t in enumerate(indices) if t is not None]
    if not at:
        return tuple(self.shape)
    try:
        shape = _core.broadcast_shapes([indices[i].shape for i in at])
    except RuntimeError:
        shapes = ", ".join(str(list(indices[i].shape)) for i in at)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    adjacent = at == list(range(at[0], at[-1] + 1))
    rest = [n for d, n in enumerate(self.shape) if d >= len(indices) or indices[d] is None]
    first = at[0] if adjacent else 0
    covered = [n for d, n in enumerate(self.shape) if d in at]
    if 0 in covered and 0 not in shape:
        raise IndexError("index is out of bounds for dimension with size 0")
    return (*rest[:first], *shape, *rest[first:])


def _key(xp: Any, self: Any, indices: Any) -> tuple[Any, ...]:
    """The indices as NumPy takes them, within bounds."""
    order = -1
    for d, index in enumerate(indices):
        if index is None:
            continue
        order += 1
        n = self.shape[d]
        if index.size and xp.__name__ == "numpy":
            low, high = int(index.min()), int(index.max())
            if low < -n or high >= n:
                raise IndexError(
                    f"index {low if low < -n else high} is out of bounds for dimension {order} with size {n}"
                )
    return tuple(slice(None) if i is None else i for i in indices)


@composite("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", function=False, method=False, native="index")
def index(self, indices):
    """``self[indices]``; None keeps a dim, masks stand for as many dims as they have."""
    return _aten()._index_at(self, _places(self, indices))


@op(
    "_index_at(Tensor self, Tensor?[] indices) -> Tensor",
    native="_index_at",
    function=False,
    method=False,
    dtype=lambda self: self.dtype,
    keep=("self", "indices"),
    shape=_indexed_shape,
    grad={"self": lambda g, self_shape, indices: _aten().index_put(g.new_zeros(self_shape), indices, g, True)},
)
def _index_at(xp, self, indices):
    out = self[_key(xp, self, indices)]
    return out if out.base is not self else out.copy()


@composite(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    inplace=False,
)
def index_put(self, indices, values, accumulate):
    """A copy of ``self`` with ``values`` at ``indices``; equal places are summed with ``accumulate``."""
    masked = _as_masked_fill(self, indices, values, accumulate)
    if masked is not None:
        return self.masked_fill(masked, values)
    if self.is_meta and _has_mask(indices):
        return self.clone()
    return _aten()._index_put_at(self, *_assigned(self, indices, values), accumulate)


@composite(
    "index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)", function=True
)
def index_put_(self, indices, values, accumulate):
    """``self`` with ``values`` at ``indices``, in place."""
    masked = _as_masked_fill(self, indices, values, accumulate)
    if masked is not None:
        return self.masked_fill_(masked, values)
    if self.is_meta and _has_mask(indices):
        return self
    return _aten()._index_put_at_(self, *_assigned(self, indices, values), accumulate)


def _has_mask(indices: Any) -> bool:
    return any(i is not None and i.dtype in (_core.bool, _core.uint8) for i in indices)


def _as_masked_fill(self, indices, values, accumulate):
    """The mask, where all there is to do is filling one mask with one value."""
    given = [i for i in indices if i is not None]
    if (
        accumulate
        or values.numel() != 1
        or values.device.type != "cpu"
        or len(given) != 1
        or given[0].dtype is not _core.bool
    ):
        return None
    mask, dim = given[0], next(i for i, t in enumerate(indices) if t is not None)
    _check_mask(self, mask, dim)
    return mask.reshape(mask.shape + (1,) * (self.dim() - dim - mask.dim())).to(self.device)


def _assigned(self, indices, values):
    places = _places(self, indices)
    shape = _indexed_shape(self, places)
    sizes = tuple(values.shape)
    if len(sizes) > len(shape) or any(a not in (1, b) for a, b in zip(sizes[::-1], shape[::-1], strict=False)):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(sizes)} cannot be broadcast to indexing result of shape {list(shape)}"
        )
    if values.dtype != self.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{type_name(self.dtype)} for the destination and {type_name(values.dtype)} for the source."
        )
    return places, values


@op(
    "_index_put_at(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    inplace=True,
    native="index_put_at",
    function=False,
    method=False,
    shape=lambda self: self.shape,
    dtype=lambda self: (None, self.dtype),
    keep=("self", "indices", "values"),
    grad={
        "self": lambda g, indices, values_shape, accumulate: g if accumulate else _cleared(g, indices),
        "values": lambda g, indices: _aten().index(g, indices),
    },
)
def _index_put_at(xp, self, indices, values, accumulate):
    out, key = self.copy(), _key(xp, self, indices)
    if accumulate:
        _add_at(xp, out, key, values)
    else:
        out[key] = values
    return out


def _add_at(xp, out, key, values):
    if out.dtype.kind == "b":
        xp.logical_or.at(out, key, values)
    elif xp.__name__ == "numpy" and out.dtype.kind in "iufc":
        xp.add.at(out, key, values)
    else:
        xp.add.at(out, key, xp.broadcast_to(values, out[key].shape))


def _cleared(g, indices):
    return _aten().index_put(g, indices, g.new_zeros(()), False)


def _aten():
    import shim_torch

    return shim_torch.ops.aten


def _check_bounds(xp, index, n, dim, what):
    if xp.__name__ == "numpy" and index.size:
        if int(index.min()) < 0 or int(index.max()) >= n:
            first = int(index[(index < 0) | (index >= n)][0])
            raise RuntimeError(f"index {first} is out of bounds for dimension {dim} with size {n}")


@op(
    "index_select(Tensor self, int dim, Tensor index) -> Tensor",
    native="index_select",
    dtype=same_dtype,
    keep=("self", "index"),
    out=True,
    shape=lambda self, dim, index: _select_shape(self, dim, index),
    grad={"self": lambda g, self_shape, dim, index: g.new_zeros(self_shape).index_add(dim, index, g)},
)
def index_select(xp, self, dim, index):
    if self.ndim == 0:
        if xp.__name__ == "numpy" and index.size and index.reshape(-1)[0] != 0:
            raise IndexError("index out of range in self")
        return self.copy()
    d = dim % self.ndim
    if index.size and not self.shape[d]:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    if xp.__name__ == "numpy" and index.size and (int(index.min()) < 0 or int(index.max()) >= self.shape[d]):
        raise IndexError("index out of range in self")
    return xp.take(self, index.reshape(-1), axis=d)


def _select_shape(self, dim, index):
    if index.dim() > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype not in (_core.int64, _core.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    d = wrap_dim(dim, self.dim())
    return tuple(index.numel() if i == d else n for i, n in enumerate(self.shape))


@op(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    inplace=True,
    native="index_add",
    out=True,
    shape=lambda self, dim, index, source: _add_shape(self, dim, index, source),
    dtype=lambda self: self.dtype,
    keep=("index",),
    grad={
        "self": lambda g: g,
        "source": lambda g, dim, index, alpha, source_shape: (g.index_select(dim, index) * alpha).reshape(source_shape),
    },
)
def index_add(xp, self, dim, index, source, alpha):
    factor = xp.asarray(alpha).astype(self.dtype)  # -1 of an unsigned dtype wraps
    if self.ndim == 0:
        return self + source.reshape(()) * factor
    out, d = self.copy(), dim % self.ndim
    _check_bounds(xp, index, self.shape[d], d, "index_add")
    key = (slice(None),) * d + (index.reshape(-1),)
    _add_at(xp, out, key, (source * factor).astype(out.dtype))
    return out


def _add_shape(self, dim, index, source):
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"index_add_(): self ({type_name(self.dtype)}) and source ({type_name(source.dtype)}) must have the same scalar type"
        )
    d = wrap_dim(dim, self.dim())
    along = source.size(d) if source.dim() else 1
    if index.numel() != along:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.numel()}) should be equal to source.size(dim): ({along}), for dim: {d}"
        )
    rest, given = ([n for i, n in enumerate(t.shape) if i != d] for t in (self, source))
    if self.dim() and source.dim() and rest != given:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self.shape)} source.shape = {list(source.shape)}"
        )
    return self.shape


def _gather_shape(self, dim, index):
    if index.numel() and index.dtype != _core.int64 and index.dtype != _core.int32:
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    if max(self.dim(), 1) != max(index.dim(), 1) and index.numel():
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    d = wrap_dim(dim, self.dim())
    for i in range(self.dim()):
        if i != d and index.numel() and index.size(i) > self.size(i):
            raise RuntimeError(
                f"Size does not match at dimension {i} expected index {list(index.shape)} to be no larger than self "
                f"{list(self.shape)} apart from dimension {d}"
            )
    return index.shape


def _grid(xp, shape, d, index):
    """Indices of every element of ``shape`` with dim ``d`` replaced by ``index``."""
    key = [xp.arange(n).reshape([-1 if i == j else 1 for j in range(len(shape))]) for i, n in enumerate(shape)]
    key[d] = index
    return tuple(key)


def _gather_grad(g, self_shape, dim, index, sparse_grad):
    if sparse_grad:
        from shim_torch.sparse._coo import gather_gradient

        return gather_gradient(g, self_shape, dim, index)
    return g.new_zeros(self_shape).scatter_add(dim, index, g)


@op(
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    native="gather",
    dtype=same_dtype,
    keep=("self", "index"),
    shape=_gather_shape,
    out=True,
    grad={"self": _gather_grad},
)
def gather(xp, self, dim, index, sparse_grad):
    if self.ndim == 0:
        return xp.broadcast_to(self, index.shape).copy()
    if index.size == 0:
        return xp.empty(index.shape, self.dtype)
    if index.ndim == 0:
        return gather(xp, self, dim, index.reshape(1), sparse_grad).reshape(())
    d = dim % self.ndim
    _check_bounds(xp, index, self.shape[d], d, "gather")
    return self[_grid(xp, index.shape, d, index)]


def _scatter(xp, self, dim, index, source, how):
    out = self.copy()
    if index.size == 0:
        return out
    if self.ndim == 0:
        value = source.reshape(-1)[0] if getattr(source, "ndim", 0) else source
        out[...] = out + value if how == "add" else out * value if how == "multiply" else value
        return out
    if index.ndim == 0:
        index = index.reshape(1)
    d = dim % self.ndim
    _check_bounds(xp, index, self.shape[d], d, "scatter")
    key = _grid(xp, index.shape, d, index)
    if hasattr(source, "ndim") and source.ndim:
        source = source[tuple(slice(n) for n in index.shape)]
    if how == "add":
        _add_at(xp, out, key, xp.broadcast_to(source, index.shape).astype(out.dtype))
    elif how == "multiply":
        xp.multiply.at(out, key, xp.broadcast_to(source, index.shape).astype(out.dtype))
    else:
        out[key] = source
    return out


def _scatter_shape(self: Any, dim: int, index: Any) -> Any:
    return _scattered(self, dim, index, None)


def _scatter_src_shape(self: Any, dim: int, index: Any, src: Any) -> Any:
    return _scattered(self, dim, index, src)


def _scattered(self: Any, dim: int, index: Any, src: Any) -> Any:
    """The shape of ``self``, where the index fits it and the source."""
    d = wrap_dim(dim, self.dim())
    if not index.numel():
        return self.shape
    if index.dtype not in (_core.int64, _core.int32):
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    for t, name in ((self, "self"), (src, "src")):
        if t is not None and max(index.dim(), 1) != max(t.dim(), 1):
            raise RuntimeError(f"Index tensor must have the same number of dimensions as {name} tensor")
    sizes, own = tuple(index.shape), tuple(self.shape) or (1,)
    wrong = any(i != d and n > own[i] for i, n in enumerate(sizes))
    if src is None:
        if wrong:
            raise RuntimeError(
                f"Expected index {list(sizes)} to be no larger than self {list(self.shape)} apart from dimension {d}"
            )
    elif wrong or any(n > m for n, m in zip(sizes, tuple(src.shape) or (1,), strict=False)):
        raise RuntimeError(
            f"Expected index {list(sizes)} to be no larger than self {list(self.shape)} apart from dimension {d} and to be no "
            f"larger size than src {list(src.shape)}"
        )
    return self.shape


_SCATTER = {"shape": _scatter_shape, "inplace": True, "out": True, "keep": ("index",)}
_SCATTER_SRC = {**_SCATTER, "shape": _scatter_src_shape}


def _scatter_dtype(self, src):
    if self.dtype != src.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    return self.dtype


@op(
    "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    native="scatter_src",
    **_SCATTER_SRC,
    dtype=_scatter_dtype,
    grad={
        "self": lambda g, dim, index: g.scatter(dim, index, 0),
        "src": lambda g, dim, index, src_shape: _gather_to(g, dim, index, src_shape),
    },
)
def scatter_src(xp, self, dim, index, src):
    return _scatter(xp, self, dim, index, src, None)


def _gather_to(g, dim, index, shape):
    """The gradient of a source of which only the part that index covers was used."""
    picked = g.gather(dim, index)
    if picked.shape == shape:
        return picked
    full = g.new_zeros(shape)
    full[tuple(slice(n) for n in index.shape)] = picked
    return full


@op(
    "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    native="scatter_value",
    **_SCATTER,
    dtype=lambda self: self.dtype,
    grad={"self": lambda g, dim, index: g.scatter(dim, index, 0)},
)
def scatter_value(xp, self, dim, index, value):
    return _scatter(xp, self, dim, index, self.dtype.type(value), None)


@op(
    "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
    **_SCATTER_SRC,
    dtype=_scatter_dtype,
)
def scatter_reduce(xp, self, dim, index, src, reduce):
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    return _scatter(xp, self, dim, index, src, reduce)


@op(
    "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
    **_SCATTER,
    dtype=lambda self: self.dtype,
)
def scatter_value_reduce(xp, self, dim, index, value, reduce):
    return _scatter(xp, self, dim, index, xp.asarray(value, dtype=self.dtype), reduce)


@op(
    "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    native="scatter_add",
    **_SCATTER_SRC,
    dtype=_scatter_dtype,
    grad={"self": lambda g: g, "src": lambda g, dim, index, src_shape: _gather_to(g, dim, index, src_shape)},
)
def scatter_add(xp, self, dim, index, src):
    return _scatter(xp, self, dim, index, src, "add")


def _mask_shape(self, mask):
    if mask.dtype != _core.bool:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    return _core.broadcast_shapes([self.shape, mask.shape])


@op(
    "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
    inplace=True,
    function=True,
    shape=_mask_shape,
    dtype=lambda self: self.dtype,
    keep=("mask", "value"),
    grad={"self": lambda g, mask: g.masked_fill(mask, 0), "value": lambda g, mask: (g * mask).sum()},
)
def masked_fill_tensor(xp, self, mask, value):
    if value.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if value.dtype.kind == "c" != self.dtype.kind:
        if bool(value.imag != 0):
            name = "int64_t" if self.dtype.kind in "iu" else "float" if self.dtype.itemsize == 4 else "double"
            raise RuntimeError(f"value cannot be converted to type {name} without overflow")
        value = value.real
    return xp.where(mask, value.astype(self.dtype), self)


@op(
    "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    inplace=True,
    function=True,
    shape=_mask_shape,
    dtype=holding,
    keep=("mask",),
    native="masked_fill",
    grad={"self": lambda g, mask: g.masked_fill(mask, 0)},
)
def masked_fill(xp, self, mask, value):
    return xp.where(mask, xp.asarray(value).astype(self.dtype), self)


@composite("masked_select(Tensor self, Tensor mask) -> Tensor", out=True, native="masked_select")
def masked_select(self, mask):
    if mask.dtype != _core.bool:
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, but got {mask.dtype}")
    if self.is_meta:
        raise no_meta_kernel("masked_select")
    shape = _core.broadcast_shapes([self.shape, mask.shape])
    return self.expand(shape)[mask.expand(shape)]


@op(
    "_nonzero(Tensor self) -> Tensor",
    native="_nonzero",
    function=False,
    method=False,
    module="_C",
    dtype=lambda self: (None, _core.int64),
)
def _nonzero(xp, self):
    """A row for each dim, so that the indices of one dim lie side by side."""
    if self.ndim == 0:
        return xp.zeros((0, int(bool(self))), "int64")
    return xp.stack(xp.nonzero(self), axis=0).astype("int64")


@composite("nonzero(Tensor self) -> Tensor", out=True, function=False, method=False)
def nonzero(self):
    import shim_torch

    if self.is_meta:
        raise NotImplementedError(
            "The register_meta function for torch.nonzero() raises unimplemented by default, as a correct data-independent "
            "implementation does not exist. This implementation returns a fake value, assuming all elements of the tensor are "
            "non-zero. To enable this registration, please set "
            "'torch.fx.experimental._config.meta_nonzero_assume_all_nonzero' to True."
        )
    return _core.transpose(shim_torch.ops.aten._nonzero(self), 0, 1)


def nonzero_function(input: Any, *, out: Any = None, as_tuple: bool = False) -> Any:
    """Indices of the nonzero elements, (n, dims) int64; ``as_tuple``: one tensor a dim."""
    import shim_torch

    if out is not None and as_tuple:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    if out is not None and out.dtype != _core.int64:
        raise RuntimeError(
            f"nonzero: Expected out tensor to have scalar type Long but got scalar type{type_name(out.dtype)}"
        )
    places = shim_torch.ops.aten.nonzero(input)
    if not as_tuple:
        if out is None:
            return places
        return (out if out.shape == places.shape else out.resize_(places.shape)).copy_(places)
    if input.dim() == 0:  # one place if it is not zero
        return (places.new_zeros((places.size(0),)),)
    return places.unbind(1)


@composite("where(Tensor condition) -> Tensor[]", method=False)
def where_condition(condition):
    return nonzero_function(condition, as_tuple=True)


@composite(
    "select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor",
    method=False,
    function=False,
)
def select_backward(grad_output, input_sizes, dim, index):
    full = grad_output.new_zeros(input_sizes)
    full.select(dim, index).copy_(grad_output)
    return full


@composite(
    "slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor",
    method=False,
    function=False,
)
def slice_backward(grad_output, input_sizes, dim, start, end, step):
    import shim_torch

    full = grad_output.new_zeros(input_sizes)
    shim_torch.ops.aten.slice(full, dim, start, end, step).copy_(grad_output)
    return full
