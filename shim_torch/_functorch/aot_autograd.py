"""``torch._functorch.aot_autograd``: ahead-of-time autograd, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    """
    aot_function aot_module aot_module_simplified aot_export_module aot_export_joint_simple
    create_functional_call make_boxed_func SerializableAOTDispatchCompiler AOTConfig
    """,
)
