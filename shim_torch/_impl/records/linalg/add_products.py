"""Products added to a tensor: addmm, addmv, addr, baddbmm, addbmm."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.linalg.matmul import (
    _bmm_shape,
    _c10,
    _same_scalar,
    _same_vectors,
    left_grad,
    mm_shape,
    right_grad,
)
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import NARROW, not_implemented
from shim_torch._utils import _scalar


def _add_scaled(self, product, beta, alpha):
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return (self if beta == 1 else self * beta) + product


def check_addmm(self: Any, wanted: Any) -> None:
    """PyTorch's error where ``self`` does not expand to the product's shape."""
    have = list(self.shape)
    if len(have) > len(wanted):
        raise RuntimeError(
            f"expand(torch.{_scalar(self.dtype)}Tensor{{{have}}}, size={list(wanted)}): the number of sizes provided "
            f"({len(wanted)}) must be greater or equal to the number of dimensions in the tensor ({len(have)})"
        )
    for dim in range(len(wanted) - 1, len(wanted) - 1 - len(have), -1):
        n = have[dim - len(wanted)]
        if n not in (1, wanted[dim]):
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted[dim]}) must match the existing size ({n}) at non-singleton dimension "
                f"{dim}.  Target sizes: {list(wanted)}.  Tensor sizes: {have}"
            )


def _addmm_grad(g, beta, self_shape):
    return _times(g, beta).sum_to_size(self_shape)


def _addmm_shape(self, mat1, mat2):
    for name, t in (("mat1", mat1), ("mat2", mat2)):
        if t.dim() != 2:
            raise RuntimeError(f"{name} must be a matrix, got {t.dim()}-D tensor")
    shape = mm_shape(mat1, mat2)
    check_addmm(self, shape)
    return shape


def addmm_dtype_rule(self, mat1, mat2):
    if mat1.dtype != mat2.dtype:
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {_scalar(mat1.dtype)} and {_scalar(mat2.dtype)}"
        )
    if self.dtype != mat2.dtype:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {_scalar(self.dtype)} and {_scalar(mat2.dtype)}"
        )
    return self.dtype


@op(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    shape=_addmm_shape,
    dtype=addmm_dtype_rule,
    inplace=True,
    out=True,
    native="addmm",
    grad={
        "self": _addmm_grad,
        "mat1": lambda g, mat1_shape, mat1_strides, mat2, alpha: _times(
            left_grad(g, mat1_shape, mat1_strides, mat2), alpha
        ),
        "mat2": lambda g, mat1, mat2_shape, mat2_strides, alpha: _times(
            right_grad(g, mat1, mat2_shape, mat2_strides), alpha
        ),
    },
)
def addmm(xp, self, mat1, mat2, beta, alpha):
    return _combined(xp, self, xp.matmul(mat1, mat2), beta, alpha)


def _times(x, alpha):
    """A gradient through a product with the number ``alpha``."""
    return x if alpha == 1 else x * (alpha.conjugate() if isinstance(alpha, complex) else alpha)


def _combined(xp, self, product, beta, alpha):
    t = product.dtype.type
    product = product if alpha == 1 else product * t(alpha)
    return product if beta == 0 else product + (self if beta == 1 else self * t(beta))


@composite(
    "addmm.dtype(Tensor self, Tensor mat1, Tensor mat2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    out=True,
    method=False,
)
def addmm_dtype(self, mat1, mat2, out_dtype, beta, alpha):
    return _add_scaled(self.to(out_dtype), mat1.to(out_dtype).mm(mat2.to(out_dtype)), beta, alpha)


@composite("mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor", out=True, method=False)
def mm_dtype(self, mat2, out_dtype):
    return self.to(out_dtype).mm(mat2.to(out_dtype))


def _check_wide(name, out_dtype, *tensors):
    if not all(t.is_cuda for t in tensors):
        kind = tensors[0].device.type.upper()
        raise NotImplementedError(
            f"Could not run 'aten::{name}.dtype' with arguments from the '{kind}' backend: it is CUDA's alone"
        )
    given = str(tensors[-1].dtype)
    wide = str(out_dtype) == "torch.float32" and given in ("torch.float16", "torch.bfloat16")
    if out_dtype != tensors[-1].dtype and not wide:
        raise RuntimeError("out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs")


@composite("bmm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor", out=True, method=False)
def bmm_dtype(self, mat2, out_dtype):
    _check_wide("bmm", out_dtype, self, mat2)
    return self.to(out_dtype).bmm(mat2.to(out_dtype))


@composite(
    "baddbmm.dtype(Tensor self, Tensor batch1, Tensor batch2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1)"
    " -> Tensor",
    out=True,
    method=False,
)
def baddbmm_dtype(self, batch1, batch2, out_dtype, beta, alpha):
    _check_wide("baddbmm", out_dtype, self, batch1, batch2)
    return self.to(out_dtype).baddbmm(batch1.to(out_dtype), batch2.to(out_dtype), beta=beta, alpha=alpha)


def _addmv_shape(self, mat, vec):
    if mat.dim() != 2 or vec.dim() != 1 or self.dim() > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {self.dim()}, {mat.dim()}, {vec.dim()}")
    if mat.size(1) != vec.size(0) or (self.numel() != 1 and self.numel() != mat.size(0)):
        raise RuntimeError(
            f"size mismatch, got input ({self.numel()}), mat ({mat.size(0)}x{mat.size(1)}), vec ({vec.size(0)})"
        )
    return (mat.size(0),)


@op(
    "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    shape=_addmv_shape,
    dtype=_same_vectors,
    inplace=True,
    out=True,
    native="addmv",
    grad={
        "self": _addmm_grad,
        "mat": lambda g, vec, alpha: _times(g.outer(vec.conj()), alpha),
        "vec": lambda g, mat, alpha: _times(mat.t().conj().mv(g), alpha),
    },
)
def addmv(xp, self, mat, vec, beta, alpha):
    return _combined(xp, self, xp.matmul(mat, vec), beta, alpha)


@composite(
    "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", inplace=True, out=True
)
def addr(self, vec1, vec2, beta, alpha):
    for name, t in (("vec1", vec1), ("vec2", vec2)):
        if t.dim() != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {t.dim()}-D")
    dtype = _core.promote_types(_core.promote_types(vec1.dtype, vec2.dtype), self.dtype)
    for name, number in (("beta", beta), ("alpha", alpha)):
        if isinstance(number, bool) and dtype is not _core.bool:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(number, float) and not (dtype.is_floating_point or dtype.is_complex):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    self = self.expand(vec1.size(0), vec2.size(0))
    if dtype is _core.bool:
        beta, alpha = bool(beta), bool(alpha)
    return _add_scaled(self, vec1.outer(vec2), beta, alpha)


def _baddbmm_shape(self, batch1, batch2):
    if batch1.dim() == 3 and batch2.dim() == 3:  # PyTorch looks at self first
        check_addmm(self, (batch1.shape[0], batch1.shape[1], batch2.shape[2]))
    return _bmm_shape(batch1, batch2)


def _baddbmm_dtype(self, batch1, batch2):
    if batch1.dtype != self.dtype:
        names = [_c10(t.dtype) for t in (self, batch1, batch2)]
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {names[0]}, batch1: {names[1]}, batch2: {names[2]}"
        )
    return _same_scalar(batch1, batch2)


@op(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    shape=_baddbmm_shape,
    dtype=_baddbmm_dtype,
    inplace=True,
    out=True,
    native="baddbmm",
    grad={
        "self": _addmm_grad,
        "batch1": lambda g, batch2, alpha: _times(g.bmm(batch2.transpose(1, 2).conj()), alpha),
        "batch2": lambda g, batch1, alpha: _times(batch1.transpose(1, 2).conj().bmm(g), alpha),
    },
)
def baddbmm(xp, self, batch1, batch2, beta, alpha):
    return _combined(xp, self, xp.matmul(batch1, batch2), beta, alpha)


_SCALED = "*, Scalar beta=1, Scalar alpha=1"


@composite(f"addbmm(Tensor self, Tensor batch1, Tensor batch2, {_SCALED}) -> Tensor")
def addbmm(self, batch1, batch2, beta, alpha):
    """The sum of a batch's products, added to ``self``."""
    if batch1.dim() == batch2.dim() == 3 and batch1.size(0) != batch2.size(0):
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {batch1.size(0)} and {batch2.size(0)}"
        )
    dtype = batch1.dtype
    if dtype is _core.bool:
        raise not_implemented("addmm_impl_cpu_", dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        beta, alpha = int(beta), int(alpha)
    if dtype in NARROW and self.dtype is dtype and 0 < batch1.size(0) <= 64:
        for one, other in zip(batch1, batch2, strict=True):  # as PyTorch rounds: after each product
            self, beta = self.addmm(one, other, beta=beta, alpha=alpha), 1
        return self
    return _add_scaled(self, batch1.bmm(batch2).sum(0, dtype=dtype), beta, alpha)


def _addbmm_into(target: Any, self: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    found = addbmm(self, batch1, batch2, beta, alpha)
    if target is not self and target.shape != found.shape:
        target.resize_(found.shape)
    if target.dtype is not batch1.dtype:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {_scalar(target.dtype)} and {_scalar(batch1.dtype)}"
        )
    if target.shape != found.shape:
        target.resize_(found.shape)
    return target.copy_(found)


@composite(f"addbmm_(Tensor(a!) self, Tensor batch1, Tensor batch2, {_SCALED}) -> Tensor(a!)", function=False)
def addbmm_inplace(self, batch1, batch2, beta, alpha):
    """``self`` takes the shape of the products, as PyTorch's does."""
    return _addbmm_into(self, self, batch1, batch2, beta, alpha)


@composite(f"addbmm.out(Tensor self, Tensor batch1, Tensor batch2, {_SCALED}, Tensor(a!) out) -> Tensor(a!)", method=False)
def addbmm_out(self, batch1, batch2, beta, alpha, out):
    if _core.is_grad_enabled() and any(t.requires_grad for t in (self, batch1, batch2, out)):
        raise RuntimeError(
            "addbmm(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad."
        )
    return _addbmm_into(out, self, batch1, batch2, beta, alpha)
