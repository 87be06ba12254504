"""Reductions of segments, and the mantissa and exponent of floats."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import gradient_once
from shim_torch._impl.table.calls import shim, torch
from shim_torch._impl.table.record import composite, direct, op
from shim_torch._impl.table.rules import resized_out, wrap_dim

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)


def _frexp_dtype(self: Any) -> Any:
    if not self.dtype.is_floating_point:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return self.dtype, [self.dtype, _core.int32]


def _frexp_shape(self: Any) -> Any:
    return [tuple(self.shape)] * 2


_frexp_shape.elementwise = True  # type: ignore[attr-defined]


@op("frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", shape=_frexp_shape,
    dtype=_frexp_dtype, native="frexp", differentiable=(0,),
    grad={"self": lambda g, result1: g / (2.0 ** result1.to(g.dtype))})  # fmt: skip
def frexp(xp, self):
    """Mantissas in [0.5, 1) and whole exponents of two."""
    mantissa, exponent = xp.frexp(self)
    return mantissa.astype(self.dtype), exponent.astype("int32")


@composite("frexp.Tensor_out(Tensor self, *, Tensor(a!) mantissa, Tensor(b!) exponent) -> (Tensor(a!) mantissa, Tensor(b!) exponent)",
           method=False)  # fmt: skip
def frexp_out(self, mantissa, exponent):
    """The same, written to ``mantissa`` (of the input's dtype) and ``exponent`` (int32); RuntimeError for others."""
    for what, out, dtype in (("mantissa", mantissa, self.dtype), ("exponent", exponent, _core.int32)):
        if out.dtype is not dtype:
            wanted = _C_NAMES[dtype] if what == "exponent" else f"dtype {_C_NAMES.get(dtype, dtype)}"
            wanted = f"{wanted} dtype" if what == "exponent" else wanted
            raise RuntimeError(
                f"torch.frexp() expects {what} to have {wanted} but got {_C_NAMES.get(out.dtype, out.dtype)}"
            )
    if _core.is_grad_enabled() and any(t.requires_grad for t in (self, mantissa, exponent)):
        raise RuntimeError(
            "frexp(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad."
        )
    found = torch.frexp(self)
    return tuple(resized_out(out, f.shape).copy_(f) for out, f in zip((mantissa, exponent), found, strict=True))


_C_NAMES = {
    _core.int64: "long int", _core.int32: "int", _core.int16: "short int", _core.int8: "signed char",
    _core.uint8: "unsigned char", _core.float32: "float", _core.float64: "double", _core.float16: "c10::Half",
    _core.bfloat16: "c10::BFloat16", _core.bool: "bool",
}  # fmt: skip


_INITIAL = {
    "sum": 0.0,
    "mean": 0.0,
    "prod": 1.0,
    "max": -math.inf,
    "min": math.inf,
    "amax": -math.inf,
    "amin": math.inf,
}
_REDUCE = {"sum": "sum", "mean": "mean", "prod": "prod", "max": "amax", "min": "amin", "amax": "amax", "amin": "amin"}


@composite(
    "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
    gradient_name="SegmentReduceBackward0",
    method=False,
    refuses=(("bic", "_segment_reduce_cpu"),),
    forward_error_name="segment_reduce",
)
def segment_reduce(data, reduce, lengths, indices, offsets, axis, unsafe, initial):
    """Sums, means, products, maxima or minima of the segments of a dim, cut by ``lengths`` or ``offsets``."""
    if reduce not in _REDUCE:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    data = gradient_once(data, "_segment_reduce_backward")
    d = wrap_dim(axis, data.dim())
    cuts = lengths if lengths is not None else offsets.diff(dim=-1)
    if d != cuts.dim() - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of lengths but got {d}.")
    lead = tuple(cuts.shape[:-1])
    many = math.prod(lead)
    if data.is_meta or not many:
        return data.sum(d, keepdim=True).expand(*cuts.shape, *data.shape[d + 1 :]).clone()
    rows, counts = data.reshape(many, *data.shape[d:]), cuts.reshape(many, cuts.size(-1))
    if lengths is not None and not unsafe and bool((counts < 0).any()):
        raise RuntimeError("lengths contains negative value!")
    if lengths is not None and not unsafe and bool((counts.sum(-1) != data.size(d)).any()):
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."
        )
    begin = _INITIAL[reduce] if initial is None else initial
    made = [
        _segments(x, n, reduce, begin, initial is not None)
        for x, n in zip(rows.unbind(0), counts.unbind(0), strict=True)
    ]
    return torch.stack(made).reshape(*lead, *made[0].shape)


def _segments(x: Any, counts: Any, reduce: str, initial: float, given: bool) -> Any:
    k = counts.numel()
    where = torch.arange(k, device=x.device).repeat_interleave(counts)
    index = where.reshape(-1, *[1] * (x.dim() - 1)).expand(where.numel(), *x.shape[1:])
    start = x.new_full((k, *x.shape[1:]), initial)
    x = x[: where.numel()]
    if reduce == "mean":
        total = start.scatter_add(0, index, x)
        sizes = counts.reshape(-1, *[1] * (x.dim() - 1))
        return torch.where(sizes == 0, math.nan if not given else initial, total / sizes.clamp(min=1).to(x.dtype))
    if reduce == "sum":
        return start.scatter_add(0, index, x)
    return shim.segment_reduce(x, index, start, _REDUCE[reduce])


def _segment_reduce_grad(g, self, index, start, reduce, result):
    """Of an extreme only what is it (or NaN) has a gradient, shared by ties."""
    g, r = g.gather(0, index), result.gather(0, index)
    if reduce == "prod":
        return _product_gradient(self, index, start, g, r)
    chosen = (self == r) | self.isnan()
    ties = chosen.new_zeros(start.shape, dtype=self.dtype).scatter_add(0, index, chosen.to(self.dtype)).gather(0, index)
    return (g / ties.clamp(min=1)).masked_fill(~chosen, 0)


@direct(
    "shim::segment_reduce(Tensor self, Tensor index, Tensor start, str reduce) -> Tensor",
    function=False,
    grad={"self": _segment_reduce_grad},
    forward_error_name="segment_reduce",
)
def reduced_segments(self, index, start, reduce):
    """Products and extremes of segments, from what ``start`` has."""
    return start.scatter_reduce(0, index, self, reduce, include_self=True)


def _product_gradient(x: Any, index: Any, start: Any, g: Any, r: Any) -> Any:
    """g * (the product of a segment's other elements), which a division finds but where an element is 0 or NaN."""
    odd = (x == 0) | x.isnan()
    made = g * r / x
    for place in odd.nonzero().tolist():
        at = tuple(place)
        column = (slice(None), *place[1:])
        mine = index[column] == index[at]
        mine[place[0]] = False
        into = (int(index[at]), *place[1:])
        made[at] = g[at] * start[into] * x[column][mine].prod()
    return made
