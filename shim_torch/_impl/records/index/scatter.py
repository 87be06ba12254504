"""Gathering and scattering along a dim by an index of full shape."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import alone_on_cuda
from shim_torch._impl.records.shared.indices import add_at, check_bounds, full_key, scattered_shape
from shim_torch._impl.table.record import op
from shim_torch._impl.table.rules import same_dtype, underived, wrap_dim


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


def _gather_grad(g, self_shape, dim, index, sparse_grad):
    if sparse_grad:
        from shim_torch._impl.sparse.lookup_gradients import gather_gradient

        return gather_gradient(g, self_shape, dim, index)
    zeros = g.new_zeros(self_shape)
    return zeros.scatter_add_(dim, index, g) if alone_on_cuda(g) else zeros.scatter_add(dim, index, g)


@op(
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    foreseen="any",
    native="gather",
    dtype=same_dtype,
    keep=("self", "index"),
    shape=_gather_shape,
    out=True,
    grad={"self": _gather_grad},
    batching="along_dim",
    out_dtype="structured",
    overlap="refused",
)
def gather(xp, self, dim, index, sparse_grad):
    """Elements picked along ``dim``: for dim 0 of a matrix, result[i, j] = input[index[i, j], j].

    Shapes:  index (int32 or int64) has as many dims as input and, apart from ``dim``, no larger sizes -> as index
    Errors:  on the CPU, RuntimeError for places that are negative or past the end
    ``sparse_grad`` makes the gradient a COO tensor.
    """
    if self.ndim == 0:
        return xp.broadcast_to(self, index.shape).copy()
    if index.size == 0:
        return xp.empty(index.shape, self.dtype)
    if index.ndim == 0:
        return gather(xp, self, dim, index.reshape(1), sparse_grad).reshape(())
    d = dim % self.ndim
    check_bounds(xp, index, self.shape[d], d, "gather")
    return self[full_key(xp, d, index)]


def _scatter(xp, self, dim, index, source, how):
    out = self.copy()
    if index.size == 0:
        return out
    if self.ndim == 0:
        parts = source.reshape(-1)[: index.size] if hasattr(source, "ndim") and source.size > 1 else source
        return _scatter(xp, self.reshape(1), 0, index.reshape(-1), parts, how).reshape(())
    if index.ndim == 0:
        index = index.reshape(1)
    d = dim % self.ndim
    check_bounds(xp, index, self.shape[d], d, "scatter")
    key = full_key(xp, d, index)
    if hasattr(source, "ndim") and source.ndim:
        source = source[tuple(slice(n) for n in index.shape)]
    if how == "add":
        add_at(xp, out, key, xp.broadcast_to(source, index.shape).astype(out.dtype))
    elif how == "multiply":
        xp.multiply.at(out, key, xp.broadcast_to(source, index.shape).astype(out.dtype))
    else:
        out[key] = source
    return out


def _scatter_shape(self: Any, dim: int, index: Any) -> Any:
    return scattered_shape(self, dim, index, None)


def _scatter_src_shape(self: Any, dim: int, index: Any, src: Any) -> Any:
    return scattered_shape(self, dim, index, src)


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
    batching="along_dim",
    out_dtype="structured",
    overlap="refused",
)
def scatter_src(xp, self, dim, index, src):
    """``input`` with elements written along ``dim``: for dim 0 of a matrix, result[index[i, j], j] = src[i, j].

    A number may stand for ``src``. Of elements for one place any one may stay. ``reduce``, "add" or "multiply",
    combines them with what is there and has no gradient.
    Shapes:  index (int32 or int64) is no larger than src, and than input apart from ``dim``
    Dtypes:  one for input and src
    Errors:  on the CPU, RuntimeError for places that are negative or past the end
    """
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
    gradient_name="ScatterBackward1",
    native="scatter_value",
    **_SCATTER,
    dtype=lambda self, value: (_core.check_fits(value, self.dtype), self.dtype)[1],
    grad={"self": lambda g, dim, index: g.scatter(dim, index, 0)},
    batching="along_dim",
    out_dtype="structured",
    overlap="refused",
)
def scatter_value(xp, self, dim, index, value):
    """``input`` with one number along ``dim``: for dim 0 of a matrix, result[index[i, j], j] = value."""
    return _scatter(xp, self, dim, index, self.dtype.type(value), None)


@op(
    "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
    **_SCATTER_SRC,
    gradient_name="torch::autograd::NotImplemented",
    dtype=_scatter_dtype,
    grad={"self": underived("scatter"), "src": underived("scatter")},
    out_dtype="structured",
    overlap="refused",
)
def scatter_reduce(xp, self, dim, index, src, reduce):
    """``input`` with ``src`` added ("add") or multiplied ("multiply") into the places of ``index``; no gradient."""
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    return _scatter(xp, self, dim, index, src, reduce)


@op(
    "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
    **_SCATTER,
    gradient_name="torch::autograd::NotImplemented",
    dtype=lambda self: self.dtype,
    grad={"self": underived("scatter")},
    out_dtype="structured",
    overlap="refused",
)
def scatter_value_reduce(xp, self, dim, index, value, reduce):
    """``input`` with one number added or multiplied into the places of ``index`` along ``dim``; no gradient."""
    return _scatter(xp, self, dim, index, xp.asarray(value, dtype=self.dtype), reduce)


@op(
    "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    foreseen="any",
    native="scatter_add",
    **_SCATTER_SRC,
    dtype=_scatter_dtype,
    grad={"self": lambda g: g, "src": lambda g, dim, index, src_shape: _gather_to(g, dim, index, src_shape)},
    batching="along_dim",
    autocast="promote_cuda",
    out_dtype="structured",
    overlap="refused",
)
def scatter_add(xp, self, dim, index, src):
    """``input`` plus ``src`` at the places of ``index`` along ``dim``, as ``scatter`` has them; equal places sum up."""
    return _scatter(xp, self, dim, index, src, "add")
