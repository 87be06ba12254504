"""Layers that resample spatial dims."""

from __future__ import annotations

from typing import Any

from shim_torch.nn import functional as F
from shim_torch.nn.modules.module import Module


class Upsample(Module):
    """Resamples spatial dims to a size or by a factor."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        if isinstance(scale_factor, (tuple, list)):
            scale_factor = tuple(float(factor) for factor in scale_factor)
        self.size, self.mode = size, mode
        self.scale_factor = (
            float(scale_factor) if isinstance(scale_factor, (int, float)) and scale_factor else scale_factor
        )
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def forward(self, input: Any) -> Any:
        """``input`` (N, C, *) with 1 to 3 spatial dims, resampled."""
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        """The factor or the size, and the mode."""
        what = f"scale_factor={self.scale_factor}" if self.scale_factor is not None else f"size={self.size}"
        return what + f", mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resamples (N, C, H, W) to the nearest values."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resamples (N, C, H, W) linearly with aligned corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
