"""Which way a convolution would be computed: ``torch._C._select_conv_backend`` and the names it answers with.

PyTorch asks libraries by shapes and settings; the names say which. Here every convolution on the CPU is computed by one
routine, so the answer names the routine of PyTorch that does the same without oneDNN and NNPACK, which are not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any


class _ConvBackend(IntEnum):
    """The ways to compute a convolution, by PyTorch's numbers."""

    CudaDepthwise2d = 0
    CudaDepthwise3d = 1
    Cudnn = 2
    CudnnTranspose = 3
    Empty = 4
    Miopen = 5
    MiopenDepthwise = 6
    MiopenTranspose = 7
    Mkldnn = 8
    MkldnnEmpty = 10
    NnpackSpatial = 11
    Overrideable = 12
    Slow2d = 13
    Slow3d = 14
    SlowDilated2d = 15
    SlowDilated3d = 16
    SlowTranspose2d = 17
    SlowTranspose3d = 18
    Winograd3x3Depthwise = 19
    Xnnpack2d = 20
    Mps = 21

    def __repr__(self) -> str:
        return f"<_ConvBackend.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"_ConvBackend.{self.name}"


_ConvBackend.__module__ = "torch._C"


def _cuda_backend(input: Any, weight: Any, dilation: Sequence[int], transposed: bool, groups: int) -> _ConvBackend:
    from shim_torch.backends import cudnn

    depthwise = not transposed and input.shape[1] == groups != 1 and weight.shape[0] % groups == 0
    if cudnn.is_available() and cudnn.enabled:  # type: ignore[attr-defined]
        return _ConvBackend.CudnnTranspose if transposed else _ConvBackend.Cudnn
    if depthwise:
        return _ConvBackend.CudaDepthwise2d if input.dim() < 5 else _ConvBackend.CudaDepthwise3d
    return _slow_backend(input.dim() - 2, dilation, transposed)


def _slow_backend(dims: int, dilation: Sequence[int], transposed: bool) -> _ConvBackend:
    kind = "Transpose" if transposed else "Dilated" if any(d != 1 for d in dilation) else ""
    return _ConvBackend[f"Slow{kind}{3 if dims == 3 else 2}d"]


def _select_conv_backend(
    input: Any, weight: Any, bias: Any, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
    transposed: bool, output_padding: Sequence[int], groups: int, bias_sizes: Sequence[int] | None = None,
) -> _ConvBackend:  # fmt: skip
    """The way a convolution of these arguments is computed.

    ``input`` is ``(N, C, *size)`` of one to three dims. An input or weight without elements is ``Empty``. RuntimeError for
    arguments that no convolution takes, in PyTorch's words.
    """
    from shim_torch._impl.records.shared.convolution_rules import convolution_shape

    shape = convolution_shape(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    if input.shape[0] == 0 or input.shape[1] == 0 or not weight.numel():
        return _ConvBackend.Empty
    if any(n <= 0 for n in shape[2:]):
        raise RuntimeError("Output size is too small")
    if input.device.type == "cuda":
        return _cuda_backend(input, weight, dilation, transposed, groups)
    return _slow_backend(input.dim() - 2, dilation, transposed)
