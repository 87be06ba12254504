"""Softmax and its logarithm."""

from __future__ import annotations

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten, shim
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import wrap_dim


def _softmax_dtype(name):
    def rule(self, dim, dtype):
        wanted = self.dtype if dtype is None else dtype
        if not wanted.is_floating_point and self.device.type == "cpu" and self.numel():
            last = self.dim() == 0 or dim % self.dim() == self.dim() - 1
            kernel = f"{name}_lastdim_kernel_impl" if last else f"{name}_kernel_impl"
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{_scalar(wanted)}'")
        return wanted

    return rule


def _scalar(dtype):
    return _core.scalar_name(dtype)


@op(
    "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    foreseen="floats",
    shape=lambda self, dim: (wrap_dim(dim, len(self.shape)), self.shape)[1],
    dtype=_softmax_dtype("softmax"),
    native="softmax",
    out=True,
    grad={"self": lambda g, result, dim: _softmax_grad(g, result, dim)},
    batching="along_dim_or_none",
    autocast="float32_cuda",
    out_dtype="structured",
    out_error_name="aten::softmax",
)
def softmax(xp, self, dim, dtype):
    """exp(x) / Σ exp(x) along ``dim``, without overflow: numbers from 0 to 1 whose sum is 1.

    ``dtype`` converts the input first, and is that of the result. Integers are refused on the CPU.
    """
    if self.ndim == 0:
        return xp.ones_like(self)
    if self.size == 0:
        return self
    e = xp.exp(self - self.max(axis=dim, keepdims=True))
    return e / e.sum(axis=dim, keepdims=True)


@op(
    "shim::safe_softmax(Tensor self) -> Tensor",
    foreseen="floats",
    shape=lambda self: self.shape,
    dtype=lambda self: self.dtype,
    native="safe_softmax",
    gradient_name="SafeSoftmaxBackward0",
    grad={"self": lambda g, result: _softmax_grad(g, result, -1)},
    function=False,
)
def safe_softmax(xp, self):
    """``softmax`` along the last dim, with zeros for rows of -infinity alone."""
    nothing = (self == -xp.inf).all(axis=-1, keepdims=True)
    return xp.where(nothing, 0, softmax(xp, xp.where(nothing, 0, self), -1, None))


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
    return getattr(aten, name)(g, result, dim, result.dtype)


def _log_softmax_grad(g, result, dim):
    if result.dim() and _core.one_pass(g, result):
        return _softmax_backward(g, result, dim, True)
    if _has_handler(result):
        return _shown("_log_softmax_backward_data", g, result, dim)
    return g - result.exp() * g.sum(dim, True)


def _softmax_backward(g, result, dim, log):

    return shim.softmax_backward(g, result, dim, log)


@op(
    "log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    foreseen="floats",
    shape=lambda self, dim: (wrap_dim(dim, len(self.shape)), self.shape)[1],
    dtype=_softmax_dtype("log_softmax"),
    native="log_softmax",
    out=True,
    grad={"self": lambda g, result, dim: _log_softmax_grad(g, result, dim)},
    batching="along_dim_or_none",
    autocast="float32_cuda",
    out_dtype="structured",
    out_error_name="aten::log_softmax",
)
def log_softmax(xp, self, dim, dtype):
    """x - log Σ exp(x) along ``dim``, without overflow.

    ``dtype`` converts the input first, and is that of the result. Integers are refused on the CPU.
    """
    if self.ndim == 0:
        return xp.zeros_like(self)
    if self.size == 0:
        return self
    x = self - self.max(axis=dim, keepdims=True)
    return x - xp.log(xp.exp(x).sum(axis=dim, keepdims=True))


@composite("_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", method=False, batching="along_dim")
def _softmax(self, dim, half_to_float):
    return self.softmax(dim, dtype=_core.float32 if half_to_float else None)


@composite("_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", method=False, batching="along_dim")
def _log_softmax(self, dim, half_to_float):
    return self.log_softmax(dim, dtype=_core.float32 if half_to_float else None)


@composite("_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", method=False)
def _safe_softmax(self, dim, dtype):
    """Softmax whose rows of -inf alone are zeros."""
    last = dtype is None and self.dim() > 0 and dim in (-1, self.dim() - 1)
    if last and self.is_floating_point() and _core.unseen_on_cuda(self):
        return shim.safe_softmax(self)
    nothing = (self == float("-inf")).all(dim, keepdim=True)
    return self.masked_fill(nothing, 0).softmax(dim, dtype=dtype).masked_fill(nothing, 0)
