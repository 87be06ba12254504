"""Arithmetic of Triton's interpreter where NumPy's differs from a GPU's: NaN, float8, int1, what is out of range."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from shim_torch_proxy.adapters.triton.mends import floats
from shim_torch_proxy.adapters.triton.mends.mend import Mend, Patch


def _float8(interpreter: ModuleType, patch: Patch) -> None:
    """float8 computes in float32, as its bits mean nothing to NumPy."""
    import ml_dtypes
    import numpy as np
    from triton.language import core

    narrow = {t: held for t, held in floats.formats(core).items() if held.itemsize == 1}
    builder = interpreter.InterpreterBuilder
    binary, unary = builder.binary_op, builder.unary_op

    def wide(handle: Any) -> Any:
        return interpreter.TensorHandle(handle.data.view(narrow[handle.dtype.scalar]).astype(np.float32), core.float32)

    def back(result: Any, dtype: Any) -> Any:
        if result.data.dtype == np.bool_:
            return interpreter.TensorHandle(result.data, core.int1)
        most = float(ml_dtypes.finfo(narrow[dtype]).max)
        data = np.clip(result.data.astype(np.float32), -most, most).astype(narrow[dtype])
        return interpreter.TensorHandle(data.view(np.uint8), dtype)

    def binary_op(self: Any, lhs: Any, rhs: Any, op: Any) -> Any:
        dtype = lhs.dtype.scalar
        if dtype not in narrow or rhs.dtype.scalar not in narrow:
            return binary(self, lhs, rhs, op)
        return back(binary(self, wide(lhs), wide(rhs), op), dtype)

    def unary_op(self: Any, arg: Any, op: Any) -> Any:
        dtype = arg.dtype.scalar
        return unary(self, arg, op) if dtype not in narrow else back(unary(self, wide(arg), op), dtype)

    patch.set(builder, "binary_op", binary_op)
    patch.set(builder, "unary_op", unary_op)


def _int1(interpreter: ModuleType, patch: Patch) -> None:
    """int1 wraps around as every integer does: true + true is false (stock: NumPy's logical or)."""
    import numpy as np

    stock = interpreter.InterpreterBuilder.binary_op

    def binary_op(self: Any, lhs: Any, rhs: Any, op: Any) -> Any:
        if lhs.data.dtype == np.bool_ and rhs.data.dtype == np.bool_ and op in (np.add, np.subtract):
            data = np.logical_xor(lhs.data, rhs.data)
            return interpreter.TensorHandle(data, lhs.dtype.scalar)
        return stock(self, lhs, rhs, op)

    patch.set(interpreter.InterpreterBuilder, "binary_op", binary_op)


def _bfloat16_constants(interpreter: ModuleType, patch: Patch) -> None:
    """``tl.full(..., 1.0, tl.bfloat16)``, and the padding of block pointers and descriptors."""
    import ml_dtypes
    import numpy as np

    def get_bf16(self: Any, value: Any) -> Any:
        return interpreter.TensorHandle(np.array([value], dtype=ml_dtypes.bfloat16), interpreter.tl.bfloat16)

    patch.set(interpreter.InterpreterBuilder, "get_bf16", get_bf16)


def _not_a_number(interpreter: ModuleType, patch: Patch) -> None:
    """maximum, minimum and clamp give the number unless NaN is asked for (stock: NaN always)."""
    import numpy as np

    builder, none = interpreter.InterpreterBuilder, interpreter._ir.PROPAGATE_NAN.NONE
    stock = builder.create_clampf

    def create_clampf(self: Any, arg: Any, lo: Any, hi: Any, propagate_nans: Any) -> Any:
        if propagate_nans != none:
            return stock(self, arg, lo, hi, propagate_nans)
        return self.binary_op(self.binary_op(arg, lo, np.fmax), hi, np.fmin)

    patch.set(builder, "create_maxnumf", lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmax))
    patch.set(builder, "create_minnumf", lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmin))
    patch.set(builder, "create_clampf", create_clampf)


def _fma(interpreter: ModuleType, patch: Patch) -> None:
    """``tl.fma`` of float16 and float32 rounds once (stock: the product too)."""
    import numpy as np

    stock = interpreter.InterpreterBuilder.create_fma

    def create_fma(self: Any, x: Any, y: Any, z: Any) -> Any:
        if z.data.dtype not in (np.float16, np.float32):
            return stock(self, x, y, z)
        exact = np.multiply(x.data, y.data, dtype=np.float64) + z.data
        return interpreter.TensorHandle(exact.astype(z.data.dtype), z.dtype.scalar)

    patch.set(interpreter.InterpreterBuilder, "create_fma", create_fma)


def _umulhi(interpreter: ModuleType, patch: Patch) -> None:
    """``tl.umulhi`` of signed integers multiplies their bits as unsigned ones (stock: as signed ones)."""
    import numpy as np

    stock = interpreter.InterpreterBuilder.create_umulhi

    def create_umulhi(self: Any, lhs: Any, rhs: Any) -> Any:
        held = lhs.data.dtype
        if held.kind != "i":
            return stock(self, lhs, rhs)
        unsigned = np.dtype(f"uint{held.itemsize * 8}")
        dtype = getattr(interpreter.tl, unsigned.name)
        sides = [interpreter.TensorHandle(np.ascontiguousarray(side.data).view(unsigned), dtype) for side in (lhs, rhs)]
        high = stock(self, *sides)
        return interpreter.TensorHandle(np.asarray(high.data, unsigned).view(held), lhs.dtype.scalar)

    patch.set(interpreter.InterpreterBuilder, "create_umulhi", create_umulhi)


def _select(interpreter: ModuleType, patch: Patch) -> None:
    """``tl.where`` of signed and unsigned integers keeps their width (stock: NumPy's 64 bits, which bitcasts double)."""
    import numpy as np

    stock = interpreter.InterpreterBuilder.create_select

    def create_select(self: Any, cond: Any, lhs: Any, rhs: Any) -> Any:
        found = stock(self, cond, lhs, rhs)
        held = np.dtype(interpreter._get_np_dtype(found.dtype))
        return found if found.data.dtype == held else interpreter.TensorHandle(found.data.astype(held), found.dtype)

    patch.set(interpreter.InterpreterBuilder, "create_select", create_select)


def _saturate(interpreter: ModuleType, patch: Patch) -> None:
    """A float beyond the integers of 32 or 64 bits becomes the nearest of them, NaN 0, as in PTX (stock: the least)."""
    import numpy as np

    builder = interpreter.InterpreterBuilder

    def saturating(stock: Any) -> Any:
        def create(self: Any, src: Any, dst_type: Any) -> Any:
            target = np.dtype(interpreter._get_np_dtype(dst_type))
            if target.itemsize < 4 or src.data.dtype.itemsize == 1:
                return stock(self, src, dst_type)
            limits, value = np.iinfo(target), np.trunc(src.data.astype(np.float64))
            # the greatest is no float64 of 64 bits: compared with the next power of two
            high, low = value >= float(limits.max), value < float(limits.min)
            odd = high | low | np.isnan(value)
            if not odd.any():
                return stock(self, src, dst_type)
            data = np.where(odd, 0.0, value).astype(target)
            data[high], data[low] = limits.max, limits.min
            return interpreter.TensorHandle(data, dst_type.scalar)

        return create

    for name in ("create_fp_to_si", "create_fp_to_ui"):
        patch.set(builder, name, saturating(getattr(builder, name)))


_MODULE = "triton.runtime.interpreter"
MENDS = (
    Mend("float8", "arithmetic and comparison of float8, in float32", _MODULE, _float8),
    Mend("int1", "sums of int1 wrap around", _MODULE, _int1, until=(3, 9)),
    Mend("bfloat16 constants", "tl.full of bfloat16, padding of blocks", _MODULE, _bfloat16_constants, until=(3, 9)),
    Mend("NaN", "tl.maximum, minimum and clamp give the number beside a NaN", _MODULE, _not_a_number, until=(3, 8)),
    Mend("fma", "tl.fma rounds once", _MODULE, _fma, until=(3, 9)),
    Mend("umulhi", "tl.umulhi of signed integers", _MODULE, _umulhi, until=(3, 9)),
    Mend("where", "tl.where of signed and unsigned integers", _MODULE, _select, until=(3, 6)),
    Mend("float to integer", "saturates, and NaN becomes 0", _MODULE, _saturate),
)
