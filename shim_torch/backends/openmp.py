"""``torch.backends.openmp``: threads of the CPU kernels."""

from __future__ import annotations

from shim_torch import _torch_names
from shim_torch._missing import asked_of as _asked_of


def is_available() -> bool:
    """Whether kernels use OpenMP: no, they have a thread pool of their own."""
    return False

__getattr__ = _asked_of(__name__)

_torch_names.present(globals())
