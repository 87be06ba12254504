"""``torch.sparse._triton_ops``: block-sparse kernels, by name."""

from __future__ import annotations

from shim_torch._not_built import NO_SPARSE_KERNELS, declare

__getattr__ = declare(
    globals(),
    NO_SPARSE_KERNELS,
    """
    bsr_dense_addmm bsr_dense_mm bsr_scatter_mm scatter_mm sampled_addmm broadcast_batch_dims
    bsr_scatter_mm_indices_data bsr_softmax minimize tile_to_blocksize
    """,
)
