"""Checks, shapes and gradients that the families of matrix products share."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core


def same_kind(a: Any, b: Any) -> Any:
    """The dtype of two matrices; RuntimeError where they differ, in the words of mm."""
    if a.dtype != b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {c10(a.dtype)} != {c10(b.dtype)}")
    return a.dtype


def same_scalar(a: Any, b: Any) -> Any:
    """The dtype of two tensors; RuntimeError "expected scalar type Float but found Double" where they differ."""
    if a.dtype != b.dtype:
        raise RuntimeError(f"expected scalar type {_core.scalar_name(a.dtype)} but found {_core.scalar_name(b.dtype)}")
    return a.dtype


def same_vectors(self: Any, mat: Any, vec: Any) -> Any:
    """The dtype of all three; RuntimeError where they differ, in the words of addmv."""
    if not self.dtype == mat.dtype == vec.dtype:
        names = [_core.scalar_name(t.dtype) for t in (self, mat, vec)]
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {names[0]}, {names[1]}, and {names[2]}"
        )
    return self.dtype


def c10(dtype: Any) -> str:
    """A dtype by its name in C++: "float", "c10::Half"."""
    names = {
        "float32": "float",
        "float64": "double",
        "float16": "c10::Half",
        "bfloat16": "c10::BFloat16",
        "int64": "long int",
        "int32": "int",
        "int16": "short int",
        "int8": "signed char",
        "uint8": "unsigned char",
        "bool": "bool",
        "complex64": "c10::complex<float>",
        "complex128": "c10::complex<double>",
    }
    name = str(dtype).removeprefix("torch.")
    return names.get(name, name)


def mm_shape(self, mat2):
    """(n, k) and (k, m) give (n, m); RuntimeError for others."""
    if self.dim() != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.dim() != 2:
        raise RuntimeError("mat2 must be a matrix")
    if self.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({self.shape[0]}x{self.shape[1]} and {mat2.shape[0]}x{mat2.shape[1]})"
        )
    return self.shape[0], mat2.shape[1]


def _by_columns(shape: Any, strides: Any) -> bool:
    return strides[0] == 1 and strides[1] == shape[0]


def left_grad(g, self_shape, self_strides, mat2):
    """A product's gradient by its first matrix, which lies as that does: in columns where it is the transpose of rows."""
    if _by_columns(self_shape, self_strides):
        return mat2.conj().mm(g.t()).t()
    return g.mm(mat2.t().conj())


def right_grad(g, self, mat2_shape, mat2_strides):
    """The same by its second matrix."""
    if _by_columns(mat2_shape, mat2_strides):
        return g.t().mm(self.conj()).t()
    return self.t().conj().mm(g)


def bmm_shape(self, mat2):
    """(b, n, k) and (b, k, m) give (b, n, m); RuntimeError for others."""
    for name, t in (("batch1", self), ("batch2", mat2)):
        if t.dim() != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    b, m, k = self.shape
    if mat2.shape[0] != b or mat2.shape[1] != k:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{b}, {k}] but got: [{mat2.shape[0]}, {mat2.shape[1]}]."
        )
    return b, m, mat2.shape[2]


def check_addmm(self: Any, wanted: Any) -> None:
    """PyTorch's error where ``self`` does not expand to the product's shape."""
    have = list(self.shape)
    if len(have) > len(wanted):
        raise RuntimeError(
            f"expand(torch.{_core.scalar_name(self.dtype)}Tensor{{{have}}}, size={list(wanted)}): the number of sizes provided "
            f"({len(wanted)}) must be greater or equal to the number of dimensions in the tensor ({len(have)})"
        )
    for dim in range(len(wanted) - 1, len(wanted) - 1 - len(have), -1):
        n = have[dim - len(wanted)]
        if n not in (1, wanted[dim]):
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted[dim]}) must match the existing size ({n}) at non-singleton dimension "
                f"{dim}.  Target sizes: {list(wanted)}.  Tensor sizes: {have}"
            )


def addmm_grad(g, beta, self_shape):
    """The gradient of beta · self + product by ``self``, summed to its shape."""
    return times(g, beta).sum_to_size(self_shape)


def addmm_shape(self, mat1, mat2):
    """The shape of mat1 · mat2, to which ``self`` must expand; RuntimeError for others."""
    for name, t in (("mat1", mat1), ("mat2", mat2)):
        if t.dim() != 2:
            raise RuntimeError(f"{name} must be a matrix, got {t.dim()}-D tensor")
    shape = mm_shape(mat1, mat2)
    check_addmm(self, shape)
    return shape


def addmm_dtype(self, mat1, mat2):
    """The dtype of all three; RuntimeError where they differ, in the words of addmm."""
    if mat1.dtype != mat2.dtype:
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {_core.scalar_name(mat1.dtype)} and {_core.scalar_name(mat2.dtype)}"
        )
    if self.dtype != mat2.dtype:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {_core.scalar_name(self.dtype)} and {_core.scalar_name(mat2.dtype)}"
        )
    return self.dtype


def times(x, alpha):
    """A gradient through a product with the number ``alpha``."""
    return x if alpha == 1 else x * (alpha.conjugate() if isinstance(alpha, complex) else alpha)


def combined(xp, self, product, beta, alpha):
    """beta · self + alpha · product; with a beta of 0 ``self`` is not read, so that its NaN does not matter."""
    t = product.dtype.type
    product = product if alpha == 1 else product * t(alpha)
    return product if beta == 0 else product + (self if beta == 1 else self * t(beta))


def baddbmm_shape(self, batch1, batch2):
    """The shape of batch1 · batch2, to which ``self`` must expand; RuntimeError for others."""
    if batch1.dim() == 3 and batch2.dim() == 3:  # PyTorch looks at self first
        check_addmm(self, (batch1.shape[0], batch1.shape[1], batch2.shape[2]))
    return bmm_shape(batch1, batch2)


def wide_dtype(out_dtype: Any, operand: Any) -> Any:
    """``out_dtype``; RuntimeError where it is neither the operands' nor float32 of 16-bit ones."""
    wide = out_dtype is _core.float32 and operand.dtype in (_core.float16, _core.bfloat16)
    if out_dtype is not operand.dtype and not wide:
        raise RuntimeError("out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs")
    return out_dtype
