"""Triton without a GPU: its interpreter is switched on, and a driver of ours stands where a GPU's would.

The package is the value of the entry point in Triton's group ``triton.backends``; Triton imports ``compiler`` and
``driver`` from it. Where the entry point is not installed (a source tree), ``register`` adds the same two.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from contextlib import ExitStack
from types import ModuleType

ENTRY_POINT = "shim_cpu"
VARIABLE = "TRITON_INTERPRET"
TOO_LATE = (
    "triton was imported before enable_torch_proxy: its kernels are prepared for a GPU, and there is none here. Call "
    f"enable_torch_proxy before the first import of triton, or start Python with {VARIABLE}=1."
)

active = False  # whether our driver is the one; stays so for the Triton that was loaded with it


def install(stack: ExitStack) -> None:
    """Switches the interpreter on for the Triton that is imported next; the variable is put back with ``stack``."""
    global active
    active = True
    if "triton" in sys.modules:
        if not interpreted():
            from shim_torch_proxy.reports import TorchProxyWarning

            warnings.warn(TOO_LATE, TorchProxyWarning, stacklevel=2)
        if "triton.backends" in sys.modules:
            register(sys.modules["triton.backends"])
    before = os.environ.get(VARIABLE)

    def undo() -> None:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before

    os.environ[VARIABLE] = "1"
    stack.callback(undo)


def interpreted() -> bool:
    """Whether the Triton that is loaded was imported with its interpreter on."""
    standard = sys.modules.get("triton.language.standard")
    return standard is not None and type(standard.cdiv).__name__ == "InterpretedFunction"


def remember(knobs: ModuleType) -> None:
    """After ``triton.knobs``: the mode is Triton's own from here on, without the variable."""
    if active:
        vars(knobs.runtime)["interpret"] = True  # as assigning it does, but without setting the variable


def register(backends: ModuleType) -> None:
    """After ``triton.backends``: adds our backend where the entry point is not installed."""
    if ENTRY_POINT not in backends.backends:
        compiler = importlib.import_module(f"{__name__}.compiler")
        driver = importlib.import_module(f"{__name__}.driver")
        backends.backends[ENTRY_POINT] = backends.Backend(compiler.CPUBackend, driver.CPUDriver)
