"""``tl.dot_scaled`` in Triton's interpreter: absent up to 3.7; later, bfloat16 and float16 operands go astray."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from shim_torch_proxy.adapters.triton.mends import floats
from shim_torch_proxy.adapters.triton.mends.mend import Mend, Patch

E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)  # by the three low bits; the fourth is the sign


def _unpacked(bytes_: Any, axis: int) -> Any:
    """Two e2m1 numbers a byte, the low half first, along ``axis``."""
    import numpy as np

    packed = np.moveaxis(bytes_.view(np.uint8), axis, -1)
    codes = np.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:-1], -1)
    table = np.array([*E2M1, *(-value for value in E2M1)], dtype=np.float32)
    return np.moveaxis(table[codes], -1, axis)


def _scale(handle: Any, formats: dict[Any, Any]) -> Any:
    """Scales as float32: e8m0 bytes (255 is NaN), or a float8 dtype."""
    import numpy as np

    held = formats.get(handle.dtype.scalar)
    if held is not None:
        return handle.data.view(held).astype(np.float32)
    exponent = handle.data.view(np.uint8).astype(np.int32)
    return np.where(exponent == 255, np.float32(np.nan), np.ldexp(np.float32(1), exponent - 127)).astype(np.float32)


def _dot_scaled(interpreter: ModuleType, patch: Patch) -> None:
    import numpy as np
    from triton.language import core

    formats = floats.formats(core)
    e2m1 = interpreter._ir.ScaleDotElemTypeTY.E2M1

    def operand(value: Any, scale: Any, kind: Any, k_pack: bool, is_rhs: bool) -> Any:
        """The numbers of one side, (…, M, K) or (…, K, N), scaled."""
        along_k = -2 if is_rhs else -1
        if kind == e2m1:
            data = _unpacked(value.data, along_k if k_pack else (-1 if is_rhs else -2))
        else:
            data = np.ascontiguousarray(value.data).view(formats[value.dtype.scalar]).astype(np.float32)
        if scale is None:
            return data
        factors = _scale(scale, formats)  # (…, M or N, K / group)
        factors = np.repeat(factors, data.shape[along_k] // factors.shape[-1], axis=-1)
        return data * (np.swapaxes(factors, -1, -2) if is_rhs else factors)

    def create_dot_scaled(
        self: Any, lhs: Any, lhs_scale: Any, lhs_format: Any, rhs: Any, rhs_scale: Any, rhs_format: Any,
        fast_math: bool, lhs_k_pack: bool, rhs_k_pack: bool, acc: Any,
    ) -> Any:  # fmt: skip
        product = np.matmul(
            operand(lhs, lhs_scale, lhs_format, lhs_k_pack, False),
            operand(rhs, rhs_scale, rhs_format, rhs_k_pack, True),
        )
        return interpreter.TensorHandle((product + acc.data).astype(acc.data.dtype), acc.dtype.scalar)

    patch.set(interpreter.InterpreterBuilder, "create_dot_scaled", create_dot_scaled)


def _formats(interpreter: ModuleType, patch: Patch) -> None:
    """The front end reads ``format.value``, as the compiler passes constants; the interpreter has plain strings."""
    from triton.language import core

    stock = interpreter.TritonSemantic.dot_scaled

    def dot_scaled(
        self: Any, lhs: Any, lhs_scale: Any, lhs_format: Any, rhs: Any, rhs_scale: Any, rhs_format: Any, *rest: Any
    ) -> Any:
        as_constant = lambda text: core.constexpr(text) if isinstance(text, str) else text
        return stock(self, lhs, lhs_scale, as_constant(lhs_format), rhs, rhs_scale, as_constant(rhs_format), *rest)

    patch.set(interpreter.TritonSemantic, "dot_scaled", dot_scaled)


_MODULE = "triton.runtime.interpreter"
MENDS = (
    Mend("dot_scaled", "tl.dot_scaled of all formats", _MODULE, _dot_scaled),
    Mend("dot_scaled formats", "names of formats are constants", _MODULE, _formats, until=(3, 8)),
)
