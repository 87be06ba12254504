"""``torch._higher_order_ops.triton_kernel_wrap``: Triton kernels as steps of a graph, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._not_built import NO_COMPILER, names

globals().update(
    names(
        "torch._higher_order_ops.triton_kernel_wrap",
        NO_COMPILER,
        """
        TritonKernelWrapperMutation TritonKernelWrapperFunctional triton_kernel_wrapper_mutation
        triton_kernel_wrapper_functional TraceableTritonKernelWrapper TritonHOPifier identify_mutated_tensors
        """,
    )
)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._higher_order_ops.triton_kernel_wrap", name)
