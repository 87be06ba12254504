"""``torch._dynamo.backends.common``: compilers' backends, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    """
    aot_autograd AotAutograd mem_efficient_fusion_kwargs fake_tensor_unsupported device_from_inputs
    dtype_from_inputs
    """,
)
