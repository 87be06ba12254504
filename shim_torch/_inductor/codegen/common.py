"""``torch._inductor.codegen.common``: code generators, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    """
    get_custom_backend_config_for_device get_custom_backend_pass_for_device get_scheduling_for_device
    get_wrapper_codegen_for_device get_device_op_overrides init_backend_registration
    register_backend_for_device register_device_op_overrides Kernel KernelArgs CSE CSEVariable OpOverrides
    IndentedBuffer WorkspaceArg SizeArg TensorArg
    """,
)
