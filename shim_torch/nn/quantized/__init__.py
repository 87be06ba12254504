"""``torch.nn.quantized``: FloatFunctional, the form of arithmetic that quantizable models use."""

from __future__ import annotations

from typing import Any

from shim_torch.nn import Identity, Module

__all__ = ["FloatFunctional"]


class FloatFunctional(Module):
    """Sums and products as a layer, so that an observer could watch the result."""

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = Identity()

    def forward(self, x: Any) -> Any:
        """Raises RuntimeError: the operations are methods."""
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x: Any, y: Any) -> Any:
        """``x + y``."""
        return self.activation_post_process(x + y)

    add_scalar = add

    def mul(self, x: Any, y: Any) -> Any:
        """``x * y``."""
        return self.activation_post_process(x * y)

    mul_scalar = mul

    def matmul(self, x: Any, y: Any) -> Any:
        """``x @ y``."""
        return self.activation_post_process(x @ y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        """``torch.cat(x, dim)``."""
        import shim_torch

        return self.activation_post_process(shim_torch.cat(x, dim=dim))

    def add_relu(self, x: Any, y: Any) -> Any:
        """``(x + y).relu()``."""
        return self.activation_post_process((x + y).relu())
