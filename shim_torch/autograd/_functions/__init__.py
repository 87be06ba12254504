"""``torch.autograd._functions``: helpers of Functions."""

from __future__ import annotations

from typing import Any

from shim_torch.autograd.function import Function

__all__ = ["Resize"]


class Resize(Function):
    """A contiguous tensor in other sizes, with as many elements."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, sizes: tuple[int, ...]) -> Any:
        """A copy of ``tensor`` with the given sizes."""
        ctx.input_size = tensor.size()
        return tensor.contiguous().view(*sizes).clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """The gradient with the sizes of the input."""
        return grad.contiguous().view(ctx.input_size), None
