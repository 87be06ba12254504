"""``torch._inductor.async_compile``: compiling in other processes, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._not_built import NO_COMPILER, names

globals().update(
    names(
        "torch._inductor.async_compile",
        NO_COMPILER,
        """
        AsyncCompile CompiledTritonKernels caching_device_properties shutdown_compile_workers
        get_compile_threads maybe_warm_pool
        """,
    )
)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._inductor.async_compile", name)
