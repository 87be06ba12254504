"""What bags of embeddings and their kernels share."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core


def end_heeded(dtype: Any, last: bool, padding: int, mode: int) -> bool:
    """Whether the offset of the end ends the last bag: PyTorch's fast sums heed it, all else goes to the end of the indices."""
    return last and padding < 0 and mode < 2 and dtype not in (_core.float64, "float64")


BY_SAMPLES = "_embedding_bag_per_sample_weights_backward"
