"""Triton 3.4 to 3.9: on a GPU its own launcher serves our tensors; without one its kernels run in its interpreter.

Triton decides for the interpreter when it is imported (its library functions are decorated then), so the choice is
made before that. What the interpreter gets wrong is mended in ``mends``. A Triton that was loaded in a scope keeps its
mode and its mends after the scope is disabled, as a module keeps its torch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from types import ModuleType

from shim_torch_proxy.adapters.triton import arrays, compiling, cpu, gpu, mends

# Triton's module -> what is done once it is executed; hook.py gives it to the finder.
AFTER: dict[str, Callable[[ModuleType], None]] = {
    "triton.backends": cpu.register,
    "triton.knobs": cpu.remember,
    gpu.MODULE: gpu.serve,
    arrays.MODULE: arrays.take,
    compiling.MODULE: compiling.tell,
    **dict.fromkeys(mends.MODULES, mends.apply),
}


def install(stack: ExitStack) -> None:
    """Chooses the GPU when there is one, else the interpreter. Warns when Triton was imported too early for that."""
    from shim_torch import cuda

    (gpu if cuda.is_available() else cpu).install(stack)
    arrays.install(stack)
    for name in mends.MODULES:
        if name in sys.modules:  # Triton runs in the interpreter already: someone else chose it
            mends.apply(sys.modules[name], stack)


def report() -> list[str]:
    """The mends of Triton's interpreter, a line each, with the Triton versions that need them."""
    return mends.report()
