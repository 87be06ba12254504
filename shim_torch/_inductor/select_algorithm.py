"""``torch._inductor.select_algorithm``: implementations that the code generator chooses from. There is no such choice here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.surface.not_built import NO_COMPILER, declare, refuse

__all__ = ["ExternKernelChoice"]


class ExternKernelChoice:
    """A function written elsewhere, offered to the code generator under a name. Libraries make them when they are imported."""

    def __init__(
        self,
        kernel: Callable[..., Any],
        cpp_kernel: str | None = None,
        *,
        name: str | None = None,
        has_out_variant: bool = True,
        op_overload: Any = None,
        use_fallback_kernel: bool = False,
        kernel_creator: Callable[..., Any] | None = None,
    ) -> None:
        assert callable(kernel)
        self.kernel = kernel
        self.name = name or kernel.__name__
        self.cpp_kernel_name = cpp_kernel
        self.has_out_variant = has_out_variant
        self.op_overload = op_overload
        self.use_fallback_kernel = use_fallback_kernel
        self.kernel_creator = kernel_creator

    def to_callable(self) -> Callable[..., Any]:
        """The function itself."""
        return self.kernel

    def bind(self, *_: Any, **__: Any) -> Any:
        """A choice for given inputs: NotImplementedError."""
        refuse("torch._inductor.select_algorithm.ExternKernelChoice.bind", NO_COMPILER)


declare(
    globals(),
    NO_COMPILER,
    "AlgorithmSelectorCache DataProcessorTemplateWrapper TritonTemplate TritonTemplateKernel autotune_select_algorithm realize_inputs",
)
