"""``torch.backends.openmp``: threads of the CPU kernels."""

from __future__ import annotations


def is_available() -> bool:
    """Whether kernels use OpenMP: no, they have a thread pool of their own."""
    return False
