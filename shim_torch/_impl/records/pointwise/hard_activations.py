"""Activations made of pieces: hardtanh, hardswish, hardsigmoid, the shrinks and threshold."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.records.shared.formulas import compared, flat, once, one_pass, one_pass_on_cuda
from shim_torch._impl.records.shared.pointwise import float_only
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import op
from shim_torch._impl.table.rules import same, same_dtype, type_name
from shim_torch._impl.tensor.type_info import finfo

_NN = {"module": "nn.functional", "method": False}


@op(
    "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    native="hardtanh",
    shape=same,
    dtype=same_dtype,
    inplace=True,
    method=False,
    module="_C",
    grad={"self": flat(lambda g, self, min_val, max_val: _hardtanh_grad(g, self, min_val, max_val))},
    refuses=(("b", "Bool inputs not supported for hardtanh"), ("c", "!clamp is not supported for complex types")),
)
def hardtanh(xp, self, min_val, max_val):
    """Each element bounded to [``min_val``, ``max_val``], in its own dtype; bool and complex are refused."""
    return xp.clip(self, self.dtype.type(min_val), self.dtype.type(max_val))


def _hardtanh_grad(g, x, least, most):
    done = one_pass_on_cuda(g, x, "hardtanh_backward", least, most)
    if done is not None:
        return done
    x = compared(x)
    return g.masked_fill((x <= least) | (x >= most), 0)


@op(
    "hardswish(Tensor self) -> Tensor",
    native="hardswish",
    shape=same,
    dtype=float_only,
    inplace=True,
    method=False,
    module="_C",
    grad={"self": lambda g, self: _hardswish_grad(g, self)},
    refuses=(("bic", "hardswish_cpu"),),
)
def hardswish(xp, self):
    """x · min(max(x + 3, 0), 6) / 6 of each element; floating dtypes only."""
    return self * xp.clip(self + 3, 0, 6) / 6


def _hardswish_grad(g, x):
    done = one_pass(g, x, "hardswish_backward")
    if done is not None:
        return done
    slope = ((x * 2 + 3) / 6).masked_fill(x <= -3, 0.0)
    return g * slope.masked_fill((x < 3).logical_not(), 1.0)  # NaN too


@op(
    "hardsigmoid(Tensor self) -> Tensor",
    native="hardsigmoid",
    shape=same,
    dtype=float_only,
    inplace=True,
    method=False,
    module="_C",
    grad={"self": lambda g, self: once(g * ((self > -3) & (self < 3)) / 6, self, "hardsigmoid_backward")},
    refuses=(("bic", "hardsigmoid_cpu"),),
)
def hardsigmoid(xp, self):
    """min(max(x + 3, 0), 6) / 6 of each element; floating dtypes only."""
    return xp.clip(self + 3, 0, 6) / 6


@op(
    "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    native="hardshrink",
    shape=same,
    dtype=float_only,
    out=True,
    grad={"self": flat(lambda g, self, lambd: g.masked_fill(self.abs() <= lambd, 0))},
    refuses=(("bic", "hardshrink_cpu"),),
    out_dtype="same",
)
def hardshrink(xp, self, lambd):
    """0 where |x| <= ``lambd``, else x; NaN stays. Floating dtypes only."""
    return xp.where(xp.abs(self) <= lambd, xp.zeros((), self.dtype), self)  # what is no number stays


def _softshrink_shape(self: Any, lambd: Any) -> Any:
    if not 0 <= lambd:
        largest = f"{finfo(self.dtype).max:.6g}" if self.is_floating_point() else "0"
        raise RuntimeError(
            f"lambda must be in range [0, {largest}] for input dtype {type_name(self.dtype)}, but found {lambd:g}"
        )
    return self.shape


@op(
    "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    native="softshrink",
    shape=_softshrink_shape,
    dtype=float_only,
    **_NN,
    out=True,
    grad={"self": flat(lambda g, self, lambd: g.masked_fill(self.abs() <= lambd, 0))},
    pointwise=True,
    refuses=(("bic", "softshrink_check"),),
    out_dtype="same",
)
def softshrink(xp, self, lambd):
    """Each element moved towards 0 by ``lambd``, and 0 where it is nearer than that; NaN stays.

    Floating dtypes only; RuntimeError for a negative ``lambd``.
    """
    inside = xp.where(xp.isnan(self), self, xp.zeros((), self.dtype))
    return xp.where(self > lambd, self - lambd, xp.where(self < -lambd, self + lambd, inside))


@op(
    "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
    native="threshold",
    shape=same,
    dtype=same_dtype,
    inplace=True,
    method=False,
    grad={"self": flat(lambda g, self, threshold: torch.where(compared(self) <= threshold, 0, g))},
    refuses=(("bc", "threshold_cpu"),),
    expanded="same_value",
)
def threshold_(xp, self, threshold, value):
    """``value`` where x <= ``threshold``, else x; NaN stays. Bool and complex dtypes are refused."""
    if self.dtype.kind == "u" and value < 0:
        value = int(value) % (1 << 8 * self.dtype.itemsize)  # the bits of the negative number, as in C
    return xp.where(self <= threshold, self.dtype.type(value), self)  # NaN stays
