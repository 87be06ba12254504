"""Reductions of a source into indexed places, with what was there or without."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.indices import full_key, in_bounds, key_along, same_slices, scattered_shape
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import op
from shim_torch._impl.table.rules import type_name, wrap_dim


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


def _wide(a: Any) -> Any:
    return a.astype("float32") if a.dtype.itemsize == 2 and a.dtype.kind in "fV" else a


def _reduced_into(
    xp: Any, self: Any, key: Any, src: Any, reduce: str, include_self: bool, rounds_each: bool = False
) -> Any:
    """The reduction of 16-bit numbers: rounded at its end, before a mean divides, or as PyTorch's loop along a dim at each step."""
    if xp.__name__ == "cupy" and self.dtype == "uint16":
        raise NotImplementedError("CuPy has no bfloat16")  # whose bits these may be: computed on the host
    out = self.copy()
    if not (rounds_each and xp.__name__ == "numpy"):
        out, src = _wide(out), _wide(src)
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
        return out // count if integral else out.astype(self.dtype) / count.astype(self.dtype)
    return out.astype(self.dtype, copy=False)


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

    def once(self, t: Any) -> Any:
        """The gradient of a product with several zeros in a place, whose own gradient is not what its formula would give."""
        method, name = ("index_reduce", "source") if self.along else ("scatter_reduce", "src")

        def refuse(g: Any) -> None:
            raise RuntimeError(
                f"{method}(): Double backward is unsupported for {name} when >1 zeros in {name} are scattered to the same "
                "position in self"
            )

        if not t.requires_grad:
            return t
        alias = t.view_as(t)
        alias.register_hook(refuse)
        return alias

    def product(self, t: Any, src: Any, include_self: bool) -> Any:
        method = t.index_reduce if self.along else t.scatter_reduce
        return method(self.dim, self.index, src, "prod", include_self=include_self)


def _reduce_grads(
    g: Any, self: Any, src: Any, result: Any, reduce: str, include_self: bool, at: _Places
) -> tuple[Any, Any]:
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
        zeros = at.read(at.added(self.new_zeros(self.shape), zero.to(self.dtype)))
        alone = zero & (zeros == 1)
        others = at.product(self, src.masked_fill(alone, 1), include_self)
        of_src = torch.where(alone, at.read(g * others), at.read(g * result) / src.masked_fill(zero, 1))
        if _core.is_grad_enabled() and not g.is_meta and bool((zero & (zeros > 1)).any()):
            of_src = at.once(of_src)
    return (of_self if include_self else at.cleared(of_self)), of_src


def _own_dtype(self):
    return None, self.dtype


def _scatter_reduce_shape(self, dim, index, src, reduce):
    wrap_dim(dim, len(self.shape))
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError("reduce argument must be either sum, prod, mean, amax or amin, got " + reduce)
    if self.dtype != src.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    scattered_shape(self, dim, index, src)
    if self.is_cpu and index.numel():
        complex_order = reduce in ("amax", "amin") and self.dtype.is_complex
        if complex_order or (reduce == "mean" and self.dtype is _core.bool):
            name = f"scatter_gather_tensor_cpu_reduce_{reduce}"
            raise NotImplementedError(f"\"{name}\" not implemented for '{type_name(self.dtype)}'")
    return self.shape


def _scatter_reduce_grad(g, self, dim, index, src, reduce, include_self, result):
    return _reduce_grads(g, self, src, result, reduce, include_self, _Places(dim, index, False))


@op("scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
    inplace=True, out=True, native="scatter_reduce", shape=_scatter_reduce_shape, dtype=_own_dtype, keep=("self", "index", "src"),
    grad={"self, src": _scatter_reduce_grad}, batching="along_dim", out_dtype="structured", overlap="refused")  # fmt: skip
def scatter_reduce(xp, self, dim, index, src, reduce, include_self):
    """``input`` with the elements of ``src`` reduced into the places of ``index`` along ``dim``, as ``scatter`` has it.

    ``reduce`` is "sum", "prod", "mean" (of integers rounded down), "amax" or "amin", of what is there too unless
    ``include_self=False``. Places that ``index`` does not name keep their values.
    """
    if index.size == 0:
        return self
    index, src = (a.reshape(1) if a.ndim == 0 else a for a in (index, src))
    if self.ndim == 0:
        key, grown, src = (index.reshape(-1),), self.reshape(1), src.reshape(-1)[: index.size]
    else:
        d = wrap_dim(dim, self.ndim)
        bad = (index < 0) | (index >= self.shape[d])
        if bool(bad.any()):
            first = int(index[bad].reshape(-1)[0])
            raise RuntimeError(f"index {first} is out of bounds for dimension {d} with size {self.shape[d]}")
        key, grown = full_key(xp, d, index), self
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
        raise RuntimeError(
            f"index_reduce_(): self ({type_name(self.dtype)}) and source ({type_name(source.dtype)}) must have the same "
            "scalar type"
        )
    if index.numel() != (source.shape[d] if len(source.shape) else 1):
        raise RuntimeError(
            f"index_reduce_(): Number of indices ({index.numel()}) should be equal to source.size(dim): "
            f"({source.shape[d] if len(source.shape) else 1}), for dim: {d}"
        )
    same_slices(self, d, source)
    return self.shape


def _index_reduce_grad(g, self, dim, index, source, reduce, include_self, result):
    return _reduce_grads(g, self, source, result, reduce, include_self, _Places(dim, index, True))


@op("index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
    native="index_reduce", inplace=True, out=True, shape=_index_reduce_shape, dtype=_own_dtype, keep=("self", "index", "source"),
    grad={"self, source": _index_reduce_grad}, refuses=(("bc", "index_func_"),), forward_error_name="index_reduce", out_dtype="structured", overlap="refused")  # fmt: skip
def index_reduce(xp, self, dim, index, source, reduce, include_self):
    """``input`` with the slices of ``source`` reduced into the places ``index`` (1-D) along ``dim``.

    ``reduce`` is "prod", "mean" (of integers rounded down), "amax" or "amin", of what is there too unless
    ``include_self=False``. Places that ``index`` does not name keep their values.
    """
    if index.size == 0:
        return self
    grown = self.reshape(1) if self.ndim == 0 else self
    d = wrap_dim(dim, grown.ndim)
    index = in_bounds(index.reshape(-1), grown.shape[d], "index out of range in self")
    return _reduced_into(xp, grown, key_along(d, index), source, reduce, include_self, True).reshape(self.shape)
