"""``torch._higher_order_ops.triton_kernel_wrap``: Triton kernels as steps of a graph, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    """
    TritonKernelWrapperMutation TritonKernelWrapperFunctional triton_kernel_wrapper_mutation
    triton_kernel_wrapper_functional TraceableTritonKernelWrapper TritonHOPifier identify_mutated_tensors
    """,
)
