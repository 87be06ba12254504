"""Channels into pixels and back, and among themselves."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import sizes_text
from shim_torch._impl.table.calls import shim
from shim_torch._impl.table.record import composite, op


def _shuffled_shape(self: Any, factor: int, up: bool) -> tuple[int, ...]:
    *lead, c, h, w = self.shape
    r = factor
    return (*lead, c // (r * r), h * r, w * r) if up else (*lead, c * r * r, h // r, w // r)


@op(
    "shim::shuffle_pixels(Tensor self, int factor, bool up) -> Tensor",
    shape=_shuffled_shape,
    dtype=lambda self: self.dtype,
    native="shuffle_pixels",
    grad={"self": lambda g, factor, up: shim.shuffle_pixels(g, factor, not up)},
    function=False,
)
def shuffle_pixels(xp, self, factor, up):
    """``pixel_shuffle`` or, not ``up``, ``pixel_unshuffle``, of sizes that fit."""
    *lead, c, h, w = self.shape
    r, k = factor, len(lead)
    if up:
        parts = self.reshape(*lead, c // (r * r), r, r, h, w).transpose(*range(k + 1), k + 3, k + 1, k + 4, k + 2)
        return xp.ascontiguousarray(parts).reshape(*lead, c // (r * r), h * r, w * r)
    parts = self.reshape(*lead, c, h // r, r, w // r, r).transpose(*range(k + 1), k + 2, k + 4, k + 1, k + 3)
    return xp.ascontiguousarray(parts).reshape(*lead, c * r * r, h // r, w // r)


def _in_one_kernel(self: Any, r: int) -> bool:
    return (
        r in (2, 4)
        and self.is_cuda
        and _core.unseen_on_cuda(self)
        and 0 < self.numel() < 2**31
        and self.itemsize * r <= 16
    )


def _check_factor(name: str, self: Any, argument: str, factor: int) -> None:
    if self.dim() < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {self.dim()} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {argument}, but got {factor}")


@composite(
    "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
    gradient_name=True,
    out=True,
    method=False,
    follows=("self",),
)
def pixel_shuffle(self, upscale_factor):
    """(*, C · r², H, W) -> (*, C, H · r, W · r)."""
    r = upscale_factor
    _check_factor("pixel_shuffle", self, "upscale_factor", r)
    *lead, c, h, w = self.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={c} is not divisible by {r * r}"
        )
    if _in_one_kernel(self, r):
        return shim.shuffle_pixels(self, r, True)
    k = len(lead)
    x = self.reshape(*lead, c // (r * r), r, r, h, w).permute(*range(k + 1), k + 3, k + 1, k + 4, k + 2)
    return x.clone(memory_format=_core.contiguous_format).view(*lead, c // (r * r), h * r, w * r)


@composite(
    "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
    gradient_name=True,
    out=True,
    method=False,
    follows=("self",),
)
def pixel_unshuffle(self, downscale_factor):
    """The inverse of pixel_shuffle."""
    r = downscale_factor
    _check_factor("pixel_unshuffle", self, "downscale_factor", r)
    *lead, c, h, w = self.shape
    for name, d, size in (("height", -2, h), ("width", -1, w)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({d})={size} is not "
                f"divisible by {r}"
            )
    if _in_one_kernel(self, r):
        return shim.shuffle_pixels(self, r, False)
    k = len(lead)
    x = self.reshape(*lead, c, h // r, r, w // r, r).permute(*range(k + 1), k + 2, k + 4, k + 1, k + 3)
    return x.clone(memory_format=_core.contiguous_format).view(*lead, c * r * r, h // r, w // r)


@composite(
    "native_channel_shuffle(Tensor self, SymInt groups) -> Tensor",
    gradient_name="NativeChannelShuffleBackward0",
    method=False,
)
def native_channel_shuffle(self, groups):
    """Channels dealt out of their groups in turn."""
    return channel_shuffle(self, groups)


@composite(
    "channel_shuffle(Tensor self, SymInt groups) -> Tensor",
    gradient_name=True,
    out=True,
    method=False,
    follows=("self",),
)
def channel_shuffle(self, groups):
    """Channels dealt out of their groups in turn."""
    if self.dim() < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {sizes_text(self.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    c = self.shape[1]
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    if _core.suggest_memory_format(self) == _core.channels_last:
        n, _, h, w = self.shape
        x = self.permute(0, 2, 3, 1).reshape(n, h, w, groups, c // groups).transpose(3, 4)
        return x.clone(memory_format=_core.contiguous_format).view(n, h, w, c).permute(0, 3, 1, 2)
    x = self.reshape(self.shape[0], groups, c // groups, *self.shape[2:]).transpose(1, 2)
    return x.clone(memory_format=_core.contiguous_format).view(self.shape)
