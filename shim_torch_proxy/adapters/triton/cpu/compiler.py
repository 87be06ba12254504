"""The compiler that Triton asks for on a machine with no GPU: there is none, and it says so.

Triton looks for the class while it is being imported, and the class has a base of Triton's: it is made when it is asked for, so
that either module can be imported first.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any, NoReturn

from shim_torch_proxy.adapters.triton.cpu import TOO_LATE, interpreted

COMPILED = (
    "Triton interprets kernels here, and this one was made for its compiler (by triton.compile, by Gluon, or as an object of a class that "
    "inherits from JITFunction). Make it with triton.jit."
)


@cache
def _backend() -> type:
    from triton.backends import compiler as base

    class CPUBackend(base.BaseBackend):
        """Backend of ``GPUTarget("cpu", 0, 1)``; Errors: RuntimeError for everything that compiles."""

        binary_ext = "none"

        @staticmethod
        def supports_target(target: Any) -> bool:
            return target.backend == "cpu"

        def hash(self) -> str:
            return "shim-cpu"

        def _no_gpu(self, *_: object, **__: object) -> NoReturn:
            raise RuntimeError(
                f"a kernel is to be compiled, and there is no GPU: {COMPILED if interpreted() else TOO_LATE}"
            )

        def parse_options(self, options: dict[str, Any]) -> object:
            self._no_gpu()

        def add_stages(self, stages: dict[str, Any], options: object, language: object = None) -> None:
            self._no_gpu()

        def load_dialects(self, context: object) -> None:
            self._no_gpu()

        def get_module_map(self) -> dict[str, ModuleType]:
            return {}

    return CPUBackend


def __getattr__(name: str) -> Any:
    if name == "CPUBackend":
        return _backend()
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*globals(), "CPUBackend"]
