"""Linear layers: Identity, Linear, Bilinear."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.nn.modules.building import draw_by_fan_in, draw_within, make_parameters
from shim_torch.nn import functional as F
from shim_torch.nn.modules.module import Module


class Identity(Module):
    """Gives its input back; arguments of the constructor are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """``input`` itself."""
        return input


class Linear(Module):
    """y = x Wᵀ + b.

    Shapes: input (*, in_features) -> (*, out_features); weight (out_features, in_features), bias (out_features,).
    """

    __constants__ = ["in_features", "out_features"]

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        shapes = {"weight": (out_features, in_features), "bias": (out_features,) if bias else None}
        make_parameters(self, device, dtype, **shapes)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias from U(-1/√in, 1/√in)."""
        draw_by_fan_in(self)

    def forward(self, input: Any) -> Any:
        """``input @ weight.T + bias``: (*, in_features) to (*, out_features)."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes that ``repr`` shows."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear by another name (torch's attention layers use it)."""


class Bilinear(Module):
    """y = x1ᵀ A x2 + b."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        shapes = {"weight": (out_features, in1_features, in2_features), "bias": (out_features,) if bias else None}
        make_parameters(self, device, dtype, **shapes)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias from U(-1/√in1, 1/√in1)."""
        draw_within([p for p in (self.weight, self.bias) if p is not None], self.weight.size(1))

    def forward(self, input1: Any, input2: Any) -> Any:
        """``x1 @ weight[k] @ x2 + bias[k]``: (*, in1_features) and (*, in2_features) to (*, out_features)."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes that ``repr`` shows."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
