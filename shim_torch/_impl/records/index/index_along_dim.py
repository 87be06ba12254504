"""Reading and writing whole slices along a dim, and elements by their flat places."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.indices import (
    add_at,
    check_bounds,
    copied,
    in_bounds,
    key_along,
    same_slices,
    slice_sizes,
)
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import holding, same_dtype, same_order, type_name, wrap_dim


@op(
    "index_select(Tensor self, int dim, Tensor index) -> Tensor",
    foreseen="any",
    native="index_select",
    dtype=same_dtype,
    keep=("self", "index"),
    out=True,
    shape=lambda self, dim, index: _select_shape(self, dim, index),
    grad={"self": lambda g, self_shape, dim, index: g.new_zeros(self_shape).index_add(dim, index, g)},
    out_dtype="index_select(): self and result must have the same scalar type",
    overlap="refused",
)
def index_select(xp, self, dim, index):
    """A copy of the slices along ``dim`` at the places in ``index`` (1-D, int32 or int64, not negative)."""
    if self.ndim == 0:
        if xp.__name__ == "numpy" and index.size and index.reshape(-1)[0] != 0:
            raise IndexError("index out of range in self")
        return self.copy()
    d = dim % self.ndim
    if index.size and not self.shape[d]:
        if self.ndim == 1:
            raise IndexError("index out of range in self")
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    if xp.__name__ == "numpy" and index.size and (int(index.min()) < 0 or int(index.max()) >= self.shape[d]):
        wrong = next(int(i) for i in index.reshape(-1) if not 0 <= i < self.shape[d])
        if d != 1 and self.size:  # the second dim is gathered by a kernel of its own, which names the index
            raise IndexError("index out of range in self")
        raise RuntimeError(f"INDICES element is out of DATA bounds, id={wrong} axis_dim={self.shape[d]}")
    return xp.take(self, index.reshape(-1), axis=d)


def _select_shape(self, dim, index):
    if index.dim() > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype not in (_core.int64, _core.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    d = wrap_dim(dim, self.dim())
    if not self.dim() and index.numel() != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)")
    return tuple(index.numel() if i == d else n for i, n in enumerate(self.shape))


@op(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    foreseen="any",
    inplace=True,
    native="index_add",
    out=True,
    shape=lambda self, dim, index, source: _add_shape(self, dim, index, source),
    dtype=lambda self, alpha: (_core.check_fits(alpha, self.dtype), self.dtype)[1],
    keep=("index",),
    grad={
        "self": lambda g: g,
        "source": lambda g, dim, index, alpha, source_shape: (g.index_select(dim, index) * alpha).reshape(source_shape),
    },
    out_dtype="structured",
    overlap="refused",
)
def index_add(xp, self, dim, index, source, alpha):
    """``input`` + ``alpha`` · the slices of ``source`` at the places ``index`` of ``dim``; equal places add up."""
    factor = xp.asarray(alpha).astype(self.dtype)  # -1 of an unsigned dtype wraps
    if self.ndim < 2 and xp.__name__ == "numpy" and self.size:
        in_bounds(index, self.size, "index out of range in self")
    if self.ndim == 0:
        return self + source.reshape(()) * factor
    out, d = self.copy(), dim % self.ndim
    if not out.size:
        return out
    check_bounds(xp, index, self.shape[d], d, "index_add")
    key = (slice(None),) * d + (index.reshape(-1),)
    add_at(xp, out, key, (source * factor).astype(out.dtype))
    return out


def _add_shape(self, dim, index, source):
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"index_add_(): self ({type_name(self.dtype)}) and source ({type_name(source.dtype)}) must have the same scalar type"
        )
    if index.dim() > 1:
        raise IndexError(
            f"index_add_(): Index is supposed to be a vector, but got dim: {index.dim()} with type: "
            f"{_core.scalar_name(index.dtype)} and size: {list(index.shape)}"
        )
    if index.dtype not in (_core.int64, _core.int32):
        raise RuntimeError(
            f"index_add_(): Expected dtype int32/int64 for index but got: {_core.scalar_name(index.dtype)}"
        )
    d = wrap_dim(dim, self.dim())
    along = source.size(d) if source.dim() else 1
    if index.numel() != along:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.numel()}) should be equal to source.size(dim): ({along}), for dim: {d}"
        )
    same_slices(self, d, source)
    return self.shape


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
    if index.dtype != _core.int64:
        raise RuntimeError("index_copy_(): Expected a long tensor for index, but got " + _core.scalar_name(index.dtype))
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {_core.scalar_name(self.dtype)} and "
            f"(source) {_core.scalar_name(source.dtype)}"
        )
    own, given = slice_sizes(self, d), slice_sizes(source, d)
    if len(source.shape) and own != given:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, own))} at dimension {d} and source slice shape: {' '.join(map(str, given))} at dimension 0."
        )
    if len(source.shape) and count != source.shape[d]:
        raise IndexError(
            f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) ({source.shape[d]})"
        )
    return self.shape


def _index_copy_source_grad(g, dim, index, source_shape):
    return g.index_select(dim, index).expand(source_shape) if len(source_shape) else g.index_select(dim, index).sum()


@op("index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", inplace=True, out=True, native="index_copy", shape=_index_copy_shape,
    dtype=same_dtype, keep=("index",), grad={"self": lambda g, dim, index: g.index_fill(dim, index, 0),
                                            "source": _index_copy_source_grad}, autocast="promote", out_dtype="structured", overlap="refused")  # fmt: skip
def index_copy(xp, self, dim, index, source):
    """``input`` with the slices of ``source`` at the places ``index`` (int64) along ``dim``; both have one dtype."""
    out, d = copied(self), wrap_dim(dim, self.ndim)
    refusal = f"index_copy_(): index {{bad}} is out of bounds for dimension {d} with size {out.shape[d]}"
    out[key_along(d, in_bounds(index.reshape(-1), out.shape[d], refusal))] = source
    return out.reshape(self.shape)


def _index_fill_shape(self, dim, index):
    wrap_dim(dim, len(self.shape))
    if index.dtype != _core.int64 and not (self.is_meta and index.dtype == _core.int32):
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if len(index.shape) > 1:
        raise IndexError("Index has to be a vector/scalar")
    return self.shape


def _index_filled(xp, self, dim, index, value):
    out, d = copied(self), wrap_dim(dim, self.ndim)
    n = out.shape[d]
    bad = (index < -n) | (index >= n)
    if bool(bad.any()):
        first = int(index[bad].reshape(-1)[0])
        raise IndexError(f"index {first} is out of bounds for dimension {d} with size {n}")
    out[key_along(d, index.reshape(-1))] = xp.asarray(value).astype(out.dtype)
    return out.reshape(self.shape)


def _filled_dtype(self, value):
    if isinstance(value, complex) and not self.dtype.is_complex:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    return holding(self, value)


_FILL = {"inplace": True, "native": "index_fill", "shape": _index_fill_shape, "dtype": same_dtype, "keep": ("index",)}


@op("index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", gradient_name="IndexFillBackward1", **_FILL,
    grad={"self": lambda g, dim, index: g.index_fill(dim, index, 0),
          "value": lambda g, dim, index: g.index_select(dim, index.unique()).sum()}, expanded="tensor[mask] = scalar", overlap="refused")  # fmt: skip
def index_fill_tensor(xp, self, dim, index, value):
    """``input`` with a number or 0-D tensor in the slices along ``dim`` that ``index`` names; -1 is the last."""
    if value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    return _index_filled(xp, self, dim, index, value)


@op("index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", gradient_name="IndexFillBackward0",
    grad={"self": lambda g, dim, index: g.index_fill(dim, index, 0)}, **{**_FILL, "dtype": _filled_dtype}, expanded="tensor[mask] = scalar", overlap="refused")  # fmt: skip
def index_fill(xp, self, dim, index, value):
    """``input`` with a number in the slices along ``dim`` that ``index`` names, -1 the last; the dtype must hold it."""
    return _index_filled(xp, self, dim, index, value)


def _flat_places(xp: Any, self: Any, index: Any, empty: str = "take(): tried to take from an empty tensor") -> Any:
    if index.size and self.size == 0:
        raise IndexError(empty)
    bad = (index < -self.size) | (index >= self.size)
    if bool(bad.any()):
        first = int(index[bad].reshape(-1)[0])
        raise IndexError(f"out of range: tried to access index {first} on a tensor of {self.size} elements.")
    return index


def _take_shape(self, index):
    if index.dtype != _core.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {_core.scalar_name(index.dtype)}")
    return index.shape


@op("take(Tensor self, Tensor index) -> Tensor", native="take", shape=_take_shape, dtype=same_dtype, keep=("self", "index"), out=True,
    grad={"self": lambda g, self_shape, index: g.new_zeros(self_shape).put(index, g, True)}, out_dtype="take(): self and out expected to have the same dtype, but got self.dtype = {R} and out.dtype = {O}", overlap="refused")  # fmt: skip
def take(xp, self, index):
    """The elements of ``input`` at the flat places in ``index`` (int64), in the shape of ``index``; -1 is the last."""
    return self.reshape(-1)[_flat_places(xp, self, index)]


def _put_shape(self, index, source):
    if index.dtype != _core.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {_core.scalar_name(index.dtype)}")
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {_core.scalar_name(self.dtype)} and "
            f"source.dtype = {_core.scalar_name(source.dtype)}"
        )
    if index.numel() != source.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {index.numel()}"
        )
    return self.shape


@op("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", inplace=True, shape=_put_shape,
    dtype=same_dtype, keep=("index",), function=True, order=same_order,
    grad={"self": lambda g, index, accumulate: g if accumulate else g.put(index, g.new_zeros(index.shape)),
          "source": lambda g, index, source_shape: g.take(index).reshape(source_shape)}, overlap="refused")  # fmt: skip
def put(xp, self, index, source, accumulate):
    """``input`` with ``source`` at the flat places in ``index`` (int64), added to what is there with ``accumulate``."""
    if not accumulate:
        from shim_torch._impl.tensor.python_functions import alert_not_deterministic

        alert_not_deterministic("put_")  # of equal places either value may stay
    out = self.reshape(-1).copy()
    places = _flat_places(xp, self, index, "put_(): Tried to put elements into an empty tensor").reshape(-1)
    places = xp.where(places < 0, places + self.size, places)
    if accumulate:
        xp.add.at(out, places, source.reshape(-1))
    else:
        out[places] = source.reshape(-1)
    return out.reshape(self.shape)


@composite(
    "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
    out=True,
    batching="along_dim",
    out_dtype="structured",
    out_error_name="gather",
)
def take_along_dim(self, indices, dim):
    """``gather`` with ``indices`` (int64) broadcast in all dims but ``dim``; without ``dim`` both are flattened."""
    if dim is None:
        return self.reshape(-1).gather(0, indices.reshape(-1))
    if self.dim() != indices.dim():
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{self.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    if indices.dtype != _core.int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {_core.scalar_name(indices.dtype)}"
        )
    d = wrap_dim(dim, self.dim())
    one = lambda shape: [1 if i == d else n for i, n in enumerate(shape)]
    common = list(_core.broadcast_shapes([one(self.shape), one(indices.shape)]))
    sized = lambda t: t.expand([t.size(d) if i == d else n for i, n in enumerate(common)])
    return sized(self).gather(d, sized(indices.remainder(self.size(d) if self.dim() else 1)))
