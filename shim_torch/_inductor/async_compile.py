"""``torch._inductor.async_compile``: compiling in other processes, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    """
    AsyncCompile CompiledTritonKernels caching_device_properties shutdown_compile_workers
    get_compile_threads maybe_warm_pool
    """,
)
