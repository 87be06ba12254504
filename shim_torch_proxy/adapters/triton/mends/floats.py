"""bfloat16 and float8 in Triton's interpreter: numbers instead of bit patterns, and one correct rounding."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from shim_torch_proxy.adapters.triton.mends.mend import Mend, Patch


def _bfloat16(interpreter: ModuleType, patch: Patch) -> None:
    """Blocks of bfloat16 are ml_dtypes arrays (stock: uint16, which arithmetic takes for integers)."""
    import ml_dtypes
    import numpy as np
    from triton.language import core  # triton.language itself is half loaded now

    stock, bfloat16 = interpreter._get_np_dtype, np.dtype(ml_dtypes.bfloat16)
    known = {"bf16": bfloat16}  # by name: stock builds its table anew in each call

    def _get_np_dtype(tt_dtype: Any) -> Any:
        scalar = tt_dtype.element_ty if isinstance(tt_dtype, core.block_type) else tt_dtype
        if isinstance(scalar, core.pointer_type):
            return stock(scalar)
        found = known.get(scalar.name)
        if found is None:
            found = known[scalar.name] = stock(scalar)
        return found

    patch.set(interpreter, "_get_np_dtype", _get_np_dtype)
    patch.set(interpreter, "_interpreter", _Memory(interpreter._interpreter, bfloat16))
    builder = interpreter.InterpreterBuilder
    stock_fma = builder.create_fma

    def create_fma(self: Any, x: Any, y: Any, z: Any) -> Any:
        if z.data.dtype != bfloat16:
            return stock_fma(self, x, y, z)
        exact = x.data.astype(np.float64) * y.data.astype(np.float64) + z.data.astype(np.float64)
        with np.errstate(over="ignore"):
            return interpreter.TensorHandle(exact.astype(bfloat16), z.dtype.scalar)

    patch.set(builder, "create_fma", create_fma)


class _Memory:
    """Triton's C loads, stores and atomics, which know NumPy's own dtypes only."""

    def __init__(self, stock: Any, bfloat16: Any) -> None:
        self._stock, self._bfloat16 = stock, bfloat16

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stock, name)

    def load(self, ptrs: Any, mask: Any, other: Any, dtype: Any) -> Any:
        if dtype != self._bfloat16:
            return self._stock.load(ptrs, mask, other, dtype)
        return self._stock.load(ptrs, mask, other.view("uint16"), other.view("uint16").dtype).view(dtype)

    def store(self, ptrs: Any, value: Any, mask: Any) -> Any:
        return self._stock.store(ptrs, value.view("uint16") if value.dtype == self._bfloat16 else value, mask)

    def atomic_rmw(self, operation: Any, ptrs: Any, value: Any, mask: Any, sem: Any) -> Any:
        if operation == self._stock.RMW_OP.XCHG and value.dtype.kind == "f":  # by their bits: stock knows integers only
            bits = value.view(f"uint{value.dtype.itemsize * 8}")
            return self._stock.atomic_rmw(operation, ptrs, bits, mask, sem).view(value.dtype)
        if value.dtype != self._bfloat16:
            return self._stock.atomic_rmw(operation, ptrs, value, mask, sem)
        import numpy as np

        if operation == self._stock.RMW_OP.FADD:
            combine: Any = np.add
        elif operation == self._stock.RMW_OP.XCHG:
            combine = lambda old, new: new
        else:
            raise NotImplementedError(f"atomic {operation} of bfloat16: Triton has only add and exchange")
        # One program runs at a time, and elements in order: equal addresses add up.
        ptrs, value, mask = np.broadcast_arrays(ptrs, value, mask)
        before = np.zeros(ptrs.shape, dtype=self._bfloat16)
        one = np.ones(1, dtype=bool)
        for index in np.ndindex(ptrs.shape):
            if mask[index]:
                at = ptrs[index].reshape(1)
                old = self._stock.load(at, one, np.zeros(1, np.uint16), np.dtype(np.uint16)).view(self._bfloat16)
                self._stock.store(
                    at, np.asarray(combine(old, value[index]), self._bfloat16).reshape(1).view("uint16"), one
                )
                before[index] = old[0]
        return before


def formats(tl: ModuleType) -> dict[Any, Any]:
    """Triton's floating-point types and the NumPy or ml_dtypes dtype of the same bits."""
    import ml_dtypes
    import numpy as np

    return {
        tl.float64: np.dtype(np.float64),
        tl.float32: np.dtype(np.float32),
        tl.float16: np.dtype(np.float16),
        tl.bfloat16: np.dtype(ml_dtypes.bfloat16),
        tl.float8e5: np.dtype(ml_dtypes.float8_e5m2),
        tl.float8e4nv: np.dtype(ml_dtypes.float8_e4m3fn),
        tl.float8e5b16: np.dtype(ml_dtypes.float8_e5m2fnuz),
        tl.float8e4b8: np.dtype(ml_dtypes.float8_e4m3fnuz),
    }


def _rounding(interpreter: ModuleType, patch: Patch) -> None:
    """Casts round to nearest even, or toward zero where asked; float8 saturates as NVIDIA's conversions do.

    Stock: fp32 to bf16 truncates, fp32 to fp8 rounds half away from zero, infinities become finite.
    """
    import ml_dtypes
    import numpy as np
    from triton.language import core

    stock, known = interpreter._convert_float, formats(core)
    toward_zero = interpreter._ir.ROUNDING_MODE.RTZ

    def _convert_float(input: Any, input_dtype: Any, output_dtype: Any, rounding_mode: Any) -> Any:
        if input_dtype not in known or output_dtype not in known:
            return stock(input, input_dtype, output_dtype, rounding_mode)
        source, target = known[input_dtype], known[output_dtype]
        value = np.ascontiguousarray(input).view(source)
        if source.itemsize == 1:
            value = value.astype(np.float32)
        bits = np.dtype(f"uint{target.itemsize * 8}")
        if target.itemsize == 1:
            most = float(ml_dtypes.finfo(target).max)
            value = np.clip(value.astype(np.float32), -most, most)  # NaN stays NaN
        with np.errstate(over="ignore", invalid="ignore"):
            result = value.astype(target)
        if rounding_mode == toward_zero and target.itemsize < source.itemsize:
            wide = np.float64 if source.itemsize == 8 else np.float32
            beyond = np.abs(result.astype(wide)) > np.abs(value.astype(wide))
            result = (result.view(bits) - beyond.astype(bits)).view(target)
        return result.view(bits)

    patch.set(interpreter, "_convert_float", _convert_float)


def _dot(interpreter: ModuleType, patch: Patch) -> None:
    """``tl.dot`` of bfloat16 and float8 multiplies numbers, in float32, as the GPU accumulates."""
    import numpy as np
    from triton.language import core

    known = formats(core)
    narrow = [t for t, held in known.items() if held.itemsize == 1] + [core.bfloat16, core.float8e4b15]
    stock = interpreter.InterpreterBuilder.create_dot

    def wide(handle: Any) -> Any:
        data, held = handle.data, known.get(handle.dtype.scalar)
        if held is None:
            data = interpreter._convert_float(data, handle.dtype.scalar, core.float16, None).view(np.float16)
        elif held.itemsize == 1:
            data = data.view(held)
        return data.astype(np.float32)

    def create_dot(self: Any, a: Any, b: Any, d: Any, *options: Any, **named: Any) -> Any:
        if a.dtype.scalar not in narrow and b.dtype.scalar not in narrow:
            return stock(self, a, b, d, *options, **named)
        product = np.matmul(wide(a), wide(b)) + d.data.astype(np.float32)
        return interpreter.TensorHandle(product.astype(d.data.dtype), d.dtype.scalar)

    patch.set(interpreter.InterpreterBuilder, "create_dot", create_dot)


_MODULE = "triton.runtime.interpreter"
MENDS = (
    Mend("bfloat16", "arithmetic, loads, stores and atomics on numbers, not on their uint16 bits", _MODULE, _bfloat16),
    Mend("rounding", "casts to bfloat16 and float8 round to nearest even and saturate", _MODULE, _rounding),
    Mend("dot", "tl.dot of bfloat16 and float8 operands", _MODULE, _dot),
)
