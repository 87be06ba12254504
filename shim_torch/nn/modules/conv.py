"""Convolution layers."""

from __future__ import annotations

import warnings
from typing import Any

from shim_torch._impl.nn.modules.building import draw_by_fan_in, make_parameters, settings_beside
from shim_torch.nn import functional as F
from shim_torch.nn.modules.module import Module
from shim_torch.nn.modules.utils import _ntuple, _reverse_repeat_tuple

# By the number of spatial dims; looked up at each call, because libraries patch the functions.
_FUNCTIONS = ("", "conv1d", "conv2d", "conv3d")
_TRANSPOSED = ("", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")


class _ConvNd(Module):
    _dims = 0  # a subclass that calls __init__ itself: as many as its kernel has

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        transposed: bool,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        self._check_first(padding_mode)
        super().__init__()
        if not self._dims:
            self._dims = len(kernel_size)
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        modes = ("zeros", "reflect", "replicate", "circular")
        if padding_mode not in modes:
            raise ValueError(f"padding_mode must be one of {set(modes)}, but got padding_mode='{padding_mode}'")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}")
        tuple_of = _ntuple(self._dims)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = tuple_of(kernel_size), tuple_of(stride), tuple_of(dilation)
        self.padding = padding if isinstance(padding, str) else tuple_of(padding)
        if padding == "same" and any(s != 1 for s in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        self.transposed, self.output_padding, self.padding_mode = (
            transposed,
            tuple_of(output_padding),
            padding_mode,
        )
        self._reversed_padding_repeated_twice = self._paddings()
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        shape = (first, second // groups, *self.kernel_size)
        make_parameters(self, device, dtype, weight=shape, bias=(out_channels,) if bias else None)
        self.reset_parameters()

    def _check_first(self, padding_mode: str) -> None:
        """What a subclass refuses before all else."""

    def _paddings(self) -> list[int] | tuple[int, ...]:
        if self.padding == "valid":
            return [0] * (2 * self._dims)
        if self.padding == "same":
            pads: list[int] = []
            for d, k in reversed(list(zip(self.dilation, self.kernel_size, strict=True))):
                total = d * (k - 1)
                pads += [total // 2, total - total // 2]
            return pads
        return _reverse_repeat_tuple(self.padding, 2)

    def reset_parameters(self) -> None:
        """Draws weight and bias from U(-1/√fan_in, 1/√fan_in)."""
        draw_by_fan_in(self)

    def extra_repr(self) -> str:
        n = self._dims
        plain = {"padding": (0,) * n, "dilation": (1,) * n, "output_padding": (0,) * n, "groups": 1}
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
            + settings_beside(self, **plain)
            + ("" if self.bias is not None else ", bias=False")
            + settings_beside(self, padding_mode="zeros")
        )


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            False,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        zeros = self.padding_mode == "zeros"  # the only padding that the convolution does itself
        bordered = input if zeros else F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        settings = (self.stride, self.padding if zeros else 0, self.dilation, self.groups)
        return getattr(F, _FUNCTIONS[self._dims])(bordered, weight, bias, *settings)

    def forward(self, input: Any) -> Any:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Convolution of (N, C_in, L) or (C_in, L); weight (C_out, C_in / groups, kernel), bias (C_out,)."""

    _dims = 1


class Conv2d(_Conv):
    """Convolution of (N, C_in, H, W) or (C_in, H, W); weight (C_out, C_in / groups, kH, kW), bias (C_out,)."""

    _dims = 2


class Conv3d(_Conv):
    """Convolution of (N, C_in, D, H, W) or (C_in, D, H, W); weight (C_out, C_in / groups, kD, kH, kW)."""

    _dims = 3


class _ConvTransposeNd(_ConvNd):
    def _check_first(self, padding_mode: str) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')

    def forward(self, input: Any, output_size: Any = None) -> Any:
        extra = self.output_padding
        if output_size is not None:
            extra = self._output_padding(
                input, output_size, self.stride, self.padding, self.kernel_size, self._dims, self.dilation
            )
        settings = (self.stride, self.padding, extra, self.groups, self.dilation)
        return getattr(F, _TRANSPOSED[self._dims])(input, self.weight, self.bias, *settings)

    def _output_padding(
        self, input: Any, output_size: Any, stride: Any, padding: Any, kernel_size: Any, num_spatial_dims: int,
        dilation: Any = None,
    ) -> Any:  # fmt: skip
        """``output_size`` (with or without batch and channels) less the smallest output size, dim by dim."""
        if output_size is None:
            return _ntuple(num_spatial_dims)(self.output_padding)
        around = input.dim() - num_spatial_dims
        if len(output_size) not in (num_spatial_dims, num_spatial_dims + around):
            raise ValueError(
                f"ConvTranspose{num_spatial_dims}D: for {input.dim()}D input, output_size must have {num_spatial_dims} "
                f"or {num_spatial_dims + around} elements (got {len(output_size)})"
            )
        wanted, sizes = list(output_size[-num_spatial_dims:]), input.size()[around:]
        apart = (1,) * num_spatial_dims if dilation is None else dilation
        each = zip(sizes, stride, padding, kernel_size, apart, strict=True)
        least = [(n - 1) * step - 2 * pad + gap * (kernel - 1) + 1 for n, step, pad, kernel, gap in each]
        most = [low + step - 1 for low, step in zip(least, stride, strict=True)]
        if any(not low <= n <= high for low, n, high in zip(least, wanted, most, strict=True)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to {most} "
                f"(for an input of {sizes})"
            )
        return [n - low for n, low in zip(wanted, least, strict=True)]


class _ConvTranspose(_ConvTransposeNd):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, True, output_padding, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution of (N, C_in, L) or (C_in, L); weight (C_in, C_out / groups, kernel), bias (C_out,)."""

    _dims = 1


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution of (N, C_in, H, W) or (C_in, H, W); weight (C_in, C_out / groups, kH, kW)."""

    _dims = 2


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution of (N, C_in, D, H, W) or (C_in, D, H, W); weight (C_in, C_out / groups, kD, kH, kW)."""

    _dims = 3


class _ConvTransposeMixin(_ConvTransposeNd):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        text = "`_ConvTransposeMixin` is a deprecated internal class. Please consider using public APIs."
        warnings.warn(text, FutureWarning, stacklevel=2)
        super().__init__(*args, **kwargs)
