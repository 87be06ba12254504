"""Dropout layers."""

from __future__ import annotations

from typing import Any

from shim_torch.nn import functional as F
from shim_torch.nn.modules.module import Module


class _DropoutNd(Module):
    __constants__ = ["p", "inplace"]
    _function = "dropout"

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Any) -> Any:
        return getattr(F, self._function)(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zeroes elements with probability p in training, scaling the rest by 1/(1-p)."""


class Dropout1d(_DropoutNd):
    """Zeroes whole channels of (N, C, L)."""

    _function = "dropout1d"


class Dropout2d(_DropoutNd):
    """Zeroes whole channels of (N, C, H, W)."""

    _function = "dropout2d"


class Dropout3d(_DropoutNd):
    """Zeroes whole channels of (N, C, D, H, W)."""

    _function = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance (for SELU)."""

    _function = "alpha_dropout"


class FeatureAlphaDropout(_DropoutNd):
    """Alpha dropout of whole channels."""

    _function = "feature_alpha_dropout"
