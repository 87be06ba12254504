"""libdevice in Triton's interpreter: CUDA's functions by symbol, computed with NumPy."""

from __future__ import annotations

import functools
from types import FunctionType, ModuleType
from typing import Any

from shim_torch_proxy.adapters.triton.mends import symbols
from shim_torch_proxy.adapters.triton.mends.mend import Mend, Patch


def _semantics(function: Any) -> Any:
    """``function`` with the interpreter's semantics where the compiler would pass its own."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("_semantic") is None:
            from triton.runtime import interpreter

            kwargs["_semantic"] = interpreter.interpreter_semantic
        return function(*args, **kwargs)

    return call


def _cuda(module: ModuleType, patch: Patch) -> None:
    """CUDA's module: the declarations (argument types, symbol, result type) stay Triton's own."""
    for name, function in list(vars(module).items()):
        if getattr(function, "__triton_builtin__", False):
            patch.set(module, name, _semantics(function))


def _portable(module: ModuleType, patch: Patch) -> None:
    """The module that kernels import has empty bodies; the compiler exchanges it for the device's, and so does this."""
    from triton.language.extra.cuda import libdevice as cuda

    for name, function in list(vars(module).items()):
        if isinstance(function, FunctionType) and function.__module__ == module.__name__ and hasattr(cuda, name):
            patch.set(module, name, getattr(cuda, name))


def _extern(interpreter: ModuleType, patch: Patch) -> None:
    def create_extern_elementwise(
        self: Any, library: str, path: str, symbol: str, args: list[Any], result: Any, pure: bool
    ) -> Any:
        function = symbols.find(symbol)
        if function is None:
            raise NotImplementedError(f"extern_elementwise: {symbol} is not known to the interpreter")
        dtype = interpreter._get_np_dtype(result.scalar)
        return interpreter.TensorHandle(function(dtype, *(arg.data for arg in args)), result.scalar)

    patch.set(interpreter.InterpreterBuilder, "create_extern_elementwise", create_extern_elementwise)


MENDS = (
    Mend(
        "extern_elementwise",
        "libdevice symbols (__nv_…) are computed with NumPy",
        "triton.runtime.interpreter",
        _extern,
    ),
    Mend("libdevice", "tl.extra.cuda.libdevice can be called", "triton.language.extra.cuda.libdevice", _cuda),
    Mend(
        "libdevice names",
        "tl.extra.libdevice, whose functions return None",
        "triton.language.extra.libdevice",
        _portable,
    ),
)
