"""Windows as columns and back: im2col, col2im."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.arrays.windows import add_windows, padded, windows
from shim_torch._impl.records.shared.formulas import sizes_text
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import op


def _im2col_shape(self, kernel_size, dilation, padding, stride):
    _pairs(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    if self.dim() < 3:
        self.size(1), self.size(2)  # an IndexError
    if self.dim() not in (3, 4) or any(n == 0 for n in self.shape[1 if self.dim() == 4 else 0 :]):
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: "
            + sizes_text(self.shape)
        )
    _checked(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    out = _column_grid(self.shape[-2:], kernel_size, dilation, padding, stride)
    if min(out) < 1:
        sizes = [f"({a}, {b})" for a, b in (self.shape[-2:], kernel_size, dilation, padding, out)]
        raise RuntimeError(
            f"Given input with spatial size {sizes[0]}, kernel_size={sizes[1]}, dilation={sizes[2]}, padding={sizes[3]}, "
            f"calculated shape of the array of sliding blocks as {sizes[4]}, but its components must be at least one."
        )
    return (*self.shape[:-3], self.shape[-3] * kernel_size[0] * kernel_size[1], out[0] * out[1])


def _pairs(**settings: Any) -> None:
    for name, given in settings.items():
        if len(given) != 2:
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(given)}")


def _checked(**settings: Any) -> None:
    """The first setting that is too small, in the order given, which is another for im2col and col2im."""
    for name, (a, b) in settings.items():
        if name == "padding" and min(a, b) < 0:
            raise RuntimeError(f"padding should be non-negative, but got pad_height: {a} pad_width: {b}")
        if name == "kernel_size" and min(a, b) <= 0:
            raise RuntimeError(f"kernel size should be greater than zero, but got kernel_height: {a} kernel_width: {b}")
        if name in ("stride", "dilation") and min(a, b) <= 0:
            raise RuntimeError(f"{name} should be greater than zero, but got {name}_height: {a} {name}_width: {b}")


def _column_grid(size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> tuple[int, int]:
    a, b = ((size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in (0, 1))
    return a, b


_SAME: dict[str, Any] = {"dtype": lambda self: self.dtype, "out": True, "method": False, "function": False}


@op("im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
    shape=_im2col_shape,
    native="im2col",
    grad={"self": lambda g, self_shape, kernel_size, dilation, padding, stride: torch.col2im(
        g, self_shape[-2:], kernel_size, dilation, padding, stride)}, **_SAME, refuses=(("i", "im2col_out_cpu"),))  # fmt: skip
def im2col(xp, self, kernel_size, dilation, padding, stride):
    """Windows of (*, C, H, W) as columns: (*, C · kernel, count)."""
    out = _column_grid(self.shape[-2:], kernel_size, dilation, padding, stride)
    view = windows(xp, padded(xp, self, padding), kernel_size, stride, dilation, out)
    lead = self.ndim - 2
    order = (*range(lead), lead + 2, lead + 3, lead, lead + 1)
    rows = self.shape[-3] * kernel_size[0] * kernel_size[1]
    return xp.array(view.transpose(order)).reshape(*self.shape[:-3], rows, out[0] * out[1])


def _col2im_shape(self, output_size, kernel_size, dilation, padding, stride):
    _pairs(output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    if self.dim() not in (2, 3) or any(n == 0 for n in self.shape[-2:]):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but got: "
            + sizes_text(self.shape)
        )
    _checked(kernel_size=kernel_size, stride=stride, dilation=dilation, padding=padding)
    area = kernel_size[0] * kernel_size[1]
    pair = f"({kernel_size[0]}, {kernel_size[1]})"
    if self.shape[-2] % area:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={self.shape[-2]} and kernel_size={pair}."
        )
    grid = _column_grid(output_size, kernel_size, dilation, padding, stride)
    if grid[0] * grid[1] != self.shape[-1] or min(grid) < 1:
        sizes = [f"({a}, {b})" for a, b in (output_size, dilation, padding, stride)]
        if min(grid) < 1:
            raise RuntimeError(
                f"Given output_size={sizes[0]}, kernel_size={pair}, dilation={sizes[1]}, padding={sizes[2]}, stride={sizes[3]}, "
                f"calculated shape of the array of sliding blocks as ({grid[0]}, {grid[1]}), which is too small (non-positive)"
            )
        raise RuntimeError(
            f"Given output_size={sizes[0]}, kernel_size={pair}, dilation={sizes[1]}, padding={sizes[2]}, stride={sizes[3]}, "
            f"expected size of input's dimension 2 to match the calculated number of sliding blocks {grid[0]} * {grid[1]} = "
            f"{grid[0] * grid[1]}, but got input.size(2)={self.shape[-1]}."
        )
    return (*self.shape[:-2], self.shape[-2] // area, *output_size)


@op("col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
    shape=_col2im_shape,
    native="col2im",
    grad={"self": lambda g, kernel_size, dilation, padding, stride: torch.im2col(
        g, kernel_size, dilation, padding, stride)}, **_SAME)  # fmt: skip
def col2im(xp, self, output_size, kernel_size, dilation, padding, stride):
    """Sums columns of windows back into an image: the adjoint of im2col."""
    grid = _column_grid(output_size, kernel_size, dilation, padding, stride)
    channels = self.shape[-2] // (kernel_size[0] * kernel_size[1])
    parts = self.reshape(*self.shape[:-2], channels, *kernel_size, *grid)
    n = parts.ndim
    parts = parts.transpose(*range(n - 4), n - 2, n - 1, n - 4, n - 3)
    return add_windows(xp, parts, output_size, stride, dilation, padding)
