"""Products added to a tensor: addmm, addmv, addr, baddbmm, addbmm."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import differentiated
from shim_torch._impl.records.shared.products import (
    addmm_dtype,
    addmm_grad,
    addmm_shape,
    baddbmm_shape,
    c10,
    combined,
    left_grad,
    right_grad,
    same_scalar,
    same_vectors,
    times,
)
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import NARROW, not_implemented


def _add_scaled(self, product, beta, alpha):
    if alpha != 1:
        product = product * alpha
    if beta == 0:  # nothing of self, and a gradient of zeros
        wants_gradient = _core.is_grad_enabled() and self.requires_grad
        return product + self.masked_fill(torch.ones_like(self, dtype=_core.bool), 0) if wants_gradient else product
    return (self if beta == 1 else self * beta) + product


@op(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    foreseen="floats",
    shape=addmm_shape,
    dtype=addmm_dtype,
    inplace=True,
    out=True,
    native="addmm",
    grad={
        "self": addmm_grad,
        "mat1": lambda g, mat1_shape, mat1_strides, mat2, alpha: times(
            left_grad(g, mat1_shape, mat1_strides, mat2), alpha
        ),
        "mat2": lambda g, mat1, mat2_shape, mat2_strides, alpha: times(
            right_grad(g, mat1, mat2_shape, mat2_strides), alpha
        ),
    },
    one_dtype=True,
    refuses=(("b", "addmm_impl_cpu_"),),
    autocast="lower_precision",
    old_orders=("beta self alpha mat1 mat2", "beta self mat1 mat2"),
    out_dtype="exact",
)
def addmm(xp, self, mat1, mat2, beta, alpha):
    """``beta`` · ``input`` + ``alpha`` · ``mat1`` @ ``mat2``; with ``beta=0`` NaN and infinities of input do not count.

    Shapes:  mat1 (M, K), mat2 (K, N), input expands to (M, N)
    Dtypes:  one for all
    """
    return combined(xp, self, xp.matmul(mat1, mat2), beta, alpha)


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
    dtype=same_vectors,
    inplace="function",
    out=True,
    native="addmv",
    grad={
        "self": addmm_grad,
        "mat": lambda g, vec, alpha: times(g.outer(vec.conj()), alpha),
        "vec": lambda g, mat, alpha: times(mat.t().conj().mv(g), alpha),
    },
    one_dtype=True,
    refuses=(("b", "addmv_impl_cpu"),),
    autocast="lower_precision_cuda",
    old_orders=("beta self alpha mat vec", "beta self mat vec"),
    out_dtype="exact",
)
def addmv(xp, self, mat, vec, beta, alpha):
    """``beta`` · ``input`` + ``alpha`` · ``mat`` @ ``vec``: mat (M, K), vec (K,), input (M,) or one number."""
    return combined(xp, self, xp.matmul(mat, vec), beta, alpha)


@composite(
    "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    gradient_name=True,
    inplace=True,
    out=True,
    autocast="lower_precision_cuda",
    old_orders=("beta self alpha vec1 vec2", "beta self vec1 vec2"),
)
def addr(self, vec1, vec2, beta, alpha):
    """``beta`` · ``input`` + ``alpha`` · outer(``vec1``, ``vec2``): input expands to (M, N), vec1 (M,), vec2 (N,)."""
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
    if (
        beta == 1
        and dtype.is_floating_point
        and not differentiated(self, vec1, vec2)
        and all(t.dtype is dtype and _core.unseen_on_cuda(t) for t in (self, vec1, vec2))
    ):  # one pass; the products' gradients are those of the outer product
        return torch.addcmul(self, vec1.unsqueeze(1), vec2, value=alpha)
    return _add_scaled(self, vec1.outer(vec2), beta, alpha)


def _baddbmm_dtype(self, batch1, batch2):
    if batch1.dtype != self.dtype:
        names = [c10(t.dtype) for t in (self, batch1, batch2)]
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {names[0]}, batch1: {names[1]}, batch2: {names[2]}"
        )
    return same_scalar(batch1, batch2)


@op(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    foreseen="floats",
    shape=baddbmm_shape,
    dtype=_baddbmm_dtype,
    inplace=True,
    out=True,
    native="baddbmm",
    grad={
        "self": addmm_grad,
        "batch1": lambda g, batch2, alpha: times(g.bmm(batch2.transpose(1, 2).conj()), alpha),
        "batch2": lambda g, batch1, alpha: times(batch1.transpose(1, 2).conj().bmm(g), alpha),
    },
    one_dtype=True,
    refuses=(("b", "baddbmm"),),
    autocast="lower_precision",
    old_orders=("beta self alpha batch1 batch2", "beta self batch1 batch2"),
    out_dtype="exact",
)
def baddbmm(xp, self, batch1, batch2, beta, alpha):
    """``beta`` · ``input`` + ``alpha`` · ``batch1`` @ ``batch2``, a product for each item of a batch.

    Shapes:  batch1 (B, M, K), batch2 (B, K, N), input expands to (B, M, N)
    Dtypes:  one for all
    """
    return combined(xp, self, xp.matmul(batch1, batch2), beta, alpha)


_SCALED = "*, Scalar beta=1, Scalar alpha=1"


@composite(
    f"addbmm(Tensor self, Tensor batch1, Tensor batch2, {_SCALED}) -> Tensor",
    gradient_name="AddbmmBackward0",
    autocast="lower_precision",
    old_orders=("beta self alpha batch1 batch2", "beta self batch1 batch2"),
)
def addbmm(self, batch1, batch2, beta, alpha):
    """The sum of a batch's products, added to ``self``."""
    if batch1.dim() == batch2.dim() == 3 and batch1.size(0) != batch2.size(0):
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {batch1.size(0)} and {batch2.size(0)}"
        )
    if batch1.dim() == batch2.dim() == 3:
        self = self.expand(batch1.size(1), batch2.size(2))
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
            f"self and mat2 must have the same dtype, but got {_core.scalar_name(target.dtype)} and {_core.scalar_name(batch1.dtype)}"
        )
    if target.shape != found.shape:
        target.resize_(found.shape)
    return target.copy_(found)


@composite(
    f"addbmm_(Tensor(a!) self, Tensor batch1, Tensor batch2, {_SCALED}) -> Tensor(a!)",
    function=False,
    old_orders=("beta self alpha batch1 batch2", "beta self batch1 batch2"),
)
def addbmm_inplace(self, batch1, batch2, beta, alpha):
    """``self`` takes the shape of the products, as PyTorch's does."""
    return _addbmm_into(self, self, batch1, batch2, beta, alpha)


@composite(
    f"addbmm.out(Tensor self, Tensor batch1, Tensor batch2, {_SCALED}, Tensor(a!) out) -> Tensor(a!)",
    method=False,
    autocast="lower_precision",
    old_orders=("beta self alpha batch1 batch2", "beta self batch1 batch2"),
)
def addbmm_out(self, batch1, batch2, beta, alpha, out):
    """``addbmm`` into ``out``, which is resized and must have the dtype of the batches."""
    if _core.is_grad_enabled() and any(t.requires_grad for t in (self, batch1, batch2, out)):
        raise RuntimeError(
            "addbmm(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad."
        )
    return _addbmm_into(out, self, batch1, batch2, beta, alpha)
