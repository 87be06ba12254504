"""Quotients and powers of sparse tensors."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.sparse import coo
from shim_torch._impl.sparse.arithmetic import Tensor, _coalesced, _scalar, _scale_in_place, is_sparse, unsupported
from shim_torch._impl.sparse.dispatch import kernel, refuse


def _divisor(other: Any) -> Any:
    if is_sparse(other):
        shape = list(other.shape)
        if other.dim() == 0:
            raise RuntimeError("Sparse division requires a dense divisor (got Sparse tensor divisor)")
        raise RuntimeError(
            f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {shape} for divisor)"
        )
    scale = _scalar(other)
    if scale is None:
        raise RuntimeError(
            f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {list(other.shape)} for divisor)"
        )
    return scale


def _divide(name: str) -> Any:
    def body(self: Any, other: Any, *rounding: Any) -> Any:
        if not is_sparse(self):
            refuse(f"aten::{name}", [other])
        if self.layout != _core.sparse_coo:
            return unsupported(self)
        scale = _divisor(other)
        if self.layout == _core.sparse_coo and (name == "floor_divide" or (rounding and rounding[0] is not None)):
            self = _coalesced(self)
        values = coo.parts(self).values
        if name == "floor_divide":
            return coo.with_values(self, values.floor_divide(scale))
        return coo.with_values(self, values.div(scale, rounding_mode=rounding[0]) if rounding else values.div(scale))

    return body


div = _divide("div.Tensor")
for _name in ("div.Tensor", "divide.Tensor", "true_divide.Tensor", "div.Tensor_mode", "divide.Tensor_mode"):
    kernel(_name)(div)
kernel("floor_divide")(_divide("floor_divide"))


@kernel("div_.Tensor", "divide_.Tensor", "true_divide_.Tensor")
def div_(self: Any, other: Any) -> Any:
    """``self /= other`` of a COO tensor and a number or dense 0-d tensor; RuntimeError for others."""
    if not is_sparse(self):
        refuse("aten::div_.Tensor", [other])
    if self.layout != _core.sparse_coo:
        return unsupported(self)
    _scale_in_place(self, _divisor(other), "div_")
    return self


@kernel("pow.Tensor_Scalar", "pow.Tensor_Tensor")
def pow_(self: Any, exponent: Any) -> Any:
    """Entries of a COO tensor, coalesced, to the power of a number; RuntimeError for 0, which would make it dense."""
    if isinstance(exponent, Tensor) or not is_sparse(self):
        refuse("aten::pow.Tensor_Tensor", [self, exponent])
    if self.layout != _core.sparse_coo:
        return unsupported(self)
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    self = _coalesced(self)
    return coo.with_values(self, coo.parts(self).values.pow(exponent))
