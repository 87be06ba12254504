"""``torch._inductor.codecache``: caches of generated code, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface.not_built import NO_COMPILER, declare
from shim_torch._inductor.exc import InvalidCxxCompiler

declare(
    globals(),
    NO_COMPILER,
    """
    CppPythonBindingsCodeCache CUDACodeCache PyCodeCache FxGraphCache FxGraphHashDetails
    HalideCodeCache TensorMetadata TritonCodeCache code_hash write write_atomic cache_dir get_path
    extract_tensor_metadata_for_cache_key CacheBase LocalCache PersistentCache BypassFxGraphCache
    cuda_compile_command
    """,
)


class CppCodeCache:
    """Compiled C++ code: there is none, and asking for it says that no compiler is usable."""

    @classmethod
    def load(cls, *_: Any, **__: Any) -> Any:
        """Errors: InvalidCxxCompiler, always."""
        raise InvalidCxxCompiler(f"torch._inductor.codecache.CppCodeCache.load is not supported: {NO_COMPILER}")

    load_async = load
