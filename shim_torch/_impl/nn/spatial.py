"""Spatial functions of ``torch.nn.functional``: resampling, windows as columns, neighbours."""

from __future__ import annotations

import warnings
from typing import Any

from shim_torch._impl.nn.calls import _aten, _overridden, _overridden_one, _override, _tuple


def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Sums sliding windows, given as columns (N, C · kernel, count), into (N, C, *output_size)."""
    if _overridden_one(input):
        return _override(fold, 3, input)
    sizes = [_tuple(v, 2) for v in (output_size, kernel_size, dilation, padding, stride)]
    return _aten("col2im")(input, *sizes)


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Sliding windows of (N, C, H, W) as columns (N, C · kernel, count)."""
    if _overridden_one(input):
        return _override(unfold, 2, input)
    return _aten("im2col")(input, *[_tuple(v, 2) for v in (kernel_size, dilation, padding, stride)])


def _of_each_dim(value: Any, input: Any, other: str, shown: str, letter: str) -> list[Any]:
    """``value`` of every spatial dim of ``input``: one for all, or a sequence. ValueError: of another length."""
    sizes = list(input.shape[2:])
    if not isinstance(value, (list, tuple)):
        return [value] * len(sizes)
    if len(value) != len(sizes):
        named = shown.partition(" of")[0]
        raise ValueError(
            f"Input and {other} must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {sizes} and {shown} {value}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and {named} "
            f"in ({letter}1, {letter}2, ...,{letter}K) format."
        )
    return list(value)


_MODES = ("nearest", "linear", "bilinear", "bicubic", "trilinear", "lanczos", "area", "nearest-exact")
_LINEAR = {"linear": (3, "upsample_linear1d"), "bilinear": (4, "upsample_bilinear2d"), "bicubic": (4, "upsample_bicubic2d"),
           "trilinear": (5, "upsample_trilinear3d")}  # fmt: skip


def _whole_size(size: Any) -> int:
    """A computed size without its fraction; RuntimeError where 64 bits do not hold it."""
    if isinstance(size, float) and not -(2.0**63) <= size < 2.0**63:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return int(size)


def _target(input: Any, size: Any, scale_factor: Any, recompute: bool | None) -> tuple[list[int], list[Any]]:
    """The spatial sizes to resample to, and each dim's factor for the kernel (None: the ratio of the sizes)."""
    if scale_factor is None:
        if size is None:
            raise ValueError("either size or scale_factor should be defined")
        sizes = _of_each_dim(size, input, "output", "output size of", "o")
        if not all(hasattr(s, "__index__") for s in sizes):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size "
                f"with types {[type(s) for s in sizes]}"
            )
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return sizes, [None] * len(sizes)
    if size is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    factors = [float(f) for f in _of_each_dim(scale_factor, input, "scale_factor", "scale_factor of shape", "s")]
    sizes = [_whole_size(n * f) for n, f in zip(input.shape[2:], factors, strict=True)]
    return sizes, [None] * len(sizes) if recompute else factors


def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Any:  # fmt: skip
    """Resamples the spatial dims of (N, C, *) to ``size``, or by ``scale_factor``."""
    if _overridden_one(input):
        return _override(interpolate, 1, input)
    if align_corners is not None and mode in ("nearest", "area", "nearest-exact"):
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    sizes, factors = _target(input, size, scale_factor, recompute_scale_factor)
    if antialias and (input.dim() != 4 or mode not in ("bilinear", "bicubic", "lanczos")):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    return _resampled(input, sizes, factors, mode, bool(align_corners), antialias)


def _resampled(input: Any, sizes: Any, factors: Any, mode: str, aligned: bool, antialias: bool) -> Any:
    dim = input.dim() - 2
    if mode in ("nearest", "nearest-exact", "area") and dim in (1, 2, 3):
        if mode == "area":
            return _aten(f"adaptive_avg_pool{dim}d")(input, sizes)
        return _aten(f"{'upsample_nearest' if mode == 'nearest' else '_upsample_nearest_exact'}{dim}d")(
            input, sizes, *factors
        )
    if mode == "lanczos" and input.dim() == 4:
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
        if aligned:
            raise ValueError("Lanczos mode does not support align_corners=True")
        return _aten("_upsample_lanczos2d_aa")(input, sizes, False, *factors)
    if mode in _LINEAR and dim in (1, 2, 3):
        wanted, name = _LINEAR[mode]
        if input.dim() != wanted:
            raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {wanted}D input")
        return _aten(f"_{name}_aa" if antialias else name)(input, sizes, aligned, *factors)
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: {' | '.join(_MODES)} "
        f"(got {mode})"
    )


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None
) -> Any:
    """The old name of interpolate."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """interpolate with the nearest values."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """interpolate linearly with aligned corners."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, "bilinear", True)


GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}
_ALIGN = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
    "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details."
)


def _aligned(align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(_ALIGN, stacklevel=3)
    return bool(align_corners)


def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Any:
    """Values of (N, C, *in) at places in [-1, 1]: grid (N, *out, spatial dims), fastest dim first."""
    if _overridden(input, grid):
        return _override(grid_sample, 2, input, grid)
    if mode not in GRID_SAMPLE_INTERPOLATION_MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in GRID_SAMPLE_PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    aligned = _aligned(align_corners)
    modes = GRID_SAMPLE_INTERPOLATION_MODES[mode], GRID_SAMPLE_PADDING_MODES[padding_mode]
    return _aten("grid_sampler")(input, grid, *modes, aligned)


def _check_affine(theta: Any, size: Any) -> None:
    """ValueError and NotImplementedError unless ``theta`` maps places of an output of ``size``."""
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    _, _, *out = size if len(size) in (4, 5) else (0, 0)
    if not out:
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {size}."
        )
    matrix = (len(out), len(out) + 1)
    if theta.shape[1:] != matrix:
        raise ValueError(
            f"Expected a batch of {matrix[0]}D affine matrices of shape Nx{matrix[0]}x{matrix[1]} for size {size}. "
            f"Got {theta.shape}."
        )
    if not all(n > 0 for n in size):
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")


def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    """A grid for grid_sample: affine maps (N, d, d + 1) of the places of an output of ``size`` (N, C, *out)."""
    if _overridden_one(theta):
        return _override(affine_grid, 2, theta)
    aligned = _aligned(align_corners)
    _check_affine(theta, size)
    if aligned and 1 in size[2:]:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not an "
            "intended use case of affine_grid. See the documentation of affine_grid for details.",
            stacklevel=2,
        )
    return _aten("affine_grid_generator")(theta, size, aligned)


def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """x / (k + alpha · mean of x² over ``size`` neighbouring channels)^beta."""
    if _overridden_one(input):
        return _override(local_response_norm, 2, input)
    if input.dim() < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.dim()} dimensions)"
        )
    if 0 in input.shape:
        return input
    batch, channels, *_ = input.shape
    # An image whose rows are the channels, whatever dims lie behind them.
    squares = (input * input).reshape(batch, 1, channels, -1)
    padded = _aten("constant_pad_nd")(squares, [0, 0, size // 2, (size - 1) // 2])
    mean = _aten("avg_pool2d")(padded, (size, 1), 1).reshape(input.shape)
    return input / (mean * alpha + k) ** beta


def functions() -> dict[str, Any]:
    """What nn.functional takes from here."""
    return {k: v for k, v in globals().items() if k[0] != "_" and callable(v) and k not in ("functions", "Any")} | {
        "GRID_SAMPLE_INTERPOLATION_MODES": GRID_SAMPLE_INTERPOLATION_MODES,
        "GRID_SAMPLE_PADDING_MODES": GRID_SAMPLE_PADDING_MODES,
    }
