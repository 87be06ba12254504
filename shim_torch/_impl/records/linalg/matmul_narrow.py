"""Products of narrow dtypes and of groups: scaled float8, int8, and one product for each group of rows."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite

_METHODLESS: dict[str, Any] = {"method": False}
_FLOAT8 = (_core.float8_e4m3fn, _core.float8_e5m2, _core.float8_e4m3fnuz, _core.float8_e5m2fnuz)


def _type(dtype: Any) -> str:
    name = str(dtype).removeprefix("torch.")
    return name.capitalize() if name.startswith("float8") else _core.scalar_name(dtype)


def _check_scaled(self: Any, mat2: Any) -> None:
    if self.dim() != 2:
        raise RuntimeError("mat1 must be a matrix")
    if mat2.dim() != 2:
        raise RuntimeError("mat2 must be a matrix")
    if self.size(1) != mat2.size(0):
        raise RuntimeError(
            f"mat_a and mat_b shapes cannot be multiplied ({self.size(0)}x{self.size(1)} and {mat2.size(0)}x{mat2.size(1)})"
        )


def spread_scale(scale: Any, rows: int, columns: int) -> Any:
    """A scale for every element of (rows, columns) from one for all, one for each row or column, or one for each block."""
    if scale.numel() == 1:
        return scale.reshape(())
    if scale.dim() != 2 or rows % scale.size(0) and scale.size(0) != -(-rows // 128):
        return None
    for d, size in ((0, rows), (1, columns)):
        parts = scale.size(d)
        if parts not in (1, size):
            block = size // parts if size % parts == 0 else 128
            if -(-size // block) != parts:
                return None
            scale = scale.repeat_interleave(block, d).narrow(d, 0, size)
    return scale


def _scaled_product(self: Any, mat2: Any, scale_a: Any, scale_b: Any) -> Any:
    a_dtype, b_dtype = self.dtype, mat2.dtype
    left = spread_scale(scale_a, *self.shape) if scale_a.dtype == _core.float32 else None
    right = spread_scale(scale_b, *mat2.shape) if scale_b.dtype == _core.float32 else None
    if (
        left is None
        or right is None
        or a_dtype not in _FLOAT8
        or b_dtype not in _FLOAT8
        or scale_a.dim() != scale_b.dim()
    ):
        m, n = self.size(0), mat2.size(1)
        raise ValueError(
            "Invalid scaling configuration.\n"
            "- For TensorWise scaling, a and b should be float8, scales should be float and singletons.\n"
            f"- For RowWise scaling, a and b should be float8, scales should be float, scale_a should be ({m}, 1) and scale_b "
            f"should be (1, {n}), and both should be contiguous.\n"
            f"Got mat_a.dtype()={_type(a_dtype)}, scale_a.dtype()={_core.scalar_name(scale_a.dtype)}, "
            f"scale_a.size()={list(scale_a.shape)}, scale_a.stride()={list(scale_a.stride())}, mat_b.dtype()={_type(b_dtype)}, "
            f"scale_b.dtype()={_core.scalar_name(scale_b.dtype)}, scale_b.size()={list(scale_b.shape)} and "
            f"scale_b.stride()={list(scale_b.stride())}"
        )
    # Scales of whole rows and columns leave the sum; those of blocks along K enter it.
    a, b = self.float(), mat2.float()
    outside: Any = None
    if left.dim() == 0 or left.size(1) == 1:
        outside = left
    else:
        a = a * left
    if right.dim() == 0 or right.size(0) == 1:
        outside = right if outside is None else outside * right
    else:
        b = b * right
    product = a.mm(b)
    return product if outside is None else product * outside


@composite(
    "_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor",
    out=True, native="_scaled_mm", **_METHODLESS)  # fmt: skip
def _scaled_mm(self, mat2, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum):
    """(self · scale_a) @ (mat2 · scale_b) + bias of float8 matrices, summed in float32.

    Shapes:  self (M, K), mat2 (K, N); scales of one element, (M, 1) and (1, N), or one for each block of K
    Dtypes:  the result is ``out_dtype``, self's where None; float8 results are divided by ``scale_result``
    CUDA:    cuBLASLt where mat2 is a transposed view, sizes are multiples of 16 and the result is no float8
    """
    _check_scaled(self, mat2)
    product = _scaled_product(self, mat2, scale_a, scale_b)
    if bias is not None:
        if bias.numel() != mat2.size(1):
            raise RuntimeError(f"Bias must be size {mat2.size(1)} but got {bias.numel()}")
        product = product + bias.float()
    dtype = self.dtype if out_dtype is None else out_dtype
    if scale_result is not None and dtype in _FLOAT8:
        product = product / scale_result if product.device.type == "cuda" else product * scale_result
    return product.to(dtype)


_SUPPORTED_SCALING = (0, 1, 4, 5)  # ScalingType: by tensor, by row, blocks of 1x128 and 128x128


@composite(
    "_scaled_mm_v2(Tensor self, Tensor mat2, Tensor[] scale_a, int[] recipe_a, int[] swizzle_a, Tensor[] scale_b, int[] recipe_b, int[] swizzle_b, Tensor? bias, ScalarType? out_dtype, int[] contraction_dim=[], bool use_fast_accum=False) -> Tensor",
    out=True, **_METHODLESS)  # fmt: skip
def _scaled_mm_v2(
    self,
    mat2,
    scale_a,
    recipe_a,
    swizzle_a,
    scale_b,
    recipe_b,
    swizzle_b,
    bias,
    out_dtype,
    contraction_dim,
    use_fast_accum,
):
    """``_scaled_mm`` with the kinds of scaling said (numbers of ScalingType), one scale for each matrix."""
    if len(scale_a) != 1 or len(scale_b) != 1:
        raise NotImplementedError("torch._scaled_mm_v2: several scales for one matrix are not supported by shim-torch")
    for recipe in (*recipe_a, *recipe_b):
        if recipe not in _SUPPORTED_SCALING:
            raise NotImplementedError(
                f"torch._scaled_mm_v2: {('BlockWise1x16', 'BlockWise1x32')[recipe - 2]} scaling is not supported by shim-torch"
                if recipe in (2, 3)
                else f"torch._scaled_mm_v2: there is no ScalingType {recipe}"
            )
    if any(swizzle_a) or any(swizzle_b):
        raise NotImplementedError("torch._scaled_mm_v2: swizzled scales are not supported by shim-torch")
    return aten._scaled_mm(self, mat2, scale_a[0], scale_b[0], bias, None, out_dtype, use_fast_accum)


@composite("_int_mm(Tensor self, Tensor mat2) -> Tensor", out=True, **_METHODLESS)
def _int_mm(self, mat2):
    """The int32 product of int8 matrices."""
    for t, what in ((self, "self"), (mat2, "mat2")):
        if t.dim() != 2:
            raise RuntimeError(f"int_mm_out_cpu: Expected {what} to be of dimension 2 but got {t.dim()}")
    if self.size(1) != mat2.size(0):
        raise RuntimeError(
            f"int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got {self.size(1)} and {mat2.size(0)}"
        )
    names = {_core.float32: "float", _core.float64: "double", _core.int32: "int", _core.int64: "long int"}
    for t, what in ((self, "self"), (mat2, "mat2")):
        if t.dtype not in (_core.int8, _core.uint8):
            raise RuntimeError(
                f"int_mm_out_cpu: Expected {what} dtype to be int8 or uint8 but got {names.get(t.dtype, _core.scalar_name(t.dtype))}"
            )
    # Whole numbers below 2⁵³ are exact in float64, whose products are fast.
    return self.double().mm(mat2.double()).to(_core.int32)


def _ends(offs: Any, groups: int, what: str) -> list[tuple[int, int]]:
    if offs.dim() != 1:
        raise RuntimeError("offs has to be 1D")
    if offs.dtype != _core.int32:
        raise RuntimeError("Offsets have to be int32")
    if groups >= 0 and offs.numel() != groups:
        raise RuntimeError("matrix batch sizes have to match")
    ends = offs.tolist()
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _grouped(self: Any, mat2: Any, offs: Any, product: Any) -> Any:
    """The groups' products: rows, columns or the summed dim are cut at the offsets."""
    if (offs is not None) != (self.dim() == 2 or mat2.dim() == 2):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if self.size(-1) != mat2.size(-2):
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if offs is None:
        return torch.stack([product(self[i], mat2[i], i) for i in range(self.size(0))])
    if self.dim() == 2 and mat2.dim() == 3:
        cuts = _ends(offs, mat2.size(0), "mat2")
        parts = [product(self[a:b], mat2[i], i) for i, (a, b) in enumerate(cuts)]
        rest = self.size(0) - (cuts[-1][1] if cuts else 0)
        if rest:
            parts.append(self.new_zeros((rest, mat2.size(2)), dtype=parts[0].dtype if parts else None))
        return torch.cat(parts, 0)
    if self.dim() == 3 and mat2.dim() == 2:
        cuts = _ends(offs, self.size(0), "self")
        parts = [product(self[i], mat2[:, a:b], i) for i, (a, b) in enumerate(cuts)]
        return torch.cat(parts, 1)
    return torch.stack([product(self[:, a:b], mat2[a:b], i) for i, (a, b) in enumerate(_ends(offs, -1, ""))])


@composite(
    "_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor",
    **_METHODLESS)  # fmt: skip
def _grouped_mm(self, mat2, offs, bias, out_dtype):
    """A product for each group: (M, K) with (G, K, N), (G, M, K) with (G, K, N), (M, K) with (K, N), (G, M, K) with (K, N).

    ``offs`` (int32) holds where each group ends in the dim that the two-dimensional operands share.
    """
    if out_dtype is not None and out_dtype != self.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if self.dim() not in (2, 3) or mat2.dim() not in (2, 3):
        raise RuntimeError(f"mat_{'a' if self.dim() not in (2, 3) else 'b'} has to be 2 or 3d")
    if self.dtype != mat2.dtype:
        raise RuntimeError(
            f"expected scalar type {_core.scalar_name(self.dtype)} but found {_core.scalar_name(mat2.dtype)}"
        )
    if self.dim() == 2 and mat2.dim() == 2 and self.size(1) != mat2.size(0):
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    return _grouped(self, mat2, offs, lambda a, b, i: a.mm(b))


@composite(
    "_scaled_grouped_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? offs=None, Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor",
    **_METHODLESS)  # fmt: skip
def _scaled_grouped_mm(self, mat2, scale_a, scale_b, offs, bias, scale_result, out_dtype, use_fast_accum):
    """The groups' products of float8 matrices with a scale for each row of self and each column of mat2."""
    if bias is not None or scale_result is not None:
        raise RuntimeError("Bias not supported yet" if bias is not None else "Scale result not supported yet")
    m, n = self.size(-2), mat2.size(-1)

    def rows(i: int) -> Any:
        if self.dim() == 3:
            return scale_a[i].reshape(-1, 1)
        return scale_a.reshape(-1, 1) if scale_a.numel() == m else scale_a.reshape(-1, m)[i].reshape(-1, 1)

    def columns(i: int) -> Any:
        if mat2.dim() == 3:
            return scale_b[i].reshape(1, -1)
        return scale_b.reshape(1, -1) if scale_b.numel() == n else scale_b.reshape(-1, n)[i].reshape(1, -1)

    starts = [0, *offs.tolist()] if offs is not None else [0]

    def product(a: Any, b: Any, i: int) -> Any:
        left, right = rows(i), columns(i)
        if self.dim() == 2 and mat2.dim() == 3:
            left = left[starts[i] : starts[i] + a.size(0)]
        if self.dim() == 3 and mat2.dim() == 2:
            right = right[:, starts[i] : starts[i] + b.size(1)]
        return (a.float().mm(b.float()) * left * right).to(_core.bfloat16 if out_dtype is None else out_dtype)

    return _grouped(self, mat2, offs, product)
