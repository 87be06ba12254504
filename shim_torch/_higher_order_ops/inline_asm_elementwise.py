"""``torch._higher_order_ops.inline_asm_elementwise``: PTX over the elements of tensors."""

from __future__ import annotations

from typing import Any

__all__ = ["inline_asm_elementwise"]


def inline_asm_elementwise(
    *inputs: Any, asm_str: str, constraints: str, dtype: Any, is_pure: bool = True, pack: int = 1
) -> Any:
    """PTX is not assembled here: NotImplementedError on CUDA; on other devices RuntimeError, as in PyTorch."""
    if not is_pure:
        raise ValueError("inline_asm_elementwise only supports is_pure=True")
    if not inputs:
        raise ValueError("inline_asm_elementwise requires at least one input tensor")
    if not all(x.is_cuda for x in inputs):
        raise RuntimeError("inline_asm_elementwise only supports CUDA tensors")
    raise NotImplementedError(
        "torch._higher_order_ops.inline_asm_elementwise is not supported by shim-torch: write a Triton kernel with "
        "tl.inline_asm_elementwise"
    )
