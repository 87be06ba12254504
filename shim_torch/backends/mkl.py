"""``torch.backends.mkl``: whether products run on Intel's library."""

from __future__ import annotations

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available() -> bool:
    """Whether NumPy's products run on MKL."""
    import contextlib

    import numpy as np

    with contextlib.suppress(Exception):
        found = np.show_config(mode="dicts")
        return "mkl" in str(found["Build Dependencies"]["blas"]["name"]).lower()
    return False
