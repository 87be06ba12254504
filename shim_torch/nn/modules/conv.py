"""Convolution layers."""

from __future__ import annotations

import math
from typing import Any

import shim_torch
from shim_torch._missing import asked_of as _asked_of
from shim_torch.nn import functional as F
from shim_torch.nn import init
from shim_torch.nn.modules.module import Module
from shim_torch.nn.modules.utils import _ntuple, _reverse_repeat_tuple
from shim_torch.nn.parameter import Parameter


class _ConvNd(Module):
    _dims = 0  # of a class that calls __init__ itself: as many as its kernel has

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
        self.weight = Parameter(shim_torch.empty(shape, dtype=dtype, device=device))
        made = Parameter(shim_torch.empty((out_channels,), dtype=dtype, device=device)) if bias else None
        self.register_parameter("bias", made)
        self.reset_parameters()

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
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * self._dims:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self._dims:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * self._dims:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        return text + ("" if self.padding_mode == "zeros" else f", padding_mode={self.padding_mode}")


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
        conv = getattr(F, f"conv{self._dims}d")
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self._dims
        return conv(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Any) -> Any:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Convolution of (N, C, L)."""

    _dims = 1


class Conv2d(_Conv):
    """Convolution of (N, C, H, W)."""

    _dims = 2


class Conv3d(_Conv):
    """Convolution of (N, C, D, H, W)."""

    _dims = 3


class _ConvTransposeNd(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            True,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Any, output_size: Any = None) -> Any:
        extra = self.output_padding if output_size is None else self._output_padding(input, list(output_size))
        conv = getattr(F, f"conv_transpose{self._dims}d")
        return conv(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)

    def _output_padding(self, input: Any, output_size: list[int]) -> tuple[int, ...]:
        wanted = output_size[-self._dims :]
        extra = []
        for i, size in enumerate(wanted):
            least = (input.size(input.dim() - self._dims + i) - 1) * self.stride[i] - 2 * self.padding[i]
            least += self.dilation[i] * (self.kernel_size[i] - 1) + 1
            if not least <= size <= least + self.stride[i] - 1:
                raise ValueError(f"requested an output size of {wanted}, but valid sizes start at {least} in dim {i}")
            extra.append(size - least)
        return tuple(extra)


class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution of (N, C, L)."""

    _dims = 1


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution of (N, C, H, W)."""

    _dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution of (N, C, D, H, W)."""

    _dims = 3

__getattr__ = _asked_of(__name__)
