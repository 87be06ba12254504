"""The native core of shim-torch: tensors, operator table, autograd engine, memory. Loads ``shim_torch._impl.native._core``."""

from __future__ import annotations

import os
from importlib import import_module

from shim_torch._impl.utils import distributions


def _in_subinterpreter() -> bool:
    """Where the core refuses to load; NumPy, once imported there, could not be imported by the main interpreter."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            interpreters = import_module(name)
        except ImportError:
            continue
        return interpreters.get_current() != interpreters.get_main()
    return False


if not _in_subinterpreter():
    distributions.own("numpy", "numpy")  # the core's import of it finds this one

try:
    from . import _core as _core
except ImportError as error:
    if error.name not in (None, __name__, "_core", f"{__name__}._core"):
        raise  # something that it needs: numpy, say
    import importlib.machinery
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    built = sorted(name for name in os.listdir(here) if name.startswith("_core.") and ".so" in name)
    if any(f"_core{suffix}" in built for suffix in importlib.machinery.EXTENSION_SUFFIXES):
        if "ISA level" in str(error):  # the C library's words
            raise ImportError(
                f"shim-torch's C++ core in {here} was built for processors with AVX2 (x86-64-v3), which this one is not; build it "
                "here, or for any x86-64: pip install --no-cache-dir --config-settings=cmake.define.SHIM_X86_64_LEVEL=1 shim-torch",
                name=f"{__name__}._core",
                path=here,
            ) from error
        raise  # it is there, and the system refuses to load it: its words say why
    if "t" in sys.abiflags:
        raise ImportError(
            f"shim-torch needs a Python with a global interpreter lock, and {sys.executable} is free-threaded; install it with the "
            f"other build of Python {sys.version_info[0]}.{sys.version_info[1]}",
            name=f"{__name__}._core",
            path=here,
        ) from None
    raise ImportError(
        f"shim-torch's C++ core is not built for {sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]} "
        f"({'found only ' + ', '.join(built) if built else 'there is none'} in {here}); install shim-torch with this Python: "
        f"{sys.executable} -m pip install shim-torch",
        name=f"{__name__}._core",
        path=here,
    ) from None

if not _core.in_main_interpreter():  # loaded by the main one already: initialising did not ask
    raise ImportError("shim-torch runs in a process's main interpreter only, not in a subinterpreter", name=__name__)

__all__ = ["_core"]
