"""Matrix products."""

from __future__ import annotations

from typing import Any

from native import _core

from ._record import composite, op
from ._rules import wrap_dim


def _same_kind(a: Any, b: Any) -> Any:
    if a.dtype != b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {_c10(a.dtype)} != {_c10(b.dtype)}")
    return a.dtype


def _c10(dtype: Any) -> str:
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


def _mm_shape(self, mat2):
    if self.dim() != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.dim() != 2:
        raise RuntimeError("mat2 must be a matrix")
    if self.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({self.shape[0]}x{self.shape[1]} and {mat2.shape[0]}x{mat2.shape[1]})"
        )
    return self.shape[0], mat2.shape[1]


@op(
    "mm(Tensor self, Tensor mat2) -> Tensor",
    shape=_mm_shape,
    dtype=lambda self, mat2: _same_kind(self, mat2),
    out=True,
    native="mm",
    grad={"self": lambda g, mat2: g.mm(mat2.t().conj()), "mat2": lambda g, self: self.t().conj().mm(g)},
)
def mm(xp, self, mat2):
    return xp.matmul(self, mat2)


def _bmm_shape(self, mat2):
    for name, t in (("batch1", self), ("batch2", mat2)):
        if t.dim() != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    b, m, k = self.shape
    if mat2.shape[0] != b or mat2.shape[1] != k:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{b}, {k}] but got: [{mat2.shape[0]}, {mat2.shape[1]}]."
        )
    return b, m, mat2.shape[2]


@op(
    "bmm(Tensor self, Tensor mat2) -> Tensor",
    shape=_bmm_shape,
    dtype=lambda self, mat2: _same_kind(self, mat2),
    out=True,
    grad={
        "self": lambda g, mat2: g.bmm(mat2.transpose(1, 2).conj()),
        "mat2": lambda g, self: self.transpose(1, 2).conj().bmm(g),
    },
)
def bmm(xp, self, mat2):
    return xp.matmul(self, mat2)


@composite("mv(Tensor self, Tensor vec) -> Tensor", out=True)
def mv(self, vec):
    if self.dim() != 2 or vec.dim() != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {self.dim()}, {vec.dim()}")
    if self.size(1) != vec.size(0):
        raise RuntimeError(
            f"size mismatch, got input ({self.size(0)}), mat ({self.size(0)}x{self.size(1)}), vec ({vec.size(0)})"
        )
    return self.mm(vec.unsqueeze(1)).squeeze(1)


def _dot_check(self, tensor):
    if self.dim() != 1 or tensor.dim() != 1:
        raise RuntimeError(f"1D tensors expected, but got {self.dim()}D and {tensor.dim()}D tensors")
    if self.dtype != tensor.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {_name(self.dtype)} and {_name(tensor.dtype)}"
        )
    if self.numel() != tensor.numel():
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{self.numel()}] and src [{tensor.numel()}] to have the same number of "
            f"elements, but got {self.numel()} and {tensor.numel()} elements respectively"
        )


def _name(dtype):
    from shim_torch._utils import _scalar

    return _scalar(dtype)


@composite("dot(Tensor self, Tensor tensor) -> Tensor", out=True)
def dot(self, tensor):
    _dot_check(self, tensor)
    return self.unsqueeze(0).mm(tensor.unsqueeze(1)).reshape(())


@composite("vdot(Tensor self, Tensor other) -> Tensor", out=True)
def vdot(self, other):
    return self.conj().dot(other)


@composite("outer(Tensor self, Tensor vec2) -> Tensor", out=True, aliases=("ger",))
def outer(self, vec2):
    if self.dim() != 1 or vec2.dim() != 1:
        raise RuntimeError(f"outer: Expected 1-D argument self, but got {self.dim()}-D")
    return self.unsqueeze(1) * vec2.unsqueeze(0)


@composite("inner(Tensor self, Tensor other) -> Tensor", out=True)
def inner(self, other):
    import shim_torch

    return self * other if 0 in (self.dim(), other.dim()) else shim_torch.tensordot(self, other, ([-1], [-1]))


@composite("matmul(Tensor self, Tensor other) -> Tensor", out=True)
def matmul(self, other):
    a, b = self.dim(), other.dim()
    if a == 0 or b == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    if a == 1 and b == 1:
        return self.dot(other)
    if a == 2 and b == 1:
        return self.mv(other)
    if a == 1 and b == 2:
        return self.unsqueeze(0).mm(other).squeeze(0)
    if a == 2 and b == 2:
        return self.mm(other)
    if a >= 3 and b <= 2:  # fold the batch into rows
        m = other.unsqueeze(1) if b == 1 else other
        if self.size(-1) != m.size(0):
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({self.numel() // max(self.size(-1), 1)}x{self.size(-1)} and {m.size(0)}x{m.size(1)})"
            )
        rows = 1
        for n in self.shape[:-1]:
            rows *= n
        out = self.reshape(rows, self.size(-1)).mm(m).reshape(*self.shape[:-1], m.size(1))
        return out.squeeze(-1) if b == 1 else out
    return _batched(self.unsqueeze(0) if a == 1 else self, other.unsqueeze(1) if b == 1 else other, a == 1, b == 1)


def _batched(x, y, drop_row, drop_col):
    batch = _core.broadcast_shapes([x.shape[:-2], y.shape[:-2]])
    if x.size(-1) != y.size(-2):
        n = 1
        for s in batch:
            n *= s
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{n}, {x.size(-1)}] but got: [{n}, {y.size(-2)}]."
        )
    n = 1
    for s in batch:
        n *= s
    left = x.expand(*batch, *x.shape[-2:]).reshape(n, *x.shape[-2:])
    right = y.expand(*batch, *y.shape[-2:]).reshape(n, *y.shape[-2:])
    out = left.bmm(right).reshape(*batch, x.size(-2), y.size(-1))
    if drop_row:
        out = out.squeeze(-2)
    return out.squeeze(-1) if drop_col else out


def _add_scaled(self, product, beta, alpha):
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return (self if beta == 1 else self * beta) + product


def _check_addmm(self, product_shape, name):
    for have, want in zip(self.shape[::-1], product_shape[::-1], strict=False):
        if have not in (1, want):
            raise RuntimeError(
                f"The expanded size of the tensor ({want}) must match the existing size ({have}) at non-singleton dimension "
                f"{len(product_shape) - 1 - list(self.shape[::-1]).index(have)}.  Target sizes: {list(product_shape)}.  Tensor sizes: {list(self.shape)}"
            )


def _addmm_grad(g, beta, self_shape):
    return (g if beta == 1 else g * beta).sum_to_size(self_shape)


def _addmm_shape(self, mat1, mat2):
    if mat1.dim() != 2:
        raise RuntimeError("mat1 must be a matrix, got " + f"{mat1.dim()}-D tensor")
    if mat2.dim() != 2:
        raise RuntimeError(f"mat2 must be a matrix, got {mat2.dim()}-D tensor")
    shape = _mm_shape(mat1, mat2)
    _check_addmm(self, shape, "addmm")
    return shape


def _addmm_dtype(self, mat1, mat2):
    if mat1.dtype != mat2.dtype:
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {_name(mat1.dtype)} and {_name(mat2.dtype)}"
        )
    if self.dtype != mat2.dtype:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {_name(self.dtype)} and {_name(mat2.dtype)}"
        )
    return self.dtype


@op(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    shape=_addmm_shape,
    dtype=_addmm_dtype,
    inplace=True,
    out=True,
    grad={
        "self": _addmm_grad,
        "mat1": lambda g, mat2, alpha: _times(g.mm(mat2.t().conj()), alpha),
        "mat2": lambda g, mat1, alpha: _times(mat1.t().conj().mm(g), alpha),
    },
)
def addmm(xp, self, mat1, mat2, beta, alpha):
    return _combined(xp, self, xp.matmul(mat1, mat2), beta, alpha)


def _times(x, alpha):
    return x if alpha == 1 else x * alpha


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


@composite(
    "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor", inplace=True, out=True
)
def addmv(self, mat, vec, beta, alpha):
    return _add_scaled(self, mat.mv(vec), beta, alpha)


@composite(
    "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", inplace=True, out=True
)
def addr(self, vec1, vec2, beta, alpha):
    return _add_scaled(self, vec1.outer(vec2), beta, alpha)


@composite(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    inplace=True,
    out=True,
)
def baddbmm(self, batch1, batch2, beta, alpha):
    return _add_scaled(self, batch1.bmm(batch2), beta, alpha)


@composite(
    "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    inplace=True,
    out=True,
)
def addbmm(self, batch1, batch2, beta, alpha):
    return _add_scaled(self, batch1.bmm(batch2).sum(0), beta, alpha)


def _linear_shape(input, weight, bias):
    if input.dim() == 0 or weight.dim() == 0:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.dim()}D and {weight.dim()}D"
        )
    if weight.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.dim()}D")
    k = input.shape[-1]
    if weight.dim() == 1:
        if bias is not None and input.dim() > 1:
            raise RuntimeError("mat2 must be a matrix, got 1-D tensor")
        if weight.shape[0] != k:
            raise RuntimeError(
                f"size mismatch, got input ({input.numel() // max(k, 1)}), mat ({input.numel() // max(k, 1)}x{k}), vec ({weight.shape[0]})"
            )
        return tuple(input.shape[:-1])
    if weight.shape[1] != k:
        rows = 1
        for n in input.shape[:-1]:
            rows *= n
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{k} and {weight.shape[1]}x{weight.shape[0]})"
        )
    shape = (*input.shape[:-1], weight.shape[0])
    if bias is not None:
        _check_addmm(bias, shape if input.dim() != 1 else (1, *shape), "linear")
    return shape


def _linear_dtype(input, weight, bias):
    if bias is None:
        return _same_kind(input, weight)
    return _addmm_dtype(bias, input, weight)


def _rows(t):
    return t.reshape(-1, t.size(-1)) if t.dim() != 2 else t


def _linear_input(g, weight):
    return g.unsqueeze(-1) * weight if weight.dim() == 1 else g.matmul(weight.conj() if weight.is_complex() else weight)


def _linear_weight(g, input, weight_shape):
    if len(weight_shape) == 1:
        return (g.unsqueeze(-1) * input).sum_to_size(weight_shape)
    return _rows(g).t().mm(_rows(input).conj() if input.is_complex() else _rows(input))


@op(
    "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    module="nn.functional",
    shape=_linear_shape,
    dtype=_linear_dtype,
    grad={"input": _linear_input, "weight": _linear_weight, "bias": lambda g, bias_shape: g.sum_to_size(bias_shape)},
)
def linear(xp, input, weight, bias):
    """y = input · weightᵀ + bias.

    Shapes:  input (*, K), weight (N, K), bias (N,) -> (*, N)
    Dtypes:  one for all; float16 and bfloat16 are computed in float32 and rounded once
    Errors:  RuntimeError "mat1 and mat2 shapes cannot be multiplied (2x3 and 5x4)"
    Source:  torch.nn.functional.linear (PyTorch docs)
    """
    y = xp.matmul(input, weight.T)
    return y if bias is None else y + bias


@composite("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", module="nn.functional")
def bilinear(input1, input2, weight, bias):
    import shim_torch

    out = shim_torch.einsum("...i,kij,...j->...k", input1, weight, input2)
    return out if bias is None else out + bias


@composite(
    "tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor", function=False, method=False
)
def tensordot(self, other, dims_self, dims_other):
    a, b = [wrap_dim(d, self.dim()) for d in dims_self], [wrap_dim(d, other.dim()) for d in dims_other]
    if len(a) != len(b):
        raise RuntimeError("both dimension lists should have same length")
    for x, y in zip(a, b, strict=True):
        if self.size(x) != other.size(y) and 1 not in (self.size(x), other.size(y)):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {self.size(x)} in dim {x} and second has size {other.size(y)} in dim {y}"
            )
    free_a = [d for d in range(self.dim()) if d not in a]
    free_b = [d for d in range(other.dim()) if d not in b]
    k = 1
    for d in a:
        k *= self.size(d)
    left = self.permute([*free_a, *a]).reshape(-1 if self.numel() else _size(self, free_a), k)
    right = other.permute([*b, *free_b]).reshape(k, -1 if other.numel() else _size(other, free_b))
    return left.mm(right).reshape([self.size(d) for d in free_a] + [other.size(d) for d in free_b])


def _size(t, dims):
    n = 1
    for d in dims:
        n *= t.size(d)
    return n


@composite("trace(Tensor self) -> Tensor")
def trace(self):
    if self.dim() != 2:
        raise RuntimeError(f"trace: expected a matrix, but got a tensor with {self.dim()} dims")
    return self.diagonal().sum()


@composite("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor")
def cosine_similarity(x1, x2, dim, eps):
    import shim_torch

    norm = shim_torch.linalg.vector_norm
    a, b = norm(x1, 2, dim, True).clamp(min=eps), norm(x2, 2, dim, True).clamp(min=eps)
    return ((x1 / a) * (x2 / b)).sum(dim)


@composite("pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False) -> Tensor")
def pairwise_distance(x1, x2, p, eps, keepdim):
    import shim_torch

    return shim_torch.linalg.vector_norm(x1 - x2 + eps, p, -1, keepdim)
