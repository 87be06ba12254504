"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.matrices import check_matrix
from shim_torch._impl.table.calls import aten, shim, torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import reduced, wrap_dim, wrap_dims

_INF = float("inf")
_LINALG = {"module": "linalg", "method": False, "overlap": "unchecked"}


def check_floating(name: str, dtype: Any) -> None:
    """RuntimeError for integers, in torch.linalg's words."""
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {_core.scalar_name(dtype)}"
        )


def _norm_dtype(self: Any, dtype: Any) -> tuple[Any, Any]:
    check_floating("linalg.vector_norm", self.dtype)
    if dtype is None:
        return self.dtype, self.dtype.to_real()
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(
            f"linalg.vector_norm: dtype should be floating point or complex, but got {_core.scalar_name(dtype)}"
        )
    if self.dtype.is_complex and not dtype.is_complex:
        raise RuntimeError(
            "linalg.vector_norm: dtype should be complex for complex inputs. Got " + _core.scalar_name(dtype)
        )
    if _core.promote_types(self.dtype, dtype) != dtype:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({_core.scalar_name(self.dtype)}) should be convertible without narrowing to the "
            f"specified dtype ({_core.scalar_name(dtype)})"
        )
    return dtype, dtype.to_real()


def _norm_shape(self: Any, ord: Any, dim: Any, keepdim: bool) -> tuple[int, ...]:
    if isinstance(ord, complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    dims = wrap_dims(dim, self.dim())
    if ord < 0 or ord == _INF:
        if any(self.shape[d] == 0 for d in dims):
            if dim is None or len(dims) == self.dim():
                raise RuntimeError(
                    f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the operation does not have an identity"
                )
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {ord} norm on the dimension {dims[0]}because this dimension is empty and the "
                "operation does not have an identity"
            )
    return reduced(self, dim, keepdim)


def _spread(t: Any, dim: Any, keepdim: bool, ndim: int) -> Any:
    """A reduced tensor with its reduced dims back, of size 1."""
    if not keepdim and ndim:
        for d in wrap_dims(dim, ndim):
            t = t.unsqueeze(d)
    return t


def _norm_grad(g: Any, self: Any, ord: Any, dim: Any, keepdim: bool, result: Any) -> Any:
    n = self.dim()
    g, norm = _spread(g, dim, keepdim, n), _spread(result, dim, keepdim, n)
    if ord == 0:
        return None
    if ord == 1:
        return self.sgn() * g
    # A norm of 0 divides as infinity: what is derived along g (forward mode) is 0 there too, not NaN.
    if ord == 2:
        divisor = norm.masked_fill(norm == 0, _INF)
        return self * (g / divisor) if self.is_complex() else g * (self / divisor)  # complex zeros by infinity are NaN
    size = self.abs()
    if ord in (_INF, -_INF):
        hit = (size == norm).logical_or(size.isnan().logical_and(norm.isnan()))
        return self.sgn() * (hit.to(g.dtype) / hit.sum(wrap_dims(dim, n), True) * g)
    if ord < 1:
        return self.sgn() * size.masked_fill(self == 0, 1).pow(ord - 1) * (norm.pow(1 - ord) * g)
    scaled = g / norm.pow(ord - 1).masked_fill(norm == 0, _INF)
    return self.sgn() * size.pow(ord - 1) * scaled if ord < 2 else self * size.pow(ord - 2) * scaled


@op("linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", foreseen="floats",
    shape=_norm_shape, dtype=_norm_dtype, out=True, native="vector_norm", grad={"self": _norm_grad}, **_LINALG, nested="reduction", autocast="float32_cuda", out_dtype="structured")  # fmt: skip
def linalg_vector_norm(xp, self, ord, dim, keepdim):
    """The ``ord`` norm over ``dim`` (all dims by default): 0 counts, inf and -inf pick, others sum powers."""
    axis = wrap_dims(dim, self.ndim)
    size = xp.abs(self)
    if ord == 0:
        return (self != 0).sum(axis=axis, keepdims=keepdim).astype(size.dtype)
    if ord == _INF:
        return size.max(axis=axis, keepdims=keepdim)
    if ord == -_INF:
        return size.min(axis=axis, keepdims=keepdim)
    if ord == 1:
        return size.sum(axis=axis, keepdims=keepdim)
    if ord == 2:
        return xp.sqrt(xp.square(size).sum(axis=axis, keepdims=keepdim))
    return xp.power(xp.power(size, ord).sum(axis=axis, keepdims=keepdim), 1 / ord)


def _matrix_dims(name: str, self: Any, dim: Any) -> tuple[int, int]:
    if self.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {', '.join(map(str, dim))}")
    a, b = wrap_dim(dim[0], self.dim()), wrap_dim(dim[1], self.dim())
    if a == b:
        raise RuntimeError(f"{name}: dims must be different. Got ({a}, {b})")
    return a, b


def _singular_values(self: Any, a: int, b: int) -> Any:
    check_matrix("linalg.matrix_norm", self)
    rest = [d for d in range(self.dim()) if d not in (a, b)]
    return self.permute([*rest, a, b]).svd(compute_uv=True)[1]


@composite(
    "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    out=True, **_LINALG, autocast="float32_cuda", out_dtype="linalg.matrix_norm expected out tensor dtype {R} but got: {O}", writes_out_last=True)  # fmt: skip
def linalg_matrix_norm(self, ord, dim, keepdim, dtype):
    """Norms of the matrices in the two dims ``dim``.

    ``ord``: "fro" the root of the sum of squares, "nuc" the sum of the singular values, 2 and -2 the largest and the
    least of them, 1 and -1 the largest and the least sum of absolute values of a column, inf and -inf of a row.

    Dtypes:  floating, or complex with a real result; ``dtype`` converts the input first
    Errors:  RuntimeError for other orders, and where there are no two different dims
    """
    check_floating("linalg.matrix_norm", self.dtype)
    a, b = _matrix_dims("linalg.matrix_norm", self, dim)
    if abs(ord) not in (1, 2, _INF):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    x = self if dtype is None else self.to(dtype)
    if abs(ord) == 2:
        values = _singular_values(x, a, b)
        return _spread(_largest(values, -1, False) if ord > 0 else values.amin(-1), (a, b), not keepdim, self.dim())
    summed, over = (b, a) if abs(ord) == _INF else (a, b)
    if not keepdim and over > summed:
        over -= 1
    sums = linalg_norm_of(x, 1, (summed,), keepdim)
    return _largest(sums, over, keepdim) if ord > 0 else sums.amin(over, keepdim)


def _largest(sizes: Any, dim: int, keepdim: bool) -> Any:
    """The largest of values that are not negative: 0 where there is none."""
    return sizes.amax(dim, keepdim) if sizes.size(dim) else sizes.sum(dim, keepdim)


def linalg_norm_of(x: Any, ord: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """vector_norm through the table."""
    return aten.linalg_vector_norm(x, ord, dim, keepdim, dtype=dtype)


@composite(
    'linalg_matrix_norm.str_ord(Tensor self, str ord="fro", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) '
    "-> Tensor", out=True, **_LINALG, autocast="float32_cuda", out_dtype="linalg.matrix_norm expected out tensor dtype {R} but got: {O}", writes_out_last=True)  # fmt: skip
def linalg_matrix_norm_named(self, ord, dim, keepdim, dtype):
    """Norms of the matrices in the two dims ``dim``: "fro" or "nuc"."""
    check_floating("linalg.matrix_norm", self.dtype)
    a, b = _matrix_dims("linalg.matrix_norm", self, dim)
    if ord == "fro":
        return linalg_norm_of(self, 2, (a, b), keepdim, dtype)
    if ord != "nuc":
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    total = _singular_values(self if dtype is None else self.to(dtype), a, b).sum(-1)
    return _spread(total, (a, b), not keepdim, self.dim())


@composite("linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
           out=True, **_LINALG, autocast="float32_cuda", out_dtype="linalg.norm expected out tensor dtype {R} but got: {O}", writes_out_last=True)  # fmt: skip
def linalg_norm(self, ord, dim, keepdim, dtype):
    """Norms of vectors (``torch.linalg.vector_norm``) or matrices (``torch.linalg.matrix_norm``).

    ``ord`` None: the root of the sum of squares over ``dim``, or over all elements. Otherwise one dim holds vectors,
    two hold matrices; without ``dim`` the input must have one or two dims (RuntimeError).
    """
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if ord is None:
        return linalg_norm_of(self, 2, dim, keepdim, dtype)
    if dim is None and self.dim() not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.dim()}D."
        )
    if (len(dim) if dim is not None else self.dim()) == 2:
        return linalg_matrix_norm(self, ord, dim if dim is not None else (0, 1), keepdim, dtype)
    return linalg_norm_of(self, ord, dim, keepdim, dtype)


@composite(
    "linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    out=True, **_LINALG, autocast="float32_cuda", out_dtype="linalg.norm expected out tensor dtype {R} but got: {O}", writes_out_last=True)  # fmt: skip
def linalg_norm_named(self, ord, dim, keepdim, dtype):
    """The norms "fro" and "nuc" of the matrices in ``dim``, or of an input of two dims."""
    if dim is None and self.dim() == 1:
        _matrix_dims("linalg.matrix_norm", self, (0, 1))
    if dim is None and self.dim() != 2:
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.dim()}D."
        )
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    return linalg_matrix_norm_named(self, ord, dim if dim is not None else (0, 1), keepdim, dtype)


_HIDDEN = {"module": "_C", "function": False, "method": False}


@composite(
    "norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor",
    **_HIDDEN,
    nested="reduction",
    batching="along_dim",
    autocast="float32_cuda",
    out_dtype="structured",
)
def norm_dim_dtype(self, p, dim, keepdim, dtype):
    """Norms of order ``p`` (None: 2) over ``dim``, computed in ``dtype``."""
    return linalg_norm_of(self, 2 if p is None else p, dim, keepdim, dtype)


@composite(
    "norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
    **_HIDDEN,
    autocast="float32_cuda",
    out_dtype="structured",
)
def norm_dtype(self, p, dtype):
    """The norm of order ``p`` (None: 2) of all elements, computed in ``dtype``."""
    return linalg_norm_of(self, 2 if p is None else p, dtype=dtype)


@composite("norm.Scalar(Tensor self, Scalar p=2) -> Tensor", **_HIDDEN, autocast="float32_cuda", out_dtype="structured")
def norm_scalar(self, p):
    """The norm of order ``p`` of all elements."""
    return linalg_norm_of(self, p)


@composite(
    "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
    **_HIDDEN,
    nested="reduction",
    batching="along_dim",
    autocast="float32_cuda",
    out_dtype="structured",
)
def norm_dim(self, p, dim, keepdim):
    """Norms of order ``p`` (None: 2) over ``dim``."""
    return linalg_norm_of(self, 2 if p is None else p, dim, keepdim)


@composite("norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor", method=False)
def norm_except_dim(v, pow, dim):
    """Norm over all dims but one (-1: over all)."""
    if dim == -1:
        return linalg_norm_of(v, pow)
    d = wrap_dim(dim, v.dim())
    rest = [i for i in range(v.dim()) if i != d]
    return linalg_norm_of(v, pow, rest, True) if rest else v.abs()


@composite(
    "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
    gradient_name="RenormBackward0",
    inplace=True,
    out=True,
    autocast="float32_cuda",
    out_dtype="structured",
)
def renorm(self, p, dim, maxnorm):
    """Parts along ``dim`` whose norm exceeds ``maxnorm`` are scaled down to it."""
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if self.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.dim()} dimensions")
    d = wrap_dim(dim, self.dim())
    norm = linalg_norm_of(self, p, [i for i in range(self.dim()) if i != d], True)
    if self.is_cuda and norm.dtype is self.dtype and _core.unseen_on_cuda(self):
        factor = shim.renorm_factor(norm, float(maxnorm))
    else:
        factor = torch.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1.0)
    return (self * factor).to(self.dtype).contiguous()
