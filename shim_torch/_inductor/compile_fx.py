"""``torch._inductor.compile_fx``: the compiler's entry, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    """
    compile_fx compile_fx_inner compile_fx_aot shape_env_from_inputs complex_memory_overlap
    fx_codegen_and_compile get_patched_config_dict _InProcessFxCompile FxCompile
    """,
)
