"""Writing and reading by index beyond plain indexing, and counting of values."""

from __future__ import annotations

from typing import Any

from native import _core
from shim_torch._utils import _scalar

from ._record import composite, op
from ._rules import broadcast, holding, same_dtype, wrap_dim


def _along(dim: int, index: Any) -> tuple[Any, ...]:
    return (slice(None),) * dim + (index,)


def _grid(xp: Any, axis: int, index: Any) -> tuple[Any, ...]:
    """Full index arrays that put ``index`` at ``axis`` and count up in the other dims."""
    axes = [xp.arange(n).reshape([-1 if j == i else 1 for j in range(index.ndim)]) for i, n in enumerate(index.shape)]
    axes[axis] = index
    return tuple(axes)


def _bounded(index: Any, size: int, what: str) -> Any:
    """The index, all of it in bounds; ``what`` may name the first bad one as {bad}."""
    bad = (index < 0) | (index >= size)
    if bool(bad.any()):
        raise IndexError(what.format(bad=int(index[bad].reshape(-1)[0])))
    return index


def _copied(self: Any) -> Any:
    return self.copy() if self.ndim else self.reshape(1).copy()


# --- one index along a dim -----------------------------------------------------------------------------------------------------


def _index_copy_shape(self, dim, index, source):
    d = wrap_dim(dim, len(self.shape))
    if len(index.shape) > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {len(index.shape)})")
    count = index.shape[0] if len(index.shape) else 1
    if len(source.shape) == 0 and count != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {count})")
    if len(source.shape) != len(self.shape) and len(source.shape) and len(self.shape):
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({len(source.shape)}), destination dimensionality ({len(self.shape)})"
        )
    if index.dtype not in (_core.int64, _core.int32):
        raise RuntimeError("index_copy_(): Expected a long tensor for index, but got " + _scalar(index.dtype))
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {_scalar(self.dtype)} and "
            f"(source) {_scalar(source.dtype)}"
        )
    if len(source.shape) and count != source.shape[d]:
        raise IndexError(
            f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) ({source.shape[d]})"
        )
    return self.shape


def _index_copy_source_grad(g, dim, index, source_shape):
    return g.index_select(dim, index).expand(source_shape) if len(source_shape) else g.index_select(dim, index).sum()


@op("index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", inplace=True, out=True, shape=_index_copy_shape,
    dtype=same_dtype, keep=("index",), grad={"self": lambda g, dim, index: g.index_fill(dim, index, 0),
                                            "source": _index_copy_source_grad})  # fmt: skip
def index_copy(xp, self, dim, index, source):
    out, d = _copied(self), wrap_dim(dim, self.ndim)
    index = _bounded(
        index.reshape(-1),
        out.shape[d],
        f"index_copy_(): index {{bad}} is out of bounds for dimension {d} with size {out.shape[d]}",
    )
    out[_along(d, index)] = source
    return out.reshape(self.shape)


def _index_fill_shape(self, dim, index):
    wrap_dim(dim, len(self.shape))
    if index.dtype not in (_core.int64, _core.int32):
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if len(index.shape) > 1:
        raise IndexError("Index has to be a vector/scalar")
    return self.shape


def _index_filled(xp, self, dim, index, value):
    out, d = _copied(self), wrap_dim(dim, self.ndim)
    n = out.shape[d]
    bad = (index < -n) | (index >= n)
    if bool(bad.any()):
        first = int(index[bad].reshape(-1)[0])
        raise IndexError(f"index {first} is out of bounds for dimension {d} with size {n}")
    out[_along(d, index.reshape(-1))] = xp.asarray(value).astype(out.dtype)
    return out.reshape(self.shape)


def _filled_dtype(self, value):
    if isinstance(value, complex) and not self.dtype.is_complex:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    return holding(self, value)


_FILL = {"inplace": True, "shape": _index_fill_shape, "dtype": same_dtype, "keep": ("index",)}


@op("index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", **_FILL,
    grad={"self": lambda g, dim, index: g.index_fill(dim, index, 0),
          "value": lambda g, dim, index: g.index_select(dim, index.unique()).sum()})  # fmt: skip
def index_fill_tensor(xp, self, dim, index, value):
    if value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    return _index_filled(xp, self, dim, index, value)


@op("index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    grad={"self": lambda g, dim, index: g.index_fill(dim, index, 0)}, **{**_FILL, "dtype": _filled_dtype})  # fmt: skip
def index_fill(xp, self, dim, index, value):
    return _index_filled(xp, self, dim, index, value)


# --- reductions into places --------------------------------------------------------------------------------------------------------


def _ordered(xp: Any, x: Any, largest: bool) -> Any:
    """Unsigned words in the order of numbers (the reverse one for the smallest); NaN comes last."""
    if x.dtype.kind != "f":
        words = x.astype("int64").view("uint64") ^ xp.uint64(1 << 63) if x.dtype.kind == "i" else x.astype("uint64")
        return words if largest else ~words
    kind = xp.uint32 if x.dtype.itemsize == 4 else xp.uint64
    sign = kind(1 << (x.dtype.itemsize * 8 - 1))
    bits = xp.ascontiguousarray(x).view(kind)
    words = xp.where(bits & sign, ~bits, bits | sign)
    return xp.where(xp.isnan(x), ~kind(0), words if largest else ~words)


def _unordered(xp: Any, words: Any, dtype: Any, largest: bool) -> Any:
    """The numbers that ``_ordered`` made words of."""
    words = words if largest else ~words
    if dtype.kind != "f":
        return ((words ^ xp.uint64(1 << 63)).view("int64") if dtype.kind == "i" else words).astype(dtype)
    sign = words.dtype.type(1 << (dtype.itemsize * 8 - 1))
    return xp.where(words & sign, words & ~sign, ~words).view(dtype)


def _extreme_at(xp: Any, out: Any, key: Any, src: Any, largest: bool) -> Any:
    """Extremes into places by way of words: CuPy's own of float64 go through float32, and lose NaN."""
    words = _ordered(xp, out, largest)
    xp.maximum.at(words, key, _ordered(xp, xp.broadcast_to(xp.asarray(src), words[key].shape), largest))
    return _unordered(xp, words, out.dtype, largest)


def _reduced_into(xp: Any, self: Any, key: Any, src: Any, reduce: str, include_self: bool) -> Any:
    out = self.copy()
    integral = out.dtype.kind in "iub"
    if not include_self:
        extreme = {"i": lambda: xp.iinfo(out.dtype), "u": lambda: xp.iinfo(out.dtype)}.get(out.dtype.kind)
        low, high = (extreme().min, extreme().max) if extreme else (False, True) if integral else (-xp.inf, xp.inf)
        out[key] = {"prod": 1, "amax": low, "amin": high}.get(reduce, 0)
    if reduce in ("amax", "amin") and xp.__name__ == "cupy":
        return _extreme_at(xp, out, key, src, reduce == "amax")
    ufunc = {"sum": xp.add, "mean": xp.add, "prod": xp.multiply, "amax": xp.maximum, "amin": xp.minimum}[reduce]
    ufunc.at(out, key, src)
    if reduce == "mean":
        count = xp.full(out.shape, int(include_self), "int64")
        xp.add.at(count, key, 1)
        count[count == 0] = 1
        out = (out // count if integral else out / count).astype(self.dtype)
    return out


class _Places:
    """How gradients read and write the places of a scatter (``dim, index`` of full shape) or of a 1-d index."""

    def __init__(self, dim: int, index: Any, along: bool) -> None:
        self.dim, self.index, self.along = dim, index, along

    def read(self, t: Any) -> Any:
        return t.index_select(self.dim, self.index) if self.along else t.gather(self.dim, self.index)

    def cleared(self, t: Any) -> Any:
        return t.index_fill(self.dim, self.index, 0) if self.along else t.scatter(self.dim, self.index, 0)

    def added(self, t: Any, src: Any) -> Any:
        return t.index_add(self.dim, self.index, src) if self.along else t.scatter_add(self.dim, self.index, src)

    def product(self, t: Any, src: Any, include_self: bool) -> Any:
        method = t.index_reduce if self.along else t.scatter_reduce
        return method(self.dim, self.index, src, "prod", include_self=include_self)


def _reduce_grads(
    g: Any, self: Any, src: Any, result: Any, reduce: str, include_self: bool, at: _Places
) -> tuple[Any, Any]:
    import shim_torch

    if reduce == "sum":
        of_self, of_src = g, at.read(g)
    elif reduce == "mean":
        count = at.added(self * 0 + 1 if include_self else self.new_zeros(self.shape), src.new_ones(src.shape))
        count = count.masked_fill(count == 0, 1)
        of_self, of_src = g / count, at.read(g / count)
    elif reduce in ("amax", "amin"):
        from_self = (self == result).to(self.dtype)
        from_src = (src == at.read(result)).to(self.dtype)
        share = g / at.added(from_self, from_src)
        of_self, of_src = from_self * share, from_src * at.read(share)
    else:
        whole = self.masked_fill(self == 0, 1)
        of_self = g * at.product(whole, src, include_self) / whole
        zero = src == 0
        alone = zero & (at.read(at.added(self.new_zeros(self.shape), zero.to(self.dtype))) == 1)
        others = at.product(self, src.masked_fill(alone, 1), include_self)
        of_src = shim_torch.where(alone, at.read(g * others), at.read(g * result) / src.masked_fill(zero, 1))
    return (of_self if include_self else at.cleared(of_self)), of_src


def _scatter_reduce_shape(self, dim, index, src, reduce):
    wrap_dim(dim, len(self.shape))
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError("reduce argument must be either sum, prod, mean, amax or amin, got " + reduce)
    if index.numel() and index.dtype not in (_core.int64, _core.int32):
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    if self.dtype != src.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    return self.shape


def _scatter_reduce_grad(g, self, dim, index, src, reduce, include_self, result):
    return _reduce_grads(g, self, src, result, reduce, include_self, _Places(dim, index, False))


@op("scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
    inplace=True, out=True, shape=_scatter_reduce_shape, dtype=same_dtype, keep=("index",),
    grad={"self, src": _scatter_reduce_grad})  # fmt: skip
def scatter_reduce(xp, self, dim, index, src, reduce, include_self):
    if index.size == 0:
        return self
    if self.ndim == 0:
        key, grown, src = (index.reshape(-1),), self.reshape(1), src.reshape(-1)[: index.size]
    else:
        d = wrap_dim(dim, self.ndim)
        bad = (index < 0) | (index >= self.shape[d])
        if bool(bad.any()):
            first = int(index[bad].reshape(-1)[0])
            raise RuntimeError(f"index {first} is out of bounds for dimension {d} with size {self.shape[d]}")
        key, grown = _grid(xp, d, index), self
        src = src[tuple(slice(n) for n in index.shape)]
    return _reduced_into(xp, grown, key, src, reduce, include_self).reshape(self.shape)


def _index_reduce_shape(self, dim, index, source, reduce):
    d = wrap_dim(dim, len(self.shape))
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    if len(index.shape) > 1:
        raise IndexError("Index is supposed to be a vector")
    if index.dtype not in (_core.int64, _core.int32):
        raise RuntimeError("index_reduce(): Expected dtype int32/int64 for index")
    if self.dtype != source.dtype:
        raise RuntimeError("index_reduce(): self and source must have the same dtype")
    if index.numel() != (source.shape[d] if len(source.shape) else 1):
        raise RuntimeError(
            f"index_reduce_(): Number of indices ({index.numel()}) should be equal to source.size(dim): "
            f"({source.shape[d] if len(source.shape) else 1}), for dim: {d}"
        )
    return self.shape


def _index_reduce_grad(g, self, dim, index, source, reduce, include_self, result):
    return _reduce_grads(g, self, source, result, reduce, include_self, _Places(dim, index, True))


@op("index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
    inplace=True, out=True, shape=_index_reduce_shape, dtype=same_dtype, keep=("index",),
    grad={"self, source": _index_reduce_grad})  # fmt: skip
def index_reduce(xp, self, dim, index, source, reduce, include_self):
    if index.size == 0:
        return self
    grown = self.reshape(1) if self.ndim == 0 else self
    d = wrap_dim(dim, grown.ndim)
    index = _bounded(index.reshape(-1), grown.shape[d], "index out of range in self")
    return _reduced_into(xp, grown, _along(d, index), source, reduce, include_self).reshape(self.shape)


# --- masks and flat places -----------------------------------------------------------------------------------------------------


def _masked_source_grad(g, mask, source_shape):
    import shim_torch

    count = 1
    for n in source_shape:
        count *= n
    used = g.masked_select(mask.expand_as(g))
    return shim_torch.cat([used, g.new_zeros(count - used.numel())]).view(source_shape)


def _masked_scatter_dtype(self, mask, source):
    if self.dtype != source.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got"
            f"{_scalar(self.dtype)} and {_scalar(source.dtype)}"
        )
    if mask.dtype != _core.bool:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {_scalar(mask.dtype)}"
        )
    return self.dtype


@op("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", inplace=True, dtype=_masked_scatter_dtype,
    shape=lambda self, mask: broadcast(self, mask), keep=("self", "mask", "source"),
    grad={"self": lambda g, mask: g.masked_fill(mask, 0), "source": _masked_source_grad})  # fmt: skip
def masked_scatter(xp, self, mask, source):
    shape = xp.broadcast_shapes(self.shape, mask.shape) if hasattr(xp, "broadcast_shapes") else (self * mask).shape
    out, where = xp.broadcast_to(self, shape).copy(), xp.broadcast_to(mask, shape)
    count = int(where.sum())
    if count > source.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    if out.ndim == 0:
        return source.reshape(-1)[0] if count else out
    out[where] = source.reshape(-1)[:count]
    return out


def _flat_places(xp: Any, self: Any, index: Any) -> Any:
    if index.size and self.size == 0:
        raise IndexError("take(): tried to take from an empty tensor")
    bad = (index < -self.size) | (index >= self.size)
    if bool(bad.any()):
        first = int(index[bad].reshape(-1)[0])
        raise IndexError(f"out of range: tried to access index {first} on a tensor of {self.size} elements.")
    return index


def _take_shape(self, index):
    if index.dtype != _core.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {_scalar(index.dtype)}")
    return index.shape


@op("take(Tensor self, Tensor index) -> Tensor", shape=_take_shape, dtype=same_dtype, keep=("self", "index"), out=True,
    grad={"self": lambda g, self_shape, index: g.new_zeros(self_shape).put(index, g, True)})  # fmt: skip
def take(xp, self, index):
    return self.reshape(-1)[_flat_places(xp, self, index)]


def _put_shape(self, index, source):
    if index.dtype != _core.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {_scalar(index.dtype)}")
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {_scalar(self.dtype)} and "
            f"source.dtype = {_scalar(source.dtype)}"
        )
    if index.numel() != source.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {index.numel()}"
        )
    return self.shape


@op("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", inplace=True, shape=_put_shape,
    dtype=same_dtype, keep=("index",), function=True,
    grad={"self": lambda g, index, accumulate: g if accumulate else g.put(index, g.new_zeros(index.shape)),
          "source": lambda g, index, source_shape: g.take(index).reshape(source_shape)})  # fmt: skip
def put(xp, self, index, source, accumulate):
    out = self.reshape(-1).copy()
    places = _flat_places(xp, self, index).reshape(-1)
    places = xp.where(places < 0, places + self.size, places)
    if accumulate:
        xp.add.at(out, places, source.reshape(-1))
    else:
        out[places] = source.reshape(-1)
    return out.reshape(self.shape)


@composite("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", out=True)
def take_along_dim(self, indices, dim):
    if dim is None:
        return self.reshape(-1).gather(0, indices.reshape(-1))
    if self.dim() != indices.dim():
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{self.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    if indices.dtype != _core.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {_scalar(indices.dtype)}")
    d = wrap_dim(dim, self.dim())
    one = lambda shape: [1 if i == d else n for i, n in enumerate(shape)]
    common = list(_core.broadcast_shapes([one(self.shape), one(indices.shape)]))
    sized = lambda t: t.expand([t.size(d) if i == d else n for i, n in enumerate(common)])
    return sized(self).gather(d, sized(indices.remainder(self.size(d) if self.dim() else 1)))


@composite("argwhere(Tensor self) -> Tensor")
def argwhere(self):
    import shim_torch

    return shim_torch.ops.aten.nonzero(self)


@op("nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor", keep=("self",),
    shape=lambda self, size: (size, len(self.shape)), dtype=lambda self: (None, _core.int64))  # fmt: skip
def nonzero_static(xp, self, size, fill_value):
    found = xp.argwhere(self)[:size] if self.ndim else xp.zeros((int(bool(self)), 0), "int64")[:size]
    out = xp.full((size, self.ndim), fill_value, "int64")
    out[: found.shape[0]] = found
    return out


@op("masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor", function=False, keep=("mask",),
    shape=lambda sizes: sizes, dtype=lambda grad_output: grad_output.dtype)  # fmt: skip
def masked_scatter_backward(xp, grad_output, mask, sizes):
    used = grad_output[xp.broadcast_to(mask, grad_output.shape)].reshape(-1)
    out = xp.zeros(tuple(sizes), grad_output.dtype)
    out.reshape(-1)[: used.size] = used
    return out


@composite("one_hot(Tensor self, int num_classes=-1) -> Tensor", module="nn.functional", method=False)
def one_hot(self, num_classes):
    """int64 rows with a 1 where ``self`` says. On CUDA given classes are not checked, which would wait for the GPU: a class that
    there is not has no 1."""
    import shim_torch

    if self.is_meta and self.dtype == _core.int64 and num_classes >= 0:
        return shim_torch.empty((*self.shape, num_classes), dtype=_core.int64, device="meta")
    if not self.is_cuda or self.dtype != _core.int64 or not self.numel():
        return shim_torch.ops.aten._one_hot(
            self, int(self.max()) + 1 if self.is_meta and num_classes == -1 else num_classes
        )
    if num_classes == -1:
        num_classes = int(self.max()) + 1
    classes = shim_torch.arange(num_classes, device=self.device)
    return (self.unsqueeze(-1) == classes).to(_core.int64)


@op("_one_hot(Tensor self, int num_classes) -> Tensor", function=False, method=False, keep=("self",),
    dtype=lambda self: (None, _core.int64))  # fmt: skip
def _one_hot(xp, self, num_classes):
    if self.dtype != "int64":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if self.size == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if self.size and int(self.min()) < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(self.max()) + 1
    elif self.size and int(self.max()) >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return (self[..., None] == xp.arange(num_classes)).astype("int64")
