"""``torch.sparse._triton_ops``: what block-sparse Triton kernels are launched with, for libraries that bring the kernels.

torchao's ``bsr_dense_addmm`` is made of these. PyTorch's own kernels are not here: their names say so when they are called.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import shim_torch as torch
from shim_torch._impl.surface.not_built import NO_SPARSE_KERNELS, declare

_CUDA_MAX_GRID = (65535, 65535, 2147483647)  # slowest axis first, as grids are given here


def make_triton_contiguous(t: Any) -> Any:
    """The tensor itself if one of its strides is 0 or 1, a contiguous copy otherwise."""
    return t.contiguous() if min(t.stride()) > 1 else t


def broadcast_batch_dims(f_name: str, *tensors: Any) -> torch.Size:
    """The shape that the tensors' dimensions before the last two broadcast to; ValueError if they do not."""
    try:
        return torch.broadcast_shapes(*(t.shape[:-2] for t in tensors))
    except RuntimeError:
        raise ValueError(f"{f_name}(): inputs' batch dimensions are not broadcastable!") from None


def broadcast_batch_dims_bsr(f_name: str, bsr: Any, *tensors: Any) -> Any:
    """A block-sparse tensor expanded to the batch dimensions that it and the tensors broadcast to."""
    batch = tuple(broadcast_batch_dims(f_name, bsr, *tensors))
    values = bsr.values()
    return torch.sparse_compressed_tensor(
        bsr.crow_indices().broadcast_to((*batch, -1)),
        bsr.col_indices().broadcast_to((*batch, -1)),
        values.broadcast_to(batch + tuple(values.shape[-3:])),
        size=batch + tuple(bsr.shape[-2:]),
        layout=bsr.layout,
    )


def prepare_inputs(bsr: Any, *dense_tensors: Any) -> tuple[Any, ...]:
    """Row pointers, columns, values and the dense tensors, each with the one batch dimension of them all together.

    A dense tensor stays a view where its layout allows; row pointers and columns become (batch, n), values (batch, nnz, m, k).
    """
    parts = [bsr.crow_indices(), bsr.col_indices(), *map(make_triton_contiguous, (bsr.values(), *dense_tensors))]
    own_dims = (1, 1, 3, *[2] * len(dense_tensors))  # besides those of the batch
    cuts = [(t, t.dim() - own) for t, own in zip(parts, own_dims, strict=True)]
    batch = tuple(torch.broadcast_shapes((1,), *(t.shape[:cut] for t, cut in cuts[2:])))
    return tuple(t.expand(batch + tuple(t.shape[cut:])).flatten(0, len(batch) - 1) for t, cut in cuts)


def tile_to_blocksize(t: Any, blocksize: Sequence[int]) -> Any:
    """The view of (*, m, n) as blocks: (*, m / b0, n / b1, b0, b1)."""
    *rest, m, n = t.shape
    rows, columns = blocksize
    return t.view(*rest, m // rows, rows, n // columns, columns).transpose(-3, -2)


def as1Dbatch(tensor: Any) -> Any:
    """The tensor with three dimensions: new ones in front, or all but the last two flattened."""
    while tensor.ndim < 3:
        tensor = tensor.unsqueeze(0)
    return tensor.flatten(0, tensor.ndim - 3)


def ptr_stride_extractor(*tensors: Any) -> Iterator[Any]:
    """Each tensor followed by its strides, as the kernels take them."""
    for t in tensors:
        yield t
        yield from t.stride()


def grid_partitioner(
    full_grid: Sequence[int], grid_blocks: Sequence[int], tensor_dims_map: dict[Any, tuple[int | None, ...]]
) -> Iterator[tuple[Any, ...]]:
    """``(grid, *tensors)`` for each part of the grid: its sizes, fastest axis first, and the tensors cut down to it."""
    for start in itertools.product(*(range(0, size, step) for size, step in zip(full_grid, grid_blocks, strict=False))):
        sizes = [min(size - at, step) for size, at, step in zip(full_grid, start, grid_blocks, strict=False)]
        cut = []
        for t, dims in tensor_dims_map.items():
            for dim, at, size in zip(dims, start, sizes, strict=False):
                t = t if dim is None else t.narrow(dim, min(at, t.size(dim)), max(0, min(size, t.size(dim) - at)))
            cut.append(t)
        yield sizes[::-1], *cut


def launch_kernel(
    kernel: Callable[..., Any],
    tensor_dims_map: dict[Any, tuple[int | None, ...]],
    full_grid: Sequence[int],
    grid_blocks: Sequence[int | None] | None = None,
) -> None:
    """Calls ``kernel(grid, *tensors)`` for parts of a grid that are no larger than CUDA allows, or than ``grid_blocks`` says.

    ``full_grid`` has its slowest axis first. ``tensor_dims_map`` tells which dimension of a tensor runs along each axis.
    """
    wanted = _CUDA_MAX_GRID if grid_blocks is None else grid_blocks
    limits = zip(wanted, _CUDA_MAX_GRID, strict=False)
    steps = [most if step is None else min(max(step, 1), most) for step, most in limits]
    for part in grid_partitioner(full_grid, steps, tensor_dims_map):
        kernel(*part)


declare(
    globals(),
    NO_SPARSE_KERNELS,
    "bsr_dense_addmm bsr_dense_mm bsr_scatter_mm scatter_mm sampled_addmm bsr_scatter_mm_indices_data bsr_softmax minimize",
)
