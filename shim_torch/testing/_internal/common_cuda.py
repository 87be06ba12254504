"""``torch.testing._internal.common_cuda``: which GPU there is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import shim_torch
from shim_torch._impl.testing.flags import TEST_CUDA, TEST_MULTIGPU

__all__ = [
    "CUDA_DEVICE",
    "SM53OrLater",
    "SM60OrLater",
    "SM70OrLater",
    "SM75OrLater",
    "SM80OrLater",
    "SM89OrLater",
    "SM90OrLater",
    "SM100OrLater",
    "TEST_CUDA",
    "TEST_CUDNN",
    "TEST_MULTIGPU",
    "tf32_off",
]

TEST_CUDNN = False
CUDA_DEVICE = shim_torch.device("cuda:0") if TEST_CUDA else None


def _at_least(major: int, minor: int) -> bool:
    return TEST_CUDA and shim_torch.cuda.get_device_capability() >= (major, minor)


SM53OrLater, SM60OrLater, SM70OrLater, SM75OrLater = (_at_least(*v) for v in ((5, 3), (6, 0), (7, 0), (7, 5)))
SM80OrLater, SM89OrLater, SM90OrLater, SM100OrLater = (_at_least(*v) for v in ((8, 0), (8, 9), (9, 0), (10, 0)))


@contextmanager
def tf32_off() -> Iterator[None]:
    """Within, or in the function that it decorates, products and convolutions of float32 are not rounded to TF32."""
    matmul, cudnn = shim_torch.backends.cuda.matmul, shim_torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    try:
        matmul.allow_tf32, cudnn.allow_tf32 = False, False
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before
