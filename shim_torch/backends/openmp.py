"""``torch.backends.openmp``: threads of the CPU kernels."""

from __future__ import annotations

from shim_torch._impl.surface import naming
from shim_torch._impl.surface.missing import asked_of as _asked_of


def is_available() -> bool:
    """Whether kernels use OpenMP: no, they have a thread pool of their own."""
    return False

__getattr__ = _asked_of(__name__)

naming.present(globals())
