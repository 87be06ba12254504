"""Quantiles, with NaN and without."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite
from shim_torch._impl.table.rules import WIDE, wrap_dim
from shim_torch._impl.tensor import from_data

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
        q = from_data.tensor(float(q), dtype=self.dtype, device=self.device)
    _check_quantile(self, q)
    x, d = (self.reshape(-1), 0) if dim is None or self.dim() == 0 else (self, wrap_dim(dim, self.dim()))
    ordered = x.sort(d)[0].movedim(d, -1)  # nan sorts last
    missing = ordered.isnan()
    count = (
        missing.logical_not().sum(-1, keepdim=True)
        if skip_nan
        else torch.full_like(missing[..., :1], x.size(d), dtype=_core.int64)
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
    out = picks[interpolation]()
    if keepdim:
        for at in range(self.dim()) if dim is None or self.dim() == 0 else (d,):
            out.unsqueeze_(at)
    for at in range(out.dim() - 1, 0, -1):  # q's dim comes first; in place, for the result is no view
        out.transpose_(at, at - 1)
    return out.squeeze_(0) if q.dim() == 0 else out


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
