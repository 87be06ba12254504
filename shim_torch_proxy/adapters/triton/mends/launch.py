"""``kernel.warmup``: an interpreted kernel has nothing to compile, but callers use what compiling returns."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType, SimpleNamespace
from typing import Any

from shim_torch_proxy.adapters.triton.mends.mend import Mend, Patch


class InterpretedKernel:
    """What ``warmup`` returns: launches as a compiled kernel does; occupancy figures are the least that divide."""

    n_regs, n_spills, n_max_threads = 1, 0, 1
    module = function = None

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self._function = function
        self.name = function.__name__
        self.src = function.fn
        self.asm: dict[str, str] = {}
        self.metadata = SimpleNamespace(
            name=self.name,
            shared=1,
            num_warps=options.get("num_warps", 4),
            num_stages=options.get("num_stages", 3),
            num_ctas=options.get("num_ctas", 1),
        )

    def _init_handles(self) -> None:
        pass

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        """The launcher: takes all arguments of the kernel, constants included."""
        return self._function[grid]


def _warmup(interpreter: ModuleType, patch: Patch) -> None:
    kernel = interpreter.InterpretedFunction

    def warmup(self: Any, *args: Any, grid: Any = None, **kwargs: Any) -> InterpretedKernel:
        return InterpretedKernel(self, kwargs)

    patch.set(kernel, "warmup", warmup)
    if "run" not in vars(kernel):  # up to 3.5 each kernel makes its own, which autotuning calls
        return
    stock = kernel.run

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        if warmup:
            return InterpretedKernel(self, kwargs)
        return stock(self, *args, grid=grid, warmup=warmup, **kwargs)

    patch.set(kernel, "run", run)


def _quiet(interpreter: ModuleType, patch: Patch) -> None:
    """Masked lanes compute on whatever they hold; a GPU does not report overflow or NaN, so NumPy must not."""
    import numpy as np

    stock = interpreter.GridExecutor.__call__

    def __call__(self: Any, *args: Any, **kwargs: Any) -> None:
        with np.errstate(all="ignore"):
            stock(self, *args, **kwargs)

    patch.set(interpreter.GridExecutor, "__call__", __call__)


def _grids(interpreter: ModuleType, patch: Patch) -> None:
    """A grid may be a list, and a function of the caller's own arguments; what it puts in their place is launched."""
    stock = interpreter.GridExecutor.__call__

    def __call__(self: Any, *args: Any, **kwargs: Any) -> None:
        if callable(self.grid):
            spec = inspect.getfullargspec(self.fn)
            names = {*spec.args, *spec.kwonlyargs}
            meta = inspect.getcallargs(self.fn, *args, **{k: v for k, v in kwargs.items() if k in names})
            self.grid = self.grid(meta)
            args = tuple([meta[name] for name in spec.args[: len(args)]])
            kwargs = {name: meta.get(name, value) for name, value in kwargs.items()}
        if isinstance(self.grid, list):
            self.grid = tuple(self.grid)
        stock(self, *args, **kwargs)

    patch.set(interpreter.GridExecutor, "__call__", __call__)


def _addresses(interpreter: ModuleType, patch: Patch) -> None:
    """An argument may be any object with ``data_ptr`` and ``dtype``, as for compiled kernels: an address, not a tensor."""
    owner = interpreter.GridExecutor
    stock_in, stock_out = owner._init_args_hst, owner._restore_args_dev

    def hidden(arg: Any) -> Any:
        is_address = hasattr(arg, "data_ptr") and hasattr(arg, "dtype") and not hasattr(arg, "untyped_storage")
        return SimpleNamespace(address=arg) if is_address and not hasattr(arg, "base") else arg

    def shown(arg: Any) -> Any:
        return arg.address if type(arg) is SimpleNamespace and hasattr(arg, "address") else arg

    def all_of(change: Callable[[Any], Any], args: Any, kwargs: Any) -> Any:
        return tuple([change(arg) for arg in args]), {name: change(arg) for name, arg in kwargs.items()}

    def init(self: Any, args_dev: Any, kwargs: Any) -> Any:
        return all_of(shown, *stock_in(self, *all_of(hidden, args_dev, kwargs)))

    def restore(self: Any, args_dev: Any, args_hst: Any, kwargs: Any, kwargs_hst: Any) -> Any:
        args_dev, kwargs = all_of(hidden, args_dev, kwargs)
        return stock_out(self, args_dev, args_hst, kwargs, kwargs_hst)

    patch.set(owner, "_init_args_hst", init)
    patch.set(owner, "_restore_args_dev", restore)


def _debug(interpreter: ModuleType, patch: Patch) -> None:
    """``debug=True`` of a launch, and Triton's knob, let ``tl.device_assert`` assert (stock: never)."""
    stock = interpreter.GridExecutor.__call__

    def __call__(self: Any, *args: Any, **kwargs: Any) -> None:
        builder, knobs = interpreter.interpreter_builder, sys.modules["triton.knobs"]
        before = builder.options
        if kwargs.get("debug") or getattr(knobs.runtime, "debug", False):
            builder.options = dataclasses.replace(before, debug=True)
        try:
            stock(self, *args, **kwargs)
        finally:
            builder.options = before

    patch.set(interpreter.GridExecutor, "__call__", __call__)


def _overflow(semantic: ModuleType, patch: Patch) -> None:
    """A sum's overflow is looked for in launches with debug=True alone; stock computes it in each, and then drops it."""
    owner = semantic.TritonSemantic
    stock = owner.binary_op_sanitize_overflow_impl

    def binary_op_sanitize_overflow_impl(self: Any, lhs: Any, rhs: Any, binary_op: Any) -> None:
        if self.builder.options.debug:
            stock(self, lhs, rhs, binary_op)

    patch.set(owner, "binary_op_sanitize_overflow_impl", binary_op_sanitize_overflow_impl)


def _arrays(interpreter: ModuleType, patch: Patch) -> None:
    """Arrays of NumPy, CuPy and JAX are arguments as they are."""
    from shim_torch_proxy.adapters.triton import arrays

    owner = interpreter.GridExecutor
    patch.set(owner, "__call__", arrays.taking(owner.__call__, kernel_of=lambda executor: executor.fn))


class _Nothing:
    def restore(self) -> None:
        pass


def _once(interpreter: ModuleType, patch: Patch) -> None:
    """A launch exchanges Triton's language functions once (stock: again in each call of a device function, 3 ms)."""
    tl, stock_patch, stock_call = interpreter.tl, interpreter._patch_lang, interpreter.GridExecutor.__call__
    state = SimpleNamespace(launches=0, patched=False)

    def _patch_lang(fn: Any) -> Any:
        if state.patched:
            return _Nothing()
        if not state.launches:
            return stock_patch(fn)
        state.patched = True
        return stock_patch(SimpleNamespace(__globals__={"tl": tl, "core": tl.core}))

    def __call__(self: Any, *args: Any, **kwargs: Any) -> None:
        state.launches += 1
        try:
            stock_call(self, *args, **kwargs)
        finally:
            state.launches -= 1
            state.patched = state.launches > 0

    stock_function = interpreter.InterpretedFunction.__call__

    def call_function(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not state.launches:
            raise RuntimeError(
                f"Cannot call @triton.jit'd outside of the scope of a kernel: launch {self.__name__} as {self.__name__}[grid](...)"
            )
        return stock_function(self, *args, **kwargs)

    patch.set(interpreter, "_patch_lang", _patch_lang)
    patch.set(interpreter.GridExecutor, "__call__", __call__)
    patch.set(interpreter.InterpretedFunction, "__call__", call_function)


def _gluon_first(interpreter: ModuleType, patch: Patch) -> None:
    """Triton's native code imports Gluon at the first launch, which asks for the signature of ``tl.static_print``.

    Within a launch that is Python's own ``print``, whose signature Python 3.10 cannot give.
    """
    if sys.version_info >= (3, 11):
        return
    stock = interpreter.GridExecutor.__call__

    def __call__(self: Any, *args: Any, **kwargs: Any) -> None:
        if "triton.experimental.gluon" not in sys.modules:
            with suppress(ImportError):
                importlib.import_module("triton.experimental.gluon")
        stock(self, *args, **kwargs)

    patch.set(interpreter.GridExecutor, "__call__", __call__)


MENDS = (
    Mend("warmup", "returns a kernel that can be launched", "triton.runtime.interpreter", _warmup),
    Mend("warnings", "kernels overflow and make NaN silently, as on a GPU", "triton.runtime.interpreter", _quiet),
    Mend("device_assert", "asserts in launches with debug=True", "triton.runtime.interpreter", _debug),
    Mend("addresses", "any object with data_ptr and dtype", "triton.runtime.interpreter", _addresses),
    Mend("overflow", "is looked for in launches with debug=True only", "triton.language.semantic", _overflow),
    Mend("grids", "a list is a grid; a function gets the caller's arguments", "triton.runtime.interpreter", _grids),
    Mend("Python 3.10", "imports Gluon before a launch, not within", "triton.runtime.interpreter", _gluon_first),
    Mend("device functions", "are called without preparing the language again", "triton.runtime.interpreter", _once),
    Mend("arrays", "of NumPy, CuPy and JAX are arguments", "triton.runtime.interpreter", _arrays),
)
