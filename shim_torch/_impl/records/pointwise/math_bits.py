"""Lazy conjugates and negatives: views whose bit says that memory holds the conjugate, or the negative, of the values."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, view


@view("_conj(Tensor(a) self) -> Tensor(a)", grad={"self": lambda g: g.conj()}, batching="pointwise")
def _conj(self):
    """The conjugate of a complex tensor: a view of the same memory whose conjugate bit is the other one."""
    return _core.conj_view(self)


@view("_neg_view(Tensor(a) self) -> Tensor(a)", grad={"self": lambda g: g.neg()}, pointwise=True)
def _neg_view(self):
    """The negative: a view of the same memory whose negative bit is the other one."""
    return _core.neg_view(self)


@composite("conj(Tensor(a) self) -> Tensor(a)", function=False, pointwise=True)
def conj(self):
    """The conjugate, lazily; a real tensor is its own."""
    if not self.is_complex():
        return self
    return aten._conj(self) if self.layout == _core.strided else self.conj_physical()


@composite("resolve_conj(Tensor(a) self) -> Tensor(a)", function=False, pointwise=True)
def resolve_conj(self):
    """The tensor itself, or a copy of its values where its conjugate bit is set."""
    return self.clone() if self.is_conj() else self


@composite("resolve_neg(Tensor(a) self) -> Tensor(a)", function=False, pointwise=True)
def resolve_neg(self):
    """The tensor itself, or a copy of its values where its negative bit is set."""
    return self.clone() if self.is_neg() else self


def part(self: Any, which: int) -> Any:
    """The real (0) or imaginary (1) part, a view; of a conjugate, the imaginary part's negative bit is set."""
    real = torch.view_as_real
    if not self.is_conj():
        return real(self).select(-1, which)
    found = real(aten._conj(self)).select(-1, which)
    return aten._neg_view(found) if which else found
