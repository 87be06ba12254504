"""Decompositions of operators that move, select and lay out elements, and of normalisations."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.transforms.decompositions.formulas import _NARROW, _torch, formula


def _dim(x: Any, dim: int) -> int:
    return dim % max(x.dim(), 1)


# --- elements -----------------------------------------------------------------------------------------------------------


@formula("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(self: Any, mask: Any, value: Any) -> Any:
    """``self`` with ``value`` where ``mask`` is true."""
    torch = _torch()
    filled = (
        value.to(self.dtype)
        if isinstance(value, _core.TensorBase)
        else torch.scalar_tensor(value, dtype=self.dtype, device=self.device)
    )
    return torch.where(mask, filled, self)


@formula("tril")
def tril(self: Any, diagonal: int = 0) -> Any:
    """The elements on and below the ``diagonal``-th diagonal; zero elsewhere."""
    return _torch().where(_distance(self) <= diagonal, self, 0).contiguous()


@formula("triu")
def triu(self: Any, diagonal: int = 0) -> Any:
    """The elements on and above the ``diagonal``-th diagonal; zero elsewhere."""
    return _torch().where(_distance(self) >= diagonal, self, 0).contiguous()


def _distance(x: Any) -> Any:
    """Column minus row of each element."""
    torch = _torch()
    rows, columns = (torch.arange(n, device=x.device) for n in x.shape[-2:])
    return columns - rows.unsqueeze(-1)


@formula("roll")
def roll(self: Any, shifts: Any, dims: Any = ()) -> Any:
    """The elements moved along dims, those that leave at one end coming in at the other."""
    torch = _torch()
    steps = [shifts] if isinstance(shifts, int) else list(shifts)
    over = [dims] if isinstance(dims, int) else list(dims)
    if not over:
        return roll(self.flatten(), steps, [0]).view(self.shape)
    found = self
    for step, dim in zip(steps, over, strict=True):
        size = found.shape[dim]
        if size:
            found = found.index_select(dim, (torch.arange(size, device=self.device) - step) % size)
    return found if found is not self else self.clone(memory_format=_core.contiguous_format)


@formula("rot90")
def rot90(self: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    """The tensor turned ``k`` quarter turns in the plane of two dims."""
    first, second = dims
    turns = k % 4
    if turns == 1:
        return self.flip(second).transpose(first, second).clone(memory_format=_core.contiguous_format)
    if turns == 2:
        return self.flip(first, second)
    if turns == 3:
        return self.flip(first).transpose(first, second).clone(memory_format=_core.contiguous_format)
    return self.clone(memory_format=_core.contiguous_format)


@formula("take")
def take(self: Any, index: Any) -> Any:
    """The elements at flat indices."""
    return self.reshape(-1)[index]


def _first(x: Any) -> Any:
    return x.unsqueeze(0) if x.dim() == 0 else x


@formula("index_add")
def index_add(self: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """``self`` with ``alpha * source`` added to the slices at ``index`` along ``dim``."""
    x, d = _first(self), _dim(self, dim)
    added = source if alpha == 1 else source * alpha
    found = x.index_put((*[None] * d, _first(index)), added.to(x.dtype), accumulate=True)
    return found.squeeze(0) if self.dim() == 0 else found.contiguous()


@formula("index_copy")
def index_copy(self: Any, dim: int, index: Any, source: Any) -> Any:
    """``self`` with ``source`` in place of the slices at ``index`` along ``dim``."""
    x, d = _first(self), _dim(self, dim)
    found = x.index_put((*[None] * d, _first(index)), source)
    return found.squeeze(0) if self.dim() == 0 else found.contiguous()


def index_copy_(self: Any, dim: int, index: Any, source: Any) -> Any:
    """``index_copy`` in place; a source of one row is taken for every index."""
    return self.copy_(index_copy(self, dim, index, source))


@formula("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(self: Any, dim: int, index: Any, value: Any) -> Any:
    """``self`` with ``value`` in the slices at ``index`` along ``dim``."""
    torch = _torch()
    filled = (
        value.to(self.dtype)
        if isinstance(value, _core.TensorBase)
        else torch.scalar_tensor(value, dtype=self.dtype, device=self.device)
    )
    x, d = _first(self), _dim(self, dim)
    found = x.index_put((*[None] * d, _first(index)), filled)
    return found.squeeze(0) if self.dim() == 0 else found


@formula("isin.Tensor_Tensor")
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Whether each element is among the test elements."""
    same = (elements.unsqueeze(-1) == test_elements.reshape(-1)).any(-1)
    return same.logical_not() if invert else same


@formula("diag_embed")
def diag_embed(self: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The last dim along a diagonal of two new dims, zeros beside it."""
    torch = _torch()
    rank, side = self.dim() + 1, self.shape[-1] + abs(offset)
    first, second = dim1 % rank, dim2 % rank
    if first > second:
        first, second, offset = second, first, -offset
    rows = torch.arange(side, device=self.device)
    on = rows - rows.unsqueeze(-1) == offset
    padded = torch.nn.functional.pad(self, (offset, 0) if offset > 0 else (0, -offset))
    spread = torch.where(on, padded.unsqueeze(-2), 0)
    return spread.movedim((-2, -1), (first, second)).contiguous()


@formula("_unsafe_view")
def _unsafe_view(self: Any, size: Any) -> Any:
    return self.view(size)


@formula("unsafe_split.Tensor")
def unsafe_split(self: Any, split_size: int, dim: int = 0) -> Any:
    """Views of ``split_size`` along ``dim``."""
    return self.split(split_size, dim)


@formula("unsafe_split_with_sizes")
def unsafe_split_with_sizes(self: Any, split_sizes: Any, dim: int = 0) -> Any:
    """Views of the given sizes along ``dim``."""
    return self.split_with_sizes(split_sizes, dim)


@formula("im2col")
def im2col(self: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """Sliding blocks as columns: (N, C, H, W) -> (N, C·kernel, blocks)."""
    torch = _torch()
    batched = self.dim() == 4
    x = self if batched else self.unsqueeze(0)
    x = torch.nn.functional.pad(x, (padding[1], padding[1], padding[0], padding[0]))
    places = [_block_places(x, x.shape[2 + i], kernel_size[i], dilation[i], stride[i]) for i in (0, 1)]
    blocks = x[:, :, places[0].unsqueeze(-1).unsqueeze(-1), places[1]]  # (N, C, kh, h, kw, w)
    columns = blocks.permute(0, 1, 2, 4, 3, 5).reshape(x.shape[0], x.shape[1] * kernel_size[0] * kernel_size[1], -1)
    return columns if batched else columns.squeeze(0)


def _block_places(x: Any, size: int, kernel: int, dilation: int, stride: int) -> Any:
    torch = _torch()
    starts = torch.arange(0, size - dilation * (kernel - 1), stride, device=x.device)
    return starts + torch.arange(0, kernel * dilation, dilation, device=x.device).unsqueeze(-1)


@formula("col2im")
def col2im(self: Any, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """The adjoint of ``im2col``: sums overlapping blocks."""
    torch = _torch()
    batched = self.dim() == 3
    x = self if batched else self.unsqueeze(0)
    whole = [output_size[i] + 2 * padding[i] for i in (0, 1)]
    channels = x.shape[1] // (kernel_size[0] * kernel_size[1])
    image = x.new_zeros((x.shape[0], channels, *whole))
    places = [_block_places(x, whole[i], kernel_size[i], dilation[i], stride[i]) for i in (0, 1)]
    counts = [p.shape[1] for p in places]
    blocks = x.reshape(x.shape[0], channels, *kernel_size, *counts).permute(0, 1, 2, 4, 3, 5)
    index = (None, None, places[0].unsqueeze(-1).unsqueeze(-1), places[1])
    image = torch.ops.aten.index_put(image, index, blocks, True)
    inner = image[:, :, padding[0] : whole[0] - padding[0], padding[1] : whole[1] - padding[1]].contiguous()
    return inner if batched else inner.squeeze(0)


# --- normalisations -----------------------------------------------------------------------------------------------------


@formula("_softmax")
def _softmax(x: Any, dim: int, half_to_float: bool) -> Any:
    wide, back = _opmath(x), x.dtype if not half_to_float else _core.float32
    if not x.numel():
        return wide.exp().to(back)
    powers = (wide - wide.amax(dim, True)).exp()
    return (powers / powers.sum(dim, True)).to(back).contiguous()


@formula("_log_softmax")
def _log_softmax(x: Any, dim: int, half_to_float: bool) -> Any:
    wide, back = _opmath(x), x.dtype if not half_to_float else _core.float32
    if not x.numel():
        return wide.to(back)
    shifted = wide - wide.amax(dim, True)
    return (shifted - shifted.exp().sum(dim, True).log()).to(back).contiguous()


def _opmath(x: Any) -> Any:
    return x.float() if x.dtype in _NARROW else x


@formula("native_layer_norm")
def native_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """(result, mean, 1 / standard deviation) over the last dims."""
    x = _opmath(input)
    dims = list(range(x.dim() - len(normalized_shape), x.dim()))
    mean, rstd = _statistics(x, dims, eps)
    y = (x - mean) * rstd
    y = y if weight is None else y * weight
    y = y if bias is None else y + bias
    kept = (
        input.dtype
        if input.device.type == "cpu" and not (weight is not None and weight.dtype != input.dtype)
        else x.dtype
    )
    return y.to(input.dtype), mean.to(kept), rstd.to(kept)


def _statistics(x: Any, dims: list[int], eps: float) -> tuple[Any, Any]:
    variance, mean = _torch().var_mean(x, dims, correction=0, keepdim=True)
    return mean, (variance + eps).rsqrt()


@formula("native_group_norm")
def native_group_norm(input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float) -> Any:
    """(result, mean, 1 / standard deviation) over the channels of each group."""
    x = _opmath(input).reshape(N, group, C // group * HxW)
    mean, rstd = _statistics(x, [2], eps)
    y = ((x - mean) * rstd).view(input.shape)
    per_channel = [1, -1, *[1] * (input.dim() - 2)]
    y = y if weight is None else y * weight.reshape(per_channel)
    y = y if bias is None else y + bias.reshape(per_channel)
    kept = input.dtype
    return y.to(input.dtype), mean.squeeze(2).to(kept), rstd.squeeze(2).to(kept)


@formula("linalg_vector_norm")
def linalg_vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The ``ord``-norm over ``dim``, or over all elements."""
    torch = _torch()
    over = list(range(x.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim) or list(range(x.dim()))
    y = _opmath(x if dtype is None else x.to(dtype))
    back = dtype if dtype is not None and not dtype.is_complex else (x if dtype is None else y).abs().dtype
    if ord == 0:
        return (y != 0).sum(over, keepdim).to(back)
    size = y.abs()
    if ord == math.inf:
        return size.amax(over, keepdim).to(back)
    if ord == -math.inf:
        return size.amin(over, keepdim).to(back)
    if not over:
        return size.to(back)
    return torch.pow(torch.pow(size, ord).sum(over, keepdim), 1 / ord).to(back)
