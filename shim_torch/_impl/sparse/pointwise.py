"""Functions of one element that keep zeros zero: of the values alone."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.sparse import coo
from shim_torch._impl.sparse.dispatch import composite, kernel, refuse
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.operators import records
from shim_torch._impl.table.record import Record


def _unary(public: str, record: Record) -> None:
    """Of every sparse layout."""
    variant = record.overload
    linear = record.traits["sparse"] == "linear"  # of sums: entries need not be summed before
    name = f"{public}.{variant}" if variant else public

    def body(self: Any, *rest: Any) -> Any:
        p = coo.parts(self)
        if p.layout == _core.sparse_coo and not p.coalesced and not linear:
            self = coo.coalesce(self)
            p = coo.parts(self)
        if variant:
            return coo.with_values(self, getattr(p.values, public)(decimals=rest[0]))
        return coo.with_values(self, _function(public)(p.values, *rest))

    def differentiable(self: Any, *rest: Any) -> Any:  # through its values

        if self.layout != _core.sparse_coo:
            crow, plain = coo.parts(self)[1:3]
            values = _function(public)(self.values(), *rest)
            return torch._sparse_compressed_tensor_unsafe(crow, plain, values, self.shape, layout=self.layout)
        whole = self.coalesce()
        return coo.unsafe(whole.indices(), _function(public)(whole.values(), *rest), self.shape, coalesced=True)

    if record.kind == "composite" or name in ("relu", "log1p"):
        composite(name)(differentiable)
    else:
        kernel(name)(body)

    def inplace(self: Any, *rest: Any) -> Any:
        p = coo.parts(self)
        if p.layout == _core.sparse_coo and not p.coalesced and not linear:
            raise RuntimeError(f"{record.name}_ requires coalesced input")
        getattr(p.values, f"{public}_")(*rest) if not variant else p.values.round_(decimals=rest[0])
        return self

    if hasattr(_core.Tensor, f"{public}_"):
        kernel(f"{public}_.{variant}" if variant else f"{public}_")(inplace)


def _function(name: str) -> Any:
    return getattr(torch, name, None) or getattr(_core.Tensor, name)


for _record in records().values():
    if "sparse" in _record.traits:
        for _name in _record.names:
            _unary(_name, _record)


@kernel("threshold_backward")
def threshold_backward(grad_output: Any, self: Any, threshold: Any) -> Any:
    """The gradient where the input is above the threshold, in the input's layout."""
    if grad_output.layout != self.layout:
        grad_output = grad_output.sparse_mask(self) if self.layout != _core.strided else grad_output.to_dense()
    if self.layout == _core.strided:
        return aten.threshold_backward(grad_output, self, threshold)
    grad_output, self = _coalesced(grad_output), _coalesced(self)
    values = aten.threshold_backward(coo.parts(grad_output.sparse_mask(self)).values, coo.parts(self).values, threshold)
    return coo.with_values(self, values)


def _coalesced(t: Any) -> Any:
    return coo.coalesce(t) if t.layout == _core.sparse_coo and not coo.parts(t).coalesced else t


@kernel("any")
def any_(self: Any) -> Any:
    """Whether an entry is true: a tensor of no dims."""
    return coo.parts(_coalesced(self)).values.any()


@kernel("fill_.Scalar", "fill_.Tensor")
def fill_(self: Any, value: Any) -> Any:
    """Fills the values of a compressed tensor; COO tensors are refused."""
    if self.layout == _core.sparse_coo:
        refuse("aten::fill_.Scalar", [self])
    coo.parts(self).values.fill_(value)
    return self


@kernel("angle")
def angle(self: Any) -> Any:
    """The angles of the values; COO tensors are refused."""
    if self.layout == _core.sparse_coo:
        refuse("aten::angle", [self])
    p = coo.parts(self)
    return coo.with_values(self, p.values.angle())
