"""Activations of torch and torch.nn.functional, and the softmax family."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.arrays.special import special
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import (
    compared,
    flat,
    once,
    one_pass,
    one_pass_on_cuda,
    shim,
    torch_module,
)
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.refusals import refusing
from shim_torch._impl.table.rules import int_to_float, promote, same, same_dtype, type_name, wrap_dim

_NN = {"module": "nn.functional", "method": False}


def _float_only(self: Any) -> Any:
    return int_to_float(self)


def _softplus(xp, x):
    return xp.where(x > 0, x, 0) + xp.log1p(xp.exp(-xp.abs(x)))


def _sigmoid(xp, x):
    if x.dtype.kind == "c":
        return 1 / (1 + xp.exp(-x))
    e = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1 / (1 + e), e / (1 + e))


@op(
    "relu(Tensor self) -> Tensor",
    shape=same,
    dtype=refusing("relu", same_dtype),
    inplace=True,
    native="relu",
    grad={"self": flat(lambda g, result: _relu_grad(g, result))},
)
def relu(xp, self):
    return xp.maximum(self, self.dtype.type(0))


@op(
    "silu(Tensor self) -> Tensor",
    shape=same,
    dtype=_float_only,
    inplace=True,
    out=True,
    native="silu",
    **_NN,
    grad={"self": lambda g, self: _silu_grad(g, self)},
)
def silu(xp, self):
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
    dtype=_float_only,
    inplace=True,
    out=True,
    native="gelu",
    **_NN,
    grad={"self": lambda g, self, approximate: _gelu_grad(g, self, approximate)},
    out_dtype="same",
)
def gelu(xp, self, approximate):
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
    dtype=_float_only,
    inplace=True,
    method=False,
    module="_C",
    grad={"self": lambda g, self, alpha, scale, input_scale: _elu_grad(g, self, alpha, scale, input_scale)},
)
def elu(xp, self, alpha, scale, input_scale):
    return xp.where(self > 0, self * scale, alpha * scale * xp.expm1(xp.minimum(self, 0) * input_scale))


def _elu_grad(g, x, alpha, scale, input_scale):
    done = one_pass_on_cuda(g, x, "elu_backward", alpha, scale, input_scale)
    return g * _elu_slope(x, alpha, scale, input_scale) if done is None else done


def _elu_slope(x, alpha, scale, input_scale):
    import shim_torch

    return shim_torch.where(x > 0, float(scale), (x * input_scale).exp() * (alpha * scale * input_scale))


@op(
    "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
    native="leaky_relu",
    shape=same,
    dtype=_float_only,
    inplace=True,
    method=False,
    module="_C",
    grad={"self": flat(lambda g, self, negative_slope: _leaky(g, self, negative_slope))},
)
def leaky_relu(xp, self, negative_slope):
    return xp.where(self > 0, self, self * self.dtype.type(negative_slope))


def _leaky(g, x, slope):
    import shim_torch

    done = one_pass_on_cuda(g, x, "leaky_relu_backward", slope)
    return done if done is not None else shim_torch.where(x > 0, g, g * slope)


@op(
    "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
    native="softplus",
    shape=same,
    dtype=_float_only,
    out=True,
    **_NN,
    grad={"self": lambda g, self, beta, threshold: _softplus_grad(g, self, beta, threshold)},
    autocast="float32_cuda",
    out_dtype="same",
)
def softplus(xp, self, beta, threshold):
    x = self * beta
    return xp.where(x > threshold, self, _softplus(xp, x) / self.dtype.type(beta))


def _softplus_grad(g, x, beta, threshold):
    import shim_torch

    done = one_pass_on_cuda(g, x, "softplus_backward", beta, threshold)
    return done if done is not None else shim_torch.where(x * beta > threshold, g, g * (x * beta).sigmoid())


@op(
    "log_sigmoid(Tensor self) -> Tensor",
    native="log_sigmoid",
    shape=same,
    dtype=_float_only,
    method=False,
    module="_C",
    out=True,
    grad={"self": lambda g, self: _log_sigmoid_grad(g, self)},
    out_dtype="kernel",
    out_error_name="log_sigmoid_forward",
    out_resize="silent",
)
def log_sigmoid(xp, self):
    return -_softplus(xp, -self)


def _log_sigmoid_grad(g, x):
    done = one_pass_on_cuda(g, x, "log_sigmoid_backward")
    return g * (-x).sigmoid() if done is None else done


@op(
    "mish(Tensor self) -> Tensor",
    native="mish",
    shape=same,
    dtype=_float_only,
    inplace=True,
    out=True,
    **_NN,
    grad={"self": lambda g, self: _mish_grad(g, self)},
)
def mish(xp, self):
    return self * xp.tanh(_softplus(xp, self))


def _mish_grad(g, x):
    done = one_pass(g, x, "mish_backward")
    if done is not None:
        return done
    import shim_torch.nn.functional as F

    t = F.softplus(x).tanh()
    return g * (t + x * (1 - t * t) * x.sigmoid())


@op(
    "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    native="hardtanh",
    shape=same,
    dtype=same_dtype,
    inplace=True,
    method=False,
    module="_C",
    grad={"self": flat(lambda g, self, min_val, max_val: _hardtanh_grad(g, self, min_val, max_val))},
)
def hardtanh(xp, self, min_val, max_val):
    return xp.clip(self, self.dtype.type(min_val), self.dtype.type(max_val))


def _hardtanh_grad(g, x, least, most):
    done = one_pass_on_cuda(g, x, "hardtanh_backward", least, most)
    if done is not None:
        return done
    x = compared(x)
    return g * ((x > least) & (x < most))


@op(
    "hardswish(Tensor self) -> Tensor",
    native="hardswish",
    shape=same,
    dtype=_float_only,
    inplace=True,
    method=False,
    module="_C",
    grad={"self": lambda g, self: _hardswish_grad(g, self)},
)
def hardswish(xp, self):
    return self * xp.clip(self + 3, 0, 6) / 6


def _hardswish_grad(g, x):
    done = one_pass_on_cuda(g, x, "hardswish_backward")
    return g * (((x * 2 + 3) / 6).masked_fill(x < -3, 0.0).masked_fill(x > 3, 1.0)) if done is None else done


@op(
    "hardsigmoid(Tensor self) -> Tensor",
    native="hardsigmoid",
    shape=same,
    dtype=_float_only,
    inplace=True,
    method=False,
    module="_C",
    grad={"self": lambda g, self: once(g * ((self > -3) & (self < 3)) / 6, self, "hardsigmoid_backward")},
)
def hardsigmoid(xp, self):
    return xp.clip(self + 3, 0, 6) / 6


@op(
    "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    native="hardshrink",
    shape=same,
    dtype=_float_only,
    out=True,
    grad={"self": flat(lambda g, self, lambd: g * (self.abs() > lambd))},
    out_dtype="same",
)
def hardshrink(xp, self, lambd):
    return xp.where(xp.abs(self) <= lambd, xp.zeros((), self.dtype), self)  # what is no number stays


def _softshrink_shape(self: Any, lambd: Any) -> Any:
    if not 0 <= lambd:
        import shim_torch

        largest = f"{shim_torch.finfo(self.dtype).max:.6g}" if self.is_floating_point() else "0"
        raise RuntimeError(
            f"lambda must be in range [0, {largest}] for input dtype {type_name(self.dtype)}, but found {lambd:g}"
        )
    return self.shape


@op(
    "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    native="softshrink",
    shape=_softshrink_shape,
    dtype=_float_only,
    **_NN,
    out=True,
    grad={"self": flat(lambda g, self, lambd: g * (self.abs() > lambd))},
    out_dtype="same",
)
def softshrink(xp, self, lambd):
    inside = xp.where(xp.isnan(self), self, xp.zeros((), self.dtype))
    return xp.where(self > lambd, self - lambd, xp.where(self < -lambd, self + lambd, inside))


@op(
    "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
    native="threshold",
    shape=same,
    dtype=same_dtype,
    inplace=True,
    method=False,
    grad={"self": flat(lambda g, self, threshold: torch_module().where(compared(self) <= threshold, 0, g))},
    expanded="same_value",
)
def threshold_(xp, self, threshold, value):
    if self.dtype.kind == "u" and value < 0:
        value = int(value) % (1 << 8 * self.dtype.itemsize)  # the bits of the negative number, as in C
    return xp.where(self <= threshold, self.dtype.type(value), self)  # NaN stays


@op(
    "_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
    native="prelu",
    dtype=promote,
    module="_C",
    method=False,
    grad={
        "self": flat(lambda g, self, weight: _where(self > 0, g, g * weight)),
        "weight": lambda g, self: g * self.clamp(max=0),
    },
)
def prelu_kernel(xp, self, weight):
    return xp.where(self > 0, self, self * weight)


def _where(condition, a, b):
    import shim_torch

    return shim_torch.where(condition, a, b)


@composite("prelu(Tensor self, Tensor weight) -> Tensor", autocast="lower_precision")
def prelu(self, weight):
    import shim_torch

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
    return shim_torch.ops.aten._prelu_kernel(self, weight)


@composite("glu(Tensor self, int dim=-1) -> Tensor", module="nn.functional", method=False, native="glu")
def glu(self, dim):
    if self.dim() == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    if self.size(dim) % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {wrap_dim(dim, self.dim())} is size {self.size(dim)}"
        )
    a, b = self.chunk(2, dim)
    return a * b.sigmoid()


# --- softmax ------------------------------------------------------------------------------------------------------------------


def _softmax_dtype(name):
    def rule(self, dim, dtype):
        wanted = self.dtype if dtype is None else dtype
        if not wanted.is_floating_point and self.device.type == "cpu":
            last = self.dim() == 0 or dim % self.dim() == self.dim() - 1
            kernel = f"{name}_lastdim_kernel_impl" if last else "softmax_kernel_impl"
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{_scalar(wanted)}'")
        return wanted

    return rule


def _scalar(dtype):
    from shim_torch._utils import _scalar as name

    return name(dtype)


@op(
    "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    shape=lambda self, dim: (wrap_dim(dim, len(self.shape)), self.shape)[1],
    dtype=_softmax_dtype("softmax"),
    native="softmax",
    out=True,
    grad={"self": lambda g, result, dim: _softmax_grad(g, result, dim)},
    autocast="float32_cuda",
    out_dtype="structured",
    out_error_name="aten::softmax",
)
def softmax(xp, self, dim, dtype):
    if self.ndim == 0:
        return xp.ones_like(self)
    if self.size == 0:
        return self
    e = xp.exp(self - self.max(axis=dim, keepdims=True))
    return e / e.sum(axis=dim, keepdims=True)


def _softmax_grad(g, result, dim):
    if result.dim() and _core.one_pass(g, result):
        return _softmax_backward(g, result, dim, False)
    if _has_handler(result):
        return _shown("_softmax_backward_data", g, result, dim)
    return result * (g - (g * result).sum(dim, True))


def _has_handler(x):
    kind = type(x)
    return kind is not _core.Tensor and kind.__torch_dispatch__ is not _core._disabled_torch_dispatch_impl


def _shown(name, g, result, dim):
    """The operator that subclasses with a handler are shown for a gradient."""
    import shim_torch

    return getattr(shim_torch.ops.aten, name)(g, result, dim, result.dtype)


def _log_softmax_grad(g, result, dim):
    if result.dim() and _core.one_pass(g, result):
        return _softmax_backward(g, result, dim, True)
    if _has_handler(result):
        return _shown("_log_softmax_backward_data", g, result, dim)
    return g - result.exp() * g.sum(dim, True)


def _softmax_backward(g, result, dim, log):

    return shim().softmax_backward(g, result, dim, log)


@op(
    "log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    shape=lambda self, dim: (wrap_dim(dim, len(self.shape)), self.shape)[1],
    dtype=_softmax_dtype("log_softmax"),
    native="log_softmax",
    out=True,
    grad={"self": lambda g, result, dim: _log_softmax_grad(g, result, dim)},
    autocast="float32_cuda",
    out_dtype="structured",
    out_error_name="aten::log_softmax",
)
def log_softmax(xp, self, dim, dtype):
    if self.ndim == 0:
        return xp.zeros_like(self)
    if self.size == 0:
        return self
    x = self - self.max(axis=dim, keepdims=True)
    return x - xp.log(xp.exp(x).sum(axis=dim, keepdims=True))


@composite("_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", method=False)
def _softmax(self, dim, half_to_float):
    return self.softmax(dim, dtype=_core.float32 if half_to_float else None)


@composite("_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", method=False)
def _log_softmax(self, dim, half_to_float):
    return self.log_softmax(dim, dtype=_core.float32 if half_to_float else None)
