"""Launches take arrays of others as they are: ``cupy.ndarray``, ``jax.Array`` and, interpreted, ``numpy.ndarray``.

Each is exchanged once for a tensor over its memory (DLPack), ordered with our current stream; the kernel, its grid function,
``autotune`` and ``heuristics`` see that tensor. Launches of tensors alone pay for a look at the arguments' types where they
go through Triton's Python, and for nothing where the dispatcher serves them. JAX cannot be told of work that is under way
on a stream of ours, so a launch with one of its arrays on a GPU waits until the kernel is done.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import ExitStack
from types import ModuleType
from typing import Any

from shim_torch_proxy.adapters.triton.mends.mend import Patch

MODULE = "triton.runtime.autotuner"

PLAIN, ARRAY, TUPLE, TRACED = range(4)
_kinds: dict[type, int] = {int: PLAIN, float: PLAIN, bool: PLAIN, str: PLAIN, type(None): PLAIN, tuple: TUPLE}


def kind_of(cls: type) -> int:
    """What a launch does with an argument of that class; asked once for each class."""
    import numpy as np

    package = cls.__module__.partition(".")[0]
    if issubclass(cls, tuple):
        return TUPLE
    if package in ("jax", "jaxlib") and cls.__name__.endswith("Tracer"):
        return TRACED
    if hasattr(cls, "data_ptr") or issubclass(cls, (np.generic, int, float)):
        return PLAIN  # tensors, addresses, numbers
    return ARRAY if hasattr(cls, "__dlpack__") or hasattr(cls, "__cuda_array_interface__") else PLAIN


def _kind(value: Any) -> int:
    cls = type(value)
    kind = _kinds.get(cls)
    if kind is None:
        kind = _kinds[cls] = kind_of(cls)
    return kind


def has_arrays(values: Any) -> bool:
    """Whether one of the values, or of a tuple among them, is to be exchanged (or refused)."""
    for value in values:
        kind = _kind(value)
        if kind and (kind != TUPLE or has_arrays(value)):
            return True
    return False


class Exchange:
    """The arguments of one launch: tensors in the place of arrays, the same tensor for the same array."""

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.made = kernel, {}  # type: ignore[var-annotated]
        self.waits: set[int] = set()  # devices on which JAX's arrays are

    def of(self, value: Any, name: str) -> Any:
        """The argument to launch with; ``name`` is for errors."""
        kind = _kind(value)
        if kind == PLAIN:
            return value
        if kind == TUPLE:
            if not has_arrays(value):
                return value
            items = [self.of(item, name) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if kind == TRACED:
            raise TypeError(
                f"{self._called()} got a value that JAX traces (a {type(value).__name__}), which has no memory yet, for {name}: "
                "launch the kernel in a function that jax.pure_callback calls"
            )
        if id(value) not in self.made:
            self.made[id(value)] = self._tensor(value, name)
        return self.made[id(value)]

    def _tensor(self, value: Any, name: str) -> Any:
        import shim_torch as torch

        is_numpy = type(value).__module__.partition(".")[0] == "numpy"
        tensor = torch.from_dlpack(value) if hasattr(value, "__dlpack__") and not is_numpy else torch.as_tensor(value)
        if tensor.device.type == "cpu" and not self._interpreted():
            raise TypeError(
                f"{self._called()} got a {_name(type(value))} in the memory of the host for {name}, but runs on a GPU: "
                "torch.as_tensor(x, device='cuda') copies it there"
            )
        if tensor.is_cuda and type(value).__module__.partition(".")[0] in ("jax", "jaxlib"):
            self.waits.add(tensor.device.index)
        return tensor

    def _called(self) -> str:
        return f"{getattr(self.kernel, '__name__', 'a kernel')}[grid]()"

    def _interpreted(self) -> bool:
        kernel = self.kernel
        while hasattr(kernel, "fn") and type(kernel).__name__ in ("Autotuner", "Heuristics"):
            kernel = kernel.fn
        return type(kernel).__name__ not in ("JITFunction", "GluonJITFunction")

    def finish(self) -> None:
        """Waits for the kernel where JAX is to find its results."""
        if self.waits:
            from shim_torch import cuda

            for index in self.waits:
                cuda.current_stream(index).synchronize()


def _name(cls: type) -> str:
    return f"{cls.__module__.partition('.')[0]}.{cls.__name__}"


def taking(plain: Callable[..., Any], kernel_of: Callable[[Any], Any] = lambda self: self) -> Callable[..., Any]:
    """``plain``, a method that launches, as one that takes arrays too: it is then called again with tensors."""

    @functools.wraps(plain)
    def launch(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not has_arrays(args) and not has_arrays(kwargs.values()):
            return plain(self, *args, **kwargs)
        exchange = Exchange(kernel_of(self))
        args = tuple(exchange.of(value, f"argument {at}") for at, value in enumerate(args))
        kwargs = {name: exchange.of(value, f"'{name}'") for name, value in kwargs.items()}
        result = getattr(type(self), plain.__name__)(self, *args, **kwargs)
        exchange.finish()
        return result

    launch.takes_arrays = True  # type: ignore[attr-defined]
    return launch


def measured_apart(plain: Callable[..., Any]) -> Callable[..., Any]:
    """An autotuner's ``_bench``: the launches that it measures are none of the compiled function's that runs."""

    @functools.wraps(plain)
    def _bench(self: Any, *args: Any, **kwargs: Any) -> Any:
        from shim_torch._impl.compile.calls import paused

        return paused(plain, deferred=False)(self, *args, **kwargs)

    return _bench


def take(autotuner: ModuleType, stack: ExitStack | None = None) -> None:
    """After Triton's autotuner was executed: what it and heuristics decide by is the tensor. Compiled kernels take arrays too."""
    patch = Patch(stack)
    for owner in (autotuner.Autotuner, autotuner.Heuristics):
        if not hasattr(owner.run, "__wrapped__"):
            patch.set(owner, "run", taking(owner.run))
    if not hasattr(autotuner.Autotuner._bench, "__wrapped__"):
        patch.set(autotuner.Autotuner, "_bench", measured_apart(autotuner.Autotuner._bench))
    take_compiled(sys.modules["triton.runtime.jit"], stack)


def take_compiled(jit: ModuleType, stack: ExitStack | None = None) -> None:
    """From the first launch on, whose stock ``run`` makes the driver and with it the dispatcher: that one is then too late."""
    owner = jit.JITFunction
    stock = owner.run
    if getattr(stock, "__module__", None) != jit.__name__ or hasattr(stock, "takes_arrays"):
        return  # the dispatcher, another library's, or done
    takes_arrays = taking(stock)

    @functools.wraps(takes_arrays)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = owner.run
        sys.modules["triton.runtime"].driver.active.get_current_device()  # makes the driver, and with it the dispatcher
        return (takes_arrays if owner.run is before else owner.run)(self, *args, **kwargs)

    ours = owner.run = run

    def undo() -> None:
        if owner.run is ours:  # not where the dispatcher, which stays, has been put above it
            owner.run = stock

    if stack is not None:
        stack.callback(undo)


def install(stack: ExitStack) -> None:
    """Where Triton is imported already."""
    if MODULE in sys.modules:
        take(sys.modules[MODULE], stack)
