"""Triton on a GPU: its own driver, launcher and compiler, over our tensors and our current stream.

Triton's CUDA driver takes four functions from torch: current device, raw stream, set device, capability. From 3.9 on it
does so only when torch is in ``sys.modules``, else it launches on the default stream; and its C code looks ``torch.Tensor``
up once, also through ``sys.modules``. So the driver is built, and that lookup made, while ours stands there.
"""

from __future__ import annotations

import functools
import sys
from contextlib import ExitStack, nullcontext
from typing import Any

MODULE = "triton.backends.nvidia.driver"


def install(stack: ExitStack) -> None:
    """Called when ``torch.cuda.is_available()``, before Triton is imported; after it, its driver is served too."""
    if MODULE in sys.modules:
        serve(sys.modules[MODULE])


def serve(module: Any) -> None:
    """Gives Triton's ``CudaDriver`` our functions. A driver that is built already keeps what it has."""
    driver = module.CudaDriver
    plain = driver.__init__
    if hasattr(plain, "__wrapped__"):
        return

    @functools.wraps(plain)
    def __init__(self: Any) -> None:
        from shim_torch_proxy.hook import expose

        from . import cuda_driver, dispatch

        ours = dispatch.serves(sys.modules["triton"].__version__)
        with cuda_driver.in_place_of_stock(module) if ours else nullcontext(), expose():
            plain(self)
            find_tensor_type()
        functions = driver_functions()
        for name in functions:
            setattr(self, name, functions[name])
        if ours:
            self.launcher_cls = cuda_driver.launchers(self.launcher_cls)
            dispatch.install()

    driver.__init__ = __init__
    driver.is_active = staticmethod(is_active)


def is_active() -> bool:
    """Whether Triton's CUDA driver is the one to use."""
    from shim_torch import cuda

    return cuda.is_available()


def driver_functions() -> dict[str, Any]:
    """What Triton asks its driver for at each launch; the two hot ones are C functions."""
    from shim_torch import cuda
    from shim_torch._impl.native import _core

    return {
        "get_current_device": _core.cuda_current_device,
        "get_current_stream": _core.cuda_current_stream,
        "set_current_device": cuda.set_device,
        "get_device_capability": cuda.get_device_capability,
    }


def find_tensor_type() -> None:
    """Makes Triton's C code look up ``torch.Tensor`` now (Triton 3.6 and later): it does at its first argument."""
    from triton._C import libtriton

    specialize = getattr(libtriton, "native_specialize_impl", None)
    if specialize is not None:
        from triton.backends.compiler import BaseBackend

        specialize(BaseBackend, 1, False, True, True)
