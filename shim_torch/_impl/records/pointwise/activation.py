"""Activations of torch and torch.nn.functional."""

from __future__ import annotations

import math

from shim_torch._impl.arrays.special import special
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import flat, one_pass, one_pass_on_cuda
from shim_torch._impl.records.shared.pointwise import float_only
from shim_torch._impl.table.calls import aten, shim, torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.refusals import refuse, refusing
from shim_torch._impl.table.rules import promote, same, same_dtype, type_name, wrap_dim

_NN = {"module": "nn.functional", "method": False}


def _sigmoid(xp, x):
    if x.dtype.kind == "c":
        return 1 / (1 + xp.exp(-x))
    e = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1 / (1 + e), e / (1 + e))


@op(
    "relu(Tensor self) -> Tensor",
    shape=same,
    dtype=refusing(
        same_dtype,
        ("c", "!clamp is not supported for complex types"),
        ("b", "Boolean inputs not supported for relu"),
    ),
    inplace="function",
    native="relu",
    grad={"self": flat(lambda g, result: _relu_grad(g, result))},
    sparse="zero_preserving",
)
def relu(xp, self):
    """Each element where it is positive, else 0; NaN stays. Bool and complex dtypes are refused."""
    return xp.maximum(self, self.dtype.type(0))


@op(
    "silu(Tensor self) -> Tensor",
    shape=same,
    dtype=float_only,
    inplace=True,
    out=True,
    native="silu",
    **_NN,
    grad={"self": lambda g, self: _silu_grad(g, self)},
    refuses=(("bi", "silu_cpu"),),
)
def silu(xp, self):
    """x · sigmoid(x) of each element; floating and complex dtypes only."""
    return self * _sigmoid(xp, self)


def _relu_grad(g, y):
    done = one_pass(g, y, "relu_backward")
    return g * (y > 0) if done is None else done


def _silu_grad(g, x):
    done = one_pass(g, x, "silu_backward")
    if done is not None:
        return done
    s = x.sigmoid()
    return g * s * (1 + x * (1 - s))


@op(
    "gelu(Tensor self, *, str approximate='none') -> Tensor",
    shape=same,
    dtype=float_only,
    inplace=True,
    out=True,
    native="gelu",
    **_NN,
    grad={"self": lambda g, self, approximate: _gelu_grad(g, self, approximate)},
    refuses=(("bic", "GeluKernelImpl"),),
    out_dtype="same",
)
def gelu(xp, self, approximate):
    """x · Φ(x) of each element, Φ the standard normal distribution function.

    ``approximate``: "none", or "tanh" for an approximation of Φ (others: RuntimeError). Floating dtypes only.
    """
    if approximate == "tanh":
        return 0.5 * self * (1 + xp.tanh(math.sqrt(2 / math.pi) * (self + 0.044715 * self * self * self)))
    if approximate != "none":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return 0.5 * self * (1 + special(xp, "erf")(self * self.dtype.type(1 / math.sqrt(2))))


def _gelu_grad(g, x, approximate):
    done = one_pass(g, x, "gelu_tanh_backward" if approximate == "tanh" else "gelu_backward")
    if done is not None:
        return done
    if approximate == "tanh":
        c = math.sqrt(2 / math.pi)
        t = (c * (x + 0.044715 * x * x * x)).tanh()
        return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x))
    cdf = 0.5 * (1 + (x * (1 / math.sqrt(2))).erf())
    return g * (cdf + x * (-0.5 * x * x).exp() * (1 / math.sqrt(2 * math.pi)))


@op(
    "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
    native="elu",
    shape=same,
    dtype=float_only,
    inplace=True,
    method=False,
    module="_C",
    grad={"self": lambda g, self, alpha, scale, input_scale: _elu_grad(g, self, alpha, scale, input_scale)},
    refuses=(("bic", "elu_cpu"),),
)
def elu(xp, self, alpha, scale, input_scale):
    """``scale`` · x where x is positive, else ``alpha`` · ``scale`` · (exp(``input_scale`` · x) - 1).

    Floating dtypes only.
    """
    return xp.where(self > 0, self * scale, alpha * scale * xp.expm1(xp.minimum(self, 0) * input_scale))


def _elu_grad(g, x, alpha, scale, input_scale):
    done = one_pass_on_cuda(g, x, "elu_backward", alpha, scale, input_scale)
    return g * _elu_slope(x, alpha, scale, input_scale) if done is None else done


def _elu_slope(x, alpha, scale, input_scale):
    negative = x.masked_fill((x < 0).logical_not(), 0.0)  # whose powers, and their slopes, are finite; of NaN: scale
    return torch.where(x <= 0, (negative * input_scale).exp() * (alpha * scale * input_scale), float(scale))


@op(
    "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
    native="leaky_relu",
    shape=same,
    dtype=float_only,
    inplace=True,
    method=False,
    module="_C",
    grad={"self": flat(lambda g, self, negative_slope: _leaky(g, self, negative_slope))},
    refuses=(("bic", "leaky_relu_cpu"),),
)
def leaky_relu(xp, self, negative_slope):
    """Each element where it is positive, else the element times ``negative_slope``; floating dtypes only."""
    return xp.where(self > 0, self, self * self.dtype.type(negative_slope))


def _leaky(g, x, slope):
    done = one_pass(g, x, "leaky_relu_backward", slope)
    return done if done is not None else torch.where(x > 0, g, g * slope)


@op(
    "_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
    native="prelu",
    dtype=promote,
    module="_C",
    method=False,
    grad={
        "self": flat(lambda g, self, weight: _prelu_slope(g, self, weight)),
        "weight": lambda g, self: _prelu_weight_slope(g, self),
    },
)
def prelu_kernel(xp, self, weight):
    """Each element where it is positive, else the element times the weight; the two broadcast."""
    return xp.where(self > 0, self, self * weight)


def _prelu_slope(g, x, weight):
    if g.is_cuda and weight.dtype is g.dtype and _core.one_pass(g, x):
        return shim.prelu_backward(g, x, weight)
    return torch.where(x > 0, g, g * weight)


def _prelu_weight_slope(g, x):
    done = one_pass_on_cuda(g, x, "prelu_weight_backward")
    return done if done is not None else torch.where(x >= 0, 0.0, g * x)


@composite(
    "prelu(Tensor self, Tensor weight) -> Tensor",
    one_dtype=True,
    refuses=(("bic", "prelu_cpu"),),
    autocast="lower_precision",
)
def prelu(self, weight):
    """Each element where it is positive, else the element times its channel's weight.

    Shapes:  input (N, C, *) with weight (C,), or any input with a weight of one element; an input (N,) has one channel
    Dtypes:  floating, the same for both
    Errors:  RuntimeError where dtypes differ, the weight has more than one dim, or its elements are not the channels
    """
    if weight.dtype != self.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {type_name(self.dtype)} and {type_name(weight.dtype)}"
        )
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if self.dim() == 0:
        if weight.numel() != 1:
            raise RuntimeError("Not allow zero-dim input tensor.")
        weight = weight.reshape(())
    if weight.numel() != 1:
        channels = self.size(1) if self.dim() > 1 else 1
        if weight.numel() != channels:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.numel()} and "
                f"channel size = {channels}."
            )
        weight = weight.reshape([-1 if i == 1 else 1 for i in range(max(self.dim(), 1))])
    return aten._prelu_kernel(self, weight)


@composite(
    "glu(Tensor self, int dim=-1) -> Tensor",
    foreseen="floats",
    gradient_name=True,
    module="nn.functional",
    method=False,
    native="glu",
    batching="along_dim",
)
def glu(self, dim):
    """a · sigmoid(b) for the halves a and b of the input along ``dim``.

    Shapes:  (*, 2n, *) -> (*, n, *); an odd size raises RuntimeError, as an input without dims does
    Dtypes:  floating; others are refused
    """
    if self.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    if self.size(dim) % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {wrap_dim(dim, self.dim())} is size {self.size(dim)}"
        )
    refuse(self.dtype, ("bic", "glu_cpu"), meta=self.is_meta)
    if _core.unseen_on_cuda(self):
        return shim.glu(self, dim)
    a, b = self.chunk(2, dim)
    return a * b.sigmoid()
