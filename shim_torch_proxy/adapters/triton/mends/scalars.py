"""Scalars in Triton's interpreter: what the compiler makes a tensor has a tensor's methods there too."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from shim_torch_proxy.adapters.triton.mends.mend import Mend, Patch


def _arguments(interpreter: ModuleType, patch: Patch) -> None:
    """A float argument is a float32 scalar (stock: a Python float, which has no ``.to``)."""
    import numpy as np

    stock, tl = interpreter._implicit_cvt, interpreter.tl

    def _implicit_cvt(arg: Any) -> Any:
        if isinstance(arg, float):
            with np.errstate(over="ignore"):
                data = np.array([arg], dtype=np.float32)
            return tl.tensor(interpreter.TensorHandle(data, tl.float32), tl.float32)
        if isinstance(arg, (np.ndarray, str, list, dict)):
            raise TypeError(
                f"a kernel's argument is of type {type(arg).__module__}.{type(arg).__qualname__}; it may be an array, a torch.Tensor "
                "(torch.from_numpy shares an array's memory), a number, a tuple, a descriptor or, for tl.constexpr, anything"
            )
        return stock(arg)

    patch.set(interpreter, "_implicit_cvt", _implicit_cvt)


def _booleans(interpreter: ModuleType, patch: Patch) -> None:
    """A bool argument is an int1 scalar of one byte (stock: of an int32's four)."""
    import numpy as np

    stock, tl = interpreter._implicit_cvt, interpreter.tl

    def _implicit_cvt(arg: Any) -> Any:
        if isinstance(arg, bool):
            return tl.tensor(interpreter.TensorHandle(np.array([arg], dtype=np.bool_), tl.int1), tl.int1)
        return stock(arg)

    patch.set(interpreter, "_implicit_cvt", _implicit_cvt)


def _loops(interpreter: ModuleType, patch: Patch) -> None:
    """The variable of ``for i in range(…)`` is an integer scalar, as wide as the bounds (stock: a Python int)."""
    import numpy as np

    tl, transformer = interpreter.tl, interpreter.ASTTransformer

    def shim_loop(make: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        values = make(*args, **kwargs)
        if not isinstance(values, builtins.range):
            yield from values
            return
        bounds = [values.start, values.stop] + [getattr(arg, "dtype", None) for arg in args]
        wide = any(
            b in (tl.int64, tl.uint64) if isinstance(b, tl.dtype) else b and not -(2**31) <= b < 2**31 for b in bounds
        )
        dtype, held = (tl.int64, np.int64) if wide else (tl.int32, np.int32)
        for value in values:
            yield tl.tensor(interpreter.TensorHandle(np.array([value], dtype=held), dtype), dtype)

    def visit_For(self: Any, node: ast.For) -> ast.For:
        self.generic_visit(node)
        call = node.iter
        if isinstance(call, ast.Call):
            named = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
            if named == "range":  # not static_range: its values are constants
                node.iter = ast.Call(ast.Name("shim_loop", ast.Load()), [call.func, *call.args], call.keywords)
        return node

    def visit_AnnAssign(self: Any, node: ast.AnnAssign) -> ast.AST:
        if node.value is None or not isinstance(node.target, ast.Name) or "constexpr" in ast.unparse(node.annotation):
            return self.generic_visit(node)
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    patch.set(interpreter, "shim_loop", shim_loop)  # Triton copies its interpreter's names into the kernel's globals
    patch.set(transformer, "visit_For", visit_For)
    patch.set(transformer, "visit_AnnAssign", visit_AnnAssign)


def _index(interpreter: ModuleType, patch: Patch) -> None:
    """Scalars are arrays of one element, which NumPy 2.4 no longer converts with ``int``."""
    stock = interpreter._patch_lang_tensor

    def _patch_lang_tensor(tensor: Any, *scope: Any) -> None:
        stock(tensor, *scope)
        tensor.__index__ = lambda self: self.handle.data.item()

    patch.set(interpreter, "_patch_lang_tensor", _patch_lang_tensor)


_MODULE = "triton.runtime.interpreter"


def _conditions(interpreter: ModuleType, patch: Patch) -> None:
    """A scalar comparison beside a block (``(n > 0) & mask``) stays int1; stock makes it a block of int32, no mask."""
    import numpy as np

    stock = interpreter.InterpreterBuilder.create_splat

    def create_splat(self: Any, ret_ty: Any, arg: Any) -> Any:
        if arg.data.dtype == np.bool_:
            return interpreter.TensorHandle(np.full(ret_ty.shape, arg.data.reshape(-1)[0]), interpreter.tl.int1)
        return stock(self, ret_ty, arg)

    patch.set(interpreter.InterpreterBuilder, "create_splat", create_splat)


MENDS = (
    Mend("float arguments", "a float argument has a scalar's methods, such as .to", _MODULE, _arguments),
    Mend("bool arguments", "a bool argument is an int1 scalar", _MODULE, _booleans, until=(3, 8)),
    Mend("scalar bounds", "range() of scalars with NumPy 2.4 or newer", _MODULE, _index, until=(3, 7)),
    Mend("scalar conditions", "a comparison of scalars may be part of a block's mask", _MODULE, _conditions),
    Mend("loop variables", "the variable of a range loop has a scalar's methods and width", _MODULE, _loops),
)
