"""Products of float8 matrices with their scales."""

from __future__ import annotations

from native import _core

from ._record import op

_FLOAT8 = (_core.float8_e4m3fn, _core.float8_e5m2)


def _shape(self, mat2):
    for name, t in (("mat_a", self), ("mat_b", mat2)):
        if t.dim() != 2:
            raise RuntimeError(f"{name} must be a matrix")
    if self.shape[1] != mat2.shape[0]:
        (m, k), (other, n) = self.shape, mat2.shape
        raise RuntimeError(f"mat_a and mat_b shapes cannot be multiplied ({m}x{k} and {other}x{n})")
    return self.shape[0], mat2.shape[1]


def _dtype(self, mat2, scale_a, scale_b, bias, out_dtype):
    m, n = _shape(self, mat2)
    float8 = self.dtype in _FLOAT8 and mat2.dtype in _FLOAT8
    scales = scale_a.dtype is scale_b.dtype is _core.float32
    one = scale_a.numel() == scale_b.numel() == 1
    rows = (
        tuple(scale_a.shape) == (m, 1)
        and tuple(scale_b.shape) == (1, n)
        and scale_a.is_contiguous()
        and scale_b.is_contiguous()
    )
    if not (float8 and scales and (one or rows)):
        raise ValueError(
            "Invalid scaling configuration.\n"
            "- For TensorWise scaling, a and b should be float8, scales should be float and singletons.\n"
            f"- For RowWise scaling, a and b should be float8, scales should be float, scale_a should be ({m}, 1) and scale_b "
            f"should be (1, {n}), and both should be contiguous.\n"
            f"Got mat_a.dtype()={self.dtype}, scale_a.shape={list(scale_a.shape)}, mat_b.dtype()={mat2.dtype}, "
            f"scale_b.shape={list(scale_b.shape)}"
        )
    result = out_dtype if out_dtype is not None else self.dtype
    if self.is_cuda:
        _check_cuda(self, mat2, bias, result)
    return _core.float32, result


def _check_cuda(self, mat2, bias, result):
    if self.shape[1] % 16:
        raise RuntimeError(
            f"Expected trailing dimension of mat1 to be divisible by 16 but got mat1 shape: ({self.shape[0]}x{self.shape[1]})."
        )
    if mat2.shape[0] % 16 or mat2.shape[1] % 16:
        raise RuntimeError(
            f"Expected mat_b shape to be divisible by 16 but got mat_b shape: ({mat2.shape[0]}x{mat2.shape[1]})"
        )
    if self.dtype is mat2.dtype is _core.float8_e5m2:
        raise RuntimeError("Multiplication of two Float8_e5m2 matrices is not supported")
    if bias is not None and result is _core.float32:
        raise RuntimeError("Bias is not supported when out_dtype is set to Float32")
    if self.stride(1) != 1 or mat2.stride(0) != 1:
        raise RuntimeError("_scaled_mm: mat_a must be row-major and mat_b column-major (a transposed view) on CUDA")


@op(
    "_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? scale_result=None, "
    "ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor",
    method=False,
    out=True,
    shape=_shape,
    dtype=_dtype,
    native="_scaled_mm",
)
def _scaled_mm(xp, self, mat2, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum):
    """(self · mat2) · scale_a · scale_b + bias of float8 matrices.

    Shapes:  self (M, K), mat2 (K, N); scales of one element, or (M, 1) and (1, N); bias (N,) -> (M, N)
    Dtypes:  float8_e4m3fn or float8_e5m2, computed in float32; the result in ``out_dtype`` (default: self's)
    Errors:  ValueError "Invalid scaling configuration. ..."; on CUDA, sizes must be multiples of 16
    Source:  torch._scaled_mm
    """
    y = xp.matmul(self, mat2) * scale_a.reshape(-1, 1) * scale_b.reshape(1, -1)
    if bias is not None:
        y = y + bias
    return y if scale_result is None else y * scale_result
