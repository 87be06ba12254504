"""Quantiles, with NaN and without."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import shim, torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import WIDE, wrap_dim

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)


def _check_quantile(self: Any, q: Any) -> None:
    if self.numel() == 0:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if self.dtype not in WIDE:
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if q.dtype != self.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if q.dim() > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if q.device.type == "cpu" and not bool(((q >= 0) & (q <= 1)).all()):
        raise RuntimeError("quantile() q values must be in the range [0, 1]")


def _quantile(self: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool = False) -> Any:
    if not isinstance(q, _core.TensorBase):
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        at = float(q)
        q = torch.full((), at, dtype=self.dtype, device=self.device)
    else:
        at = None
    _check_quantile(self, q)
    x, d = (self.reshape(-1), 0) if dim is None or self.dim() == 0 else (self, wrap_dim(dim, self.dim()))
    ordered = x.sort(d)[0].movedim(d, -1)  # nan sorts last
    out = _picked(ordered, q, at, interpolation, skip_nan)
    if out is None:
        out = _interpolated(ordered, q, interpolation, skip_nan)
    if keepdim:
        for reduced in range(self.dim()) if dim is None or self.dim() == 0 else (d,):
            out.unsqueeze_(reduced)
    for last in range(out.dim() - 1, 0, -1):  # q's dim comes first; in place, for the result is no view
        out.transpose_(last, last - 1)
    return out.squeeze_(0) if q.dim() == 0 else out


@op(
    "shim::quantiles(Tensor sorted, Tensor? q, float at, bool skips_nan, str interpolation) -> Tensor",
    shape=lambda sorted, q: (*sorted.shape[:-1], 1 if q is None else q.numel()),
    dtype=lambda sorted: sorted.dtype,
    native="quantiles",
    function=False,
)
def quantiles(xp, sorted, q, at, skips_nan, interpolation):
    """Of sorted rows, NaN last, what lies at the parts ``q`` of the way (``at`` where it is None)."""
    q = xp.asarray([at], dtype=sorted.dtype) if q is None else q.reshape(-1)
    missing = xp.isnan(sorted)
    count = (
        (~missing).sum(axis=-1, keepdims=True)
        if skips_nan
        else xp.full_like(missing[..., :1], sorted.shape[-1], "int64")
    )
    place = xp.maximum(q * (count - 1).astype(sorted.dtype), 0)
    if not skips_nan:
        place = xp.where(missing.any(axis=-1, keepdims=True), (count - 1).astype(sorted.dtype), place)
    low = xp.floor(place)
    a, b, w = (xp.take_along_axis(sorted, p.astype("int64"), -1) for p in (low, xp.ceil(place), xp.rint(place)))
    between = place - low
    found = {"lower": a, "higher": b, "midpoint": (a + b) / 2, "nearest": w}
    mixed = xp.where(between < 0.5, a + between * (b - a), b - (b - a) * (1 - between))
    return found.get(interpolation, mixed)


_WAYS = ("linear", "lower", "higher", "midpoint", "nearest")


def _picked(ordered: Any, q: Any, at: float | None, interpolation: str, skip_nan: bool) -> Any:
    """On CUDA in one kernel, where nothing is recorded; None elsewhere."""
    recorded = _core.is_grad_enabled() and (ordered.requires_grad or q.requires_grad)
    if recorded or interpolation not in _WAYS or q.device != ordered.device or not _core.unseen_on_cuda(ordered):
        return None
    return shim.quantiles(ordered, None if at is not None else q, at or 0.0, skip_nan, interpolation)


def _interpolated(ordered: Any, q: Any, interpolation: str, skip_nan: bool) -> Any:
    missing = ordered.isnan()
    count = (
        missing.logical_not().sum(-1, keepdim=True)
        if skip_nan
        else torch.full_like(missing[..., :1], ordered.size(-1), dtype=_core.int64)
    )
    place = (q.reshape(-1) * (count - 1).to(q.dtype)).clamp(min=0)
    if not skip_nan:  # NaN is the answer, and the gradient goes to one
        place = place.where(~missing.any(-1, keepdim=True), (count - 1).to(q.dtype))
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
    return picks[interpolation]()


def _nanquantile(self: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str) -> Any:
    return _quantile(self, q, dim, keepdim, interpolation, skip_nan=True)


_Q = "int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor"
for _name in ("quantile", "nanquantile"):
    for _overload in ("(Tensor self, Tensor q", ".scalar(Tensor self, float q"):
        composite(
            f"{_name}{_overload}, {_Q}",
            autocast="float32_cpu",
            out=True,
            writes_out_last=True,
            out_dtype="quantile() out tensor must be same dtype as the input tensor",
        )(_nanquantile if _name == "nanquantile" else _quantile)
