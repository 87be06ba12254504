"""Triton's compiler says on a terminal what it compiles, once that takes longer than two seconds."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

MODULE = "triton.compiler.compiler"
_done = 0  # kernels compiled in this process, or found in Triton's own cache


def tell(module: ModuleType) -> None:
    """Wraps ``compile`` of Triton's compiler, which is else as it was; other modules of Triton take it from there."""
    plain = module.compile

    @functools.wraps(plain)
    def compile(src: Any, *args: Any, **kwargs: Any) -> Any:
        global _done
        from shim_torch._impl.extensions.slow_work import slow_work

        name = getattr(src, "name", None) or "a kernel"
        with slow_work(f"compiling Triton kernels: {name}" + (f", {_done} done" if _done else "")):
            kernel = plain(src, *args, **kwargs)
        _done += 1
        return kernel

    module.compile = compile  # type: ignore[attr-defined]
