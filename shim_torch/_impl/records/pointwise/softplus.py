"""Softplus and activations made of it: the logarithm of the sigmoid, Mish."""

from __future__ import annotations

from shim_torch._impl.records.shared.formulas import one_pass
from shim_torch._impl.records.shared.pointwise import float_only
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import op
from shim_torch._impl.table.rules import same

_NN = {"module": "nn.functional", "method": False}


def _softplus(xp, x):
    return xp.where(x > 0, x, 0) + xp.log1p(xp.exp(-xp.abs(x)))


@op(
    "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
    native="softplus",
    shape=same,
    dtype=float_only,
    out=True,
    **_NN,
    grad={"self": lambda g, self, beta, threshold: _softplus_grad(g, self, beta, threshold)},
    refuses=(("bic", "softplus_cpu"),),
    autocast="float32_cuda",
    out_dtype="same",
)
def softplus(xp, self, beta, threshold):
    """log(1 + exp(beta · x)) / beta of each element, and x itself where beta · x > ``threshold``.

    Floating dtypes only.
    """
    x = self * beta
    return xp.where(x > threshold, self, _softplus(xp, x) / self.dtype.type(beta))


def _softplus_grad(g, x, beta, threshold):
    done = one_pass(g, x, "softplus_backward", beta, threshold)
    return done if done is not None else torch.where(x * beta > threshold, g, g * (x * beta).sigmoid())


@op(
    "log_sigmoid(Tensor self) -> Tensor",
    native="log_sigmoid",
    shape=same,
    dtype=float_only,
    method=False,
    module="_C",
    out=True,
    grad={"self": lambda g, self: _log_sigmoid_grad(g, self)},
    refuses=(("bic", "log_sigmoid_cpu"),),
    out_dtype="kernel",
    out_error_name="log_sigmoid_forward",
    out_resize="silent",
)
def log_sigmoid(xp, self):
    """log(sigmoid(x)) of each element, without overflow; floating dtypes only."""
    return -_softplus(xp, -self)


def _log_sigmoid_grad(g, x):
    done = one_pass(g, x, "log_sigmoid_backward")
    return g * (-x).sigmoid() if done is None else done


@op(
    "mish(Tensor self) -> Tensor",
    native="mish",
    shape=same,
    dtype=float_only,
    inplace=True,
    out=True,
    **_NN,
    grad={"self": lambda g, self: _mish_grad(g, self)},
    refuses=(("bic", "mish_cpu"),),
)
def mish(xp, self):
    """x · tanh(log(1 + exp(x))) of each element; floating dtypes only."""
    return self * xp.tanh(_softplus(xp, self))


def _mish_grad(g, x):
    done = one_pass(g, x, "mish_backward")
    if done is not None:
        return done
    t = aten.softplus(x).tanh()
    return g * (t + x * (1 - t * t) * x.sigmoid())
