"""Histograms, quantiles that skip nan, differences over spacings, mantissas and segments."""

from __future__ import annotations

import math
from typing import Any

from native import _core
from shim_torch._utils import _scalar

from ._record import composite, op
from ._rules import wrap_dim


def _torch() -> Any:
    import shim_torch

    return shim_torch


# --- histograms -----------------------------------------------------------------------------------------------------


def _float_only(self: Any) -> None:
    if self.dtype not in (_core.float32, _core.float64):
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{_scalar(self.dtype)}'")


def _edges(x: Any, bins: int, low: float | None, high: float | None, dim: int) -> Any:
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension {dim}")
    if low is None or high is None:
        low, high = (float(x.min()), float(x.max())) if x.numel() else (0.0, 1.0)
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {dim}"
        )
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return _torch().linspace(low, high, bins + 1, dtype=x.dtype, device=x.device)


def _counted(columns: list[Any], edges: list[Any], weight: Any, density: bool) -> Any:
    torch = _torch()
    sizes = [e.numel() - 1 for e in edges]
    flat: Any = None
    inside: Any = None
    for x, e, n in zip(columns, edges, sizes, strict=True):
        at = torch.searchsorted(e, x.contiguous(), right=True) - 1
        at = at.masked_fill(x == e[-1], n - 1)  # the last bin holds its upper edge
        good = (x >= e[0]) & (x <= e[-1])
        inside = good if inside is None else inside & good
        flat = at if flat is None else flat * n + at
    values = torch.ones_like(columns[0]) if weight is None else weight.reshape(-1).to(columns[0].dtype)
    chosen = inside.nonzero().squeeze(1)
    hist = columns[0].new_zeros((math.prod(sizes),)).index_add(0, flat[chosen], values[chosen]).reshape(sizes)
    if density:
        hist = hist / hist.sum()
        for d, e in enumerate(edges):
            hist = hist / e.diff().reshape([-1 if i == d else 1 for i in range(len(edges))])
    return hist


def _check_weight(self: Any, weight: Any, count: int) -> None:
    if weight is not None and weight.dtype != self.dtype:
        raise RuntimeError(
            f"torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got "
            f"input({_scalar(self.dtype)}) and weight({_scalar(weight.dtype)})"
        )
    if weight is not None and weight.numel() != count:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its "
            f"innermost dimension, but got input with shape {list(self.shape)} and weight with shape {list(weight.shape)}"
        )


@composite(
    "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
    out=True,
)
def histogram_edges(self, bins, weight, density):
    """Counts (or sums of weights, or densities) between the given edges."""
    _float_only(self)
    if bins.dtype != self.dtype:
        raise RuntimeError(
            f"torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype {_lower(self)} "
            f"and bins for dimension 0 with dtype {_lower(bins)}"
        )
    _check_weight(self, weight, self.numel())
    return _counted([self.reshape(-1)], [bins], weight, density), bins.clone()


def _lower(t: Any) -> str:
    return {"float32": "float", "float64": "double", "int64": "long int"}.get(
        str(t.dtype).removeprefix("torch."), _scalar(t.dtype)
    )


@composite(
    "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
    out=True,
)
def histogram(self, bins, range, weight, density):
    """Counts in equal bins over ``range`` (the values' own by default), and their edges."""
    _float_only(self)
    if range is not None and len(range) != 2:
        raise RuntimeError(
            "torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but got " + str(len(range))
        )
    _check_weight(self, weight, self.numel())
    flat = self.reshape(-1)
    edges = _edges(flat, bins, *(range if range is not None else (None, None)), 0)
    return _counted([flat], [edges], weight, density), edges


def _histogramdd(self: Any, bins: Any, range: Any, weight: Any, density: bool) -> Any:
    _float_only(self)
    if self.dim() < 2:
        raise RuntimeError(
            "torch.histogramdd: input tensor should have at least 2 dimensions, but got " + str(self.dim())
        )
    rows = self.flatten(0, -2)
    n = rows.size(1)
    bins = [bins] * n if isinstance(bins, int) else list(bins)
    if len(bins) != n:
        if any(isinstance(b, _core.TensorBase) for b in bins):
            raise RuntimeError(
                f"torch.histogramdd: expected {n} sequences of bin edges for a {n}-dimensional histogram but got {len(bins)}"
            )
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    if range is not None and len(range) != 2 * n:
        raise RuntimeError(
            f"torch.histogramdd: for a {n}-dimensional histogram range should have {2 * n} elements, but got {len(range)}"
        )
    _check_weight(self, weight, rows.size(0))
    columns = list(rows.unbind(1))
    edges = []
    for d, (x, b) in enumerate(zip(columns, bins, strict=True)):
        if isinstance(b, _core.TensorBase):
            edges.append(b.detach())
        else:
            low, high = (None, None) if range is None else range[2 * d : 2 * d + 2]
            edges.append(_edges(x, b, low, high, d))
    if not n:  # PyTorch counts no row where there is nothing to count by
        return self.new_zeros(()), ()
    return _counted(columns, edges, weight, density), tuple(edges)


_DD = "float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)"
for _overload, _bins in (("", "int[] bins"), (".int_bins", "int bins"), (".TensorList_bins", "Tensor[] bins")):
    composite(f"histogramdd{_overload}(Tensor self, {_bins}, {_DD}", method=False)(_histogramdd)


# --- quantiles and differences --------------------------------------------------------------------------------------


def _check_quantile(self: Any, q: Any) -> None:
    if self.numel() == 0:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if self.dtype not in (_core.float32, _core.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if q.dtype != self.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if q.dim() > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if q.device.type == "cpu" and not bool(((q >= 0) & (q <= 1)).all()):
        raise RuntimeError("quantile() q values must be in the range [0, 1]")


def _quantile(self: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool = False) -> Any:
    torch = _torch()
    if not isinstance(q, _core.TensorBase):
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        q = torch.tensor(float(q), dtype=self.dtype, device=self.device)
    _check_quantile(self, q)
    x, d = (self.reshape(-1), 0) if dim is None or self.dim() == 0 else (self, wrap_dim(dim, self.dim()))
    ordered = x.sort(d)[0].movedim(d, -1)  # nan sorts last
    missing = ordered.isnan()
    count = (
        missing.logical_not().sum(-1, keepdim=True)
        if skip_nan
        else torch.full_like(missing[..., :1], x.size(d), dtype=torch.int64)
    )
    place = (q.reshape(-1) * (count - 1).to(q.dtype)).clamp(min=0)
    low, high = place.floor(), place.ceil()
    a, b = ordered.gather(-1, low.long()), ordered.gather(-1, high.long())
    picks = {
        "lower": lambda: a,
        "higher": lambda: b,
        "midpoint": lambda: (a + b) / 2,
        "linear": lambda: a.lerp(b, place - low),
        "nearest": lambda: ordered.gather(-1, place.round().long()),
    }
    if interpolation not in picks:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            + interpolation
        )
    out = picks[interpolation]()
    if not skip_nan:
        out = torch.where(missing.any(-1, keepdim=True), float("nan"), out)
    out = out.movedim(-1, 0)
    if keepdim:
        out = out.reshape(-1, *[1] * self.dim()) if dim is None or self.dim() == 0 else out.unsqueeze(d + 1)
    return out[0] if q.dim() == 0 else out


def _nanquantile(self: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str) -> Any:
    return _quantile(self, q, dim, keepdim, interpolation, skip_nan=True)


_Q = "int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor"
for _name in ("quantile", "nanquantile"):
    for _overload in ("(Tensor self, Tensor q", ".scalar(Tensor self, float q"):
        composite(f"{_name}{_overload}, {_Q}", out=True)(_nanquantile if _name == "nanquantile" else _quantile)


def _check_diff(self: Any, other: Any, dim: int) -> None:
    if other.dim() != self.dim():
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for i in range(self.dim()):
        if i != dim and other.size(i) != self.size(i):
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along the differencing "
                f"dimension; input.size({i}) = {self.size(i)}, but got tensor.size({i}) = {other.size(i)}"
            )


@composite("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor", out=True)
def diff(self, n, dim, prepend, append):
    """The n-th differences along a dim."""
    if self.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    d = wrap_dim(dim, self.dim())
    for other in (prepend, append):
        if other is not None:
            _check_diff(self, other, d)
    if n == 0:
        return self.clone()
    parts = [t for t in (prepend, self, append) if t is not None]
    x = _torch().cat(parts, d) if len(parts) > 1 else self
    for _ in range(min(n, x.size(d))):
        m = max(x.size(d) - 1, 0)
        a, b = x.narrow(d, x.size(d) - m, m), x.narrow(d, 0, m)
        x = a.logical_xor(b) if x.dtype == _core.bool else a - b
    return x


def _spacings(self: Any, spacing: Any, dims: list[int], chosen: bool) -> list[Any]:
    if spacing is None:
        return [1.0] * len(dims)
    if isinstance(spacing, (int, float, complex)):
        return [spacing] * len(dims)
    given = list(spacing)
    if len(given) != len(dims):
        if chosen:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same "
                f"length, but got a spacing argument of length {len(given)} and a dim argument of length {len(dims)}."
            )
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = {self.dim()}', "
            f"since dim argument was not given, but got a list of length {len(given)}"
        )
    return given


def _gradient(self: Any, spacing: Any, dim: Any, edge_order: int) -> Any:
    """Central differences inside, one-sided ones at the ends (of the order asked for)."""
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    if dim is None:
        dims = list(range(self.dim()))
    else:
        dims = [wrap_dim(d, self.dim()) for d in (dim if isinstance(dim, (list, tuple)) else [dim])]
    if len(set(dims)) < len(dims):
        raise RuntimeError(
            f"dim {next(d for d in dims if dims.count(d) > 1)} appears multiple times in the list of dims"
        )
    for d in dims:
        if self.size(d) < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple(
        _along(self, d, space, edge_order) for d, space in zip(dims, _spacings(self, spacing, dims, dim is not None), strict=True)
    )


def _along(x: Any, d: int, space: Any, edge_order: int) -> Any:
    torch = _torch()
    n = x.size(d)
    if isinstance(space, _core.TensorBase):
        if space.dim() != 1 or space.numel() != n:
            raise RuntimeError(
                f"torch.gradient expected each element in the coordinates to have the same size as its dimension, but got {space.numel()}"
            )
        steps = space.diff()
        left, right = (s.reshape([-1 if i == d else 1 for i in range(x.dim())]) for s in (steps[:-1], steps[1:]))
        first, second, last, before = steps[0], steps[1] if n > 2 else None, steps[-1], steps[-2] if n > 2 else None
    else:
        left = right = first = second = last = before = space

    def at(i: int, count: int = 1) -> Any:
        return x.narrow(d, i if i >= 0 else n + i, count)

    if isinstance(space, _core.TensorBase):
        inner = (
            at(2, n - 2) * (left / (right * (left + right)))
            + at(1, n - 2) * ((right - left) / (left * right))
            - at(0, n - 2) * (right / (left * (left + right)))
        )
    else:
        inner = (at(2, n - 2) - at(0, n - 2)) / (2 * space)
    if edge_order == 1:
        begin, end = (at(1) - at(0)) / first, (at(-1) - at(-2)) / last
    else:
        begin = _edge(at(0), at(1), at(2), first, second)
        end = -_edge(at(-1), at(-2), at(-3), last, before)
    return torch.cat([begin, inner, end], d)


def _edge(a: Any, b: Any, c: Any, h: Any, k: Any) -> Any:
    """The derivative at ``a`` of the parabola through three values with steps h and k."""
    return -(2 * h + k) / (h * (h + k)) * a + (h + k) / (h * k) * b - h / (k * (h + k)) * c


composite(
    "gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]",
    method=False,
)(_gradient)
composite(
    "gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]", method=False
)(_gradient)
composite("gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]", method=False)(
    lambda self, dim, edge_order: _gradient(self, None, dim, edge_order)
)
composite(
    "gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> Tensor[]", method=False
)(_gradient)
composite(
    "gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> Tensor[]", method=False
)(_gradient)
composite(
    "gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> Tensor[]",
    method=False,
)(_gradient)
composite(
    "gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]", method=False
)(_gradient)


# --- parts of numbers, segments -------------------------------------------------------------------------------------


def _frexp_dtype(self: Any) -> Any:
    if not self.dtype.is_floating_point:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return self.dtype, [self.dtype, _core.int32]


def _frexp_shape(self: Any) -> Any:
    return [tuple(self.shape)] * 2


_frexp_shape.elementwise = True  # type: ignore[attr-defined]


@op("frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", shape=_frexp_shape,
    dtype=_frexp_dtype, differentiable=(0,),
    grad={"self": lambda g, result1: g / (2.0 ** result1.to(g.dtype))})  # fmt: skip
def frexp(xp, self):
    """Mantissas in [0.5, 1) and whole exponents of two."""
    mantissa, exponent = xp.frexp(self)
    return mantissa.astype(self.dtype), exponent.astype("int32")


@composite("frexp.Tensor_out(Tensor self, *, Tensor(a!) mantissa, Tensor(b!) exponent) -> (Tensor(a!) mantissa, Tensor(b!) exponent)",
           method=False)  # fmt: skip
def frexp_out(self, mantissa, exponent):
    if exponent.dtype is not _core.int32:
        words = {"int64": "long int", "int16": "short int", "int8": "signed char", "uint8": "unsigned char",
                 "float32": "float", "float64": "double"}  # fmt: skip
        name = str(exponent.dtype).removeprefix("torch.")
        raise RuntimeError(f"torch.frexp() expects exponent to have int dtype but got {words.get(name, name)}")
    found = _torch().frexp(self)
    return tuple(out.resize_(f.shape).copy_(f) for out, f in zip((mantissa, exponent), found, strict=True))


_INITIAL = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}
_REDUCE = {"sum": "sum", "mean": "mean", "prod": "prod", "max": "amax", "min": "amin"}


@composite(
    "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
    method=False,
)
def segment_reduce(data, reduce, lengths, indices, offsets, axis, unsafe, initial):
    """Sums, means, products, maxima or minima of the segments of a dim, cut by ``lengths`` or ``offsets``."""
    torch = _torch()
    if reduce not in _REDUCE:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    d = wrap_dim(axis, data.dim())
    cuts = lengths if lengths is not None else offsets.diff(dim=-1)
    if d != cuts.dim() - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of lengths but got {d}.")
    lead = tuple(cuts.shape[:-1])
    if data.is_meta:
        return data.sum(d, keepdim=True).expand(*cuts.shape, *data.shape[d + 1 :]).clone()
    rows, counts = data.reshape(-1, *data.shape[d:]), cuts.reshape(-1, cuts.size(-1))
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
    torch = _torch()
    k = counts.numel()
    where = torch.arange(k, device=x.device).repeat_interleave(counts)
    index = where.reshape(-1, *[1] * (x.dim() - 1)).expand(where.numel(), *x.shape[1:])
    start = x.new_full((k, *x.shape[1:]), initial)
    x = x[: where.numel()]
    if reduce == "mean":
        total = start.scatter_add(0, index, x)
        sizes = counts.reshape(-1, *[1] * (x.dim() - 1))
        return torch.where(sizes == 0, math.nan if not given else initial, total / sizes.clamp(min=1).to(x.dtype))
    return start.scatter_reduce(0, index, x, _REDUCE[reduce], include_self=True)
