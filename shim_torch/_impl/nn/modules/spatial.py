"""Layers of pooling, distances and shuffled channels."""

from __future__ import annotations

from functools import wraps
from typing import Any

from shim_torch._impl.nn.modules.simple_layers import REQUIRED
from shim_torch._impl.nn.modules.simple_layers import functional_layer as layer
from shim_torch.nn import functional as F
from shim_torch.nn.modules.module import Module
from shim_torch.nn.modules.utils import _ntuple

_MAX: dict[str, Any] = {
    "kernel_size": REQUIRED,
    "stride": None,
    "padding": 0,
    "dilation": 1,
    "return_indices": False,
    "ceil_mode": False,
}
_AVG1: dict[str, Any] = {
    "kernel_size": REQUIRED,
    "stride": None,
    "padding": 0,
    "ceil_mode": False,
    "count_include_pad": True,
}
_AVG: dict[str, Any] = {**_AVG1, "divisor_override": None}


class _MaxPoolNd(Module):
    """The base of maximum pooling; like those below, what tells a kind of layer from others."""


class _AvgPoolNd(Module):
    """The base of mean pooling."""


class _AdaptiveAvgPoolNd(Module):
    """The base of mean pooling to a given size."""


class _AdaptiveMaxPoolNd(Module):
    """The base of maximum pooling to a given size."""


class _LPPoolNd(Module):
    """The base of power-average pooling."""


MaxPool1d = layer("MaxPool1d", "max_pool1d", "Maximum over windows of (N, C, L).", _base=_MaxPoolNd, **_MAX)
MaxPool2d = layer("MaxPool2d", "max_pool2d", "Maximum over windows of (N, C, H, W).", _base=_MaxPoolNd, **_MAX)
MaxPool3d = layer("MaxPool3d", "max_pool3d", "Maximum over windows of (N, C, D, H, W).", _base=_MaxPoolNd, **_MAX)
AvgPool1d = layer("AvgPool1d", "avg_pool1d", "Mean over windows of (N, C, L).", _base=_AvgPoolNd, **_AVG1)
AvgPool2d = layer("AvgPool2d", "avg_pool2d", "Mean over windows of (N, C, H, W).", _base=_AvgPoolNd, **_AVG)
AvgPool3d = layer("AvgPool3d", "avg_pool3d", "Mean over windows of (N, C, D, H, W).", _base=_AvgPoolNd, **_AVG)


def _finish_pool(pool: type[Module], shown: tuple[str, ...], tuples: bool) -> None:
    """The stride that is not given is the kernel's size; what the layer shows of itself."""
    start = pool.__init__

    @wraps(start)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        start(self, *args, **kwargs)
        if self.stride is None:
            self.stride = self.kernel_size
        if tuples:
            for name in ("kernel_size", "stride", "padding"):
                setattr(self, name, _ntuple(1)(getattr(self, name)))

    def extra_repr(self: Any) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in shown)

    pool.__init__, pool.extra_repr = __init__, extra_repr  # type: ignore[method-assign]


for _pool in (MaxPool1d, MaxPool2d, MaxPool3d):
    _finish_pool(_pool, ("kernel_size", "stride", "padding", "dilation", "ceil_mode"), False)
for _pool in (AvgPool1d, AvgPool2d, AvgPool3d):
    _finish_pool(_pool, ("kernel_size", "stride", "padding"), _pool is AvgPool1d)
_OUT: dict[str, Any] = {"output_size": REQUIRED}
AdaptiveAvgPool1d = layer(
    "AdaptiveAvgPool1d", "adaptive_avg_pool1d", "Mean pooling to a given size.", _base=_AdaptiveAvgPoolNd, **_OUT
)
AdaptiveAvgPool2d = layer(
    "AdaptiveAvgPool2d", "adaptive_avg_pool2d", "Mean pooling to a given size.", _base=_AdaptiveAvgPoolNd, **_OUT
)
AdaptiveAvgPool3d = layer(
    "AdaptiveAvgPool3d", "adaptive_avg_pool3d", "Mean pooling to a given size.", _base=_AdaptiveAvgPoolNd, **_OUT
)
_MAX_OUT: dict[str, Any] = {**_OUT, "return_indices": False}
AdaptiveMaxPool1d = layer(
    "AdaptiveMaxPool1d", "adaptive_max_pool1d", "Maximum pooling to a given size.", _base=_AdaptiveMaxPoolNd, **_MAX_OUT
)
AdaptiveMaxPool2d = layer(
    "AdaptiveMaxPool2d", "adaptive_max_pool2d", "Maximum pooling to a given size.", _base=_AdaptiveMaxPoolNd, **_MAX_OUT
)
AdaptiveMaxPool3d = layer(
    "AdaptiveMaxPool3d", "adaptive_max_pool3d", "Maximum pooling to a given size.", _base=_AdaptiveMaxPoolNd, **_MAX_OUT
)
for _pool in (AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d):
    _pool.extra_repr = lambda self: f"output_size={self.output_size}"  # type: ignore[method-assign]
PixelShuffle = layer("PixelShuffle", "pixel_shuffle", "(*, C r², H, W) -> (*, C, H r, W r).", upscale_factor=REQUIRED)
PixelUnshuffle = layer("PixelUnshuffle", "pixel_unshuffle", "The inverse of PixelShuffle.", downscale_factor=REQUIRED)
_WINDOW: dict[str, Any] = {"kernel_size": REQUIRED, "dilation": 1, "padding": 0, "stride": 1}
Unfold = layer("Unfold", "unfold", "Sliding windows of (N, C, H, W) as columns.", **_WINDOW)
Fold = layer("Fold", "fold", "Sums columns back into an image.", output_size=REQUIRED, **_WINDOW)
CosineSimilarity = layer(
    "CosineSimilarity", "cosine_similarity", "x1·x2 / (|x1||x2|) over dim.", _inputs=2, dim=1, eps=1e-8
)


CosineSimilarity.extra_repr = lambda self: ""  # type: ignore[method-assign]


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last dim."""

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        """Distances (*) of ``x1`` and ``x2`` (*, D), which broadcast; (*, 1) with ``keepdim``."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


_LP: dict[str, Any] = {"norm_type": REQUIRED, "kernel_size": REQUIRED, "stride": None, "ceil_mode": False}
LPPool1d = layer("LPPool1d", "lp_pool1d", "(Σ x^p)^(1/p) over windows of (N, C, L).", _base=_LPPoolNd, **_LP)
LPPool2d = layer("LPPool2d", "lp_pool2d", "(Σ x^p)^(1/p) over windows of (N, C, H, W).", _base=_LPPoolNd, **_LP)
LPPool3d = layer("LPPool3d", "lp_pool3d", "(Σ x^p)^(1/p) over windows of (N, C, D, H, W).", _base=_LPPoolNd, **_LP)
ChannelShuffle = layer(
    "ChannelShuffle", "channel_shuffle", "Channels dealt out of their groups in turn.", groups=REQUIRED
)


class _MaxUnpoolNd(Module):
    _dims = 0

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        tuple_of = _ntuple(self._dims)
        self.kernel_size, self.padding = tuple_of(kernel_size), tuple_of(padding)
        self.stride = tuple_of(stride if stride is not None else kernel_size)

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        unpool = getattr(F, f"max_unpool{self._dims}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts maxima back at the places they came from: (N, C, L)."""

    _dims = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts maxima back at the places they came from: (N, C, H, W)."""

    _dims = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts maxima back at the places they came from: (N, C, D, H, W)."""

    _dims = 3


class _FractionalMaxPool(Module):
    _dims = 0

    def __init__(
        self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        tuple_of = _ntuple(self._dims)
        self.kernel_size, self.return_indices = tuple_of(kernel_size), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = tuple_of(output_size) if output_size is not None else None
        self.output_ratio = tuple_of(output_ratio) if output_ratio is not None else None
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Any) -> Any:
        pool = getattr(F, f"fractional_max_pool{self._dims}d")
        return pool(
            input, self.kernel_size, self.output_size, self.output_ratio, return_indices=self.return_indices,
            _random_samples=self._random_samples,
        )  # fmt: skip


class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima over windows at places drawn at random: (N, C, H, W)."""

    _dims = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """Maxima over windows at places drawn at random: (N, C, D, H, W)."""

    _dims = 3
