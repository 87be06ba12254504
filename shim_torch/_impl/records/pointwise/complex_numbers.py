"""Conjugates, angles and polar coordinates."""

from __future__ import annotations

import math

from shim_torch._impl.records.shared.formulas import zeros_as
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import broadcast, int_to_float, real_pair, same, same_dtype


@op(
    "_conj_physical(Tensor self) -> Tensor",
    shape=same,
    dtype=same_dtype,
    inplace=True,
    out=True,
    native="conj_physical",
    function=False,
    method=False,
    grad={"self": lambda g: g.conj()},
    sparse="linear",
)
def _conj_physical(xp, self):
    return xp.conjugate(self) if self.dtype.kind == "c" else self


@composite(
    "conj_physical(Tensor self) -> Tensor",
    inplace="function",
    out=True,
    pointwise=True,
    sparse="linear",
    out_dtype="same",
    out_error_name="aten::conj_physical",
)
def conj_physical(self):
    """The conjugate; a real tensor is its own."""
    return aten._conj_physical(self) if self.is_complex() else self


def _angle_grad(g, x):
    if not x.is_complex():
        return zeros_as(g)
    return (g * x / x.abs().pow(2) * 1j).masked_fill(x == 0, 0)


@op(
    "polar(Tensor abs, Tensor angle) -> Tensor",
    shape=broadcast,
    dtype=lambda abs, angle: (real_pair(abs, angle), abs.dtype.to_complex()),
    out=True,
    native="polar",
    grad={
        "abs": lambda g, result: (g.conj() * aten.sgn(result)).real,
        "angle": lambda g, result: (g.conj() * (result * 1j)).real,
    },
    one_dtype=True,
    refuses=(("h", "polar_cpu"),),
    autocast="float32",
    out_dtype="Expected object of scalar type {R} but got scalar type {O} for argument 'out'",
)
def polar(xp, abs, angle):
    """abs · (cos(angle) + i · sin(angle)): complex numbers by their lengths and their angles in radians.

    Shapes:  broadcast
    Dtypes:  both float32 -> complex64, or both float64 -> complex128
    """
    real = abs * xp.cos(angle)
    found = xp.empty(real.shape, (real.dtype.type(0) + xp.zeros((), "complex64")).dtype)
    found.real, found.imag = real, abs * xp.sin(angle)  # each by itself: infinities do not meet
    return found


@op(
    "angle(Tensor self) -> Tensor",
    shape=same,
    dtype=lambda self: (int_to_float(self), int_to_float(self).to_real()),
    out=True,
    native="angle",
    grad={"self": lambda g, self: _angle_grad(g, self)},
)
def angle(xp, self):
    """The angle of each complex number in radians; of real ones 0, of negative ones π, of NaN NaN.

    Complex dtypes give real ones, integers the default dtype.
    """
    if self.dtype.kind == "f":
        return xp.where(xp.isnan(self), self, xp.where(self < 0, self.dtype.type(math.pi), self.dtype.type(0)))
    return xp.angle(self)
