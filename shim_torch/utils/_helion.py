"""``torch.utils._helion``: whether Helion is installed and can run."""

from __future__ import annotations

from functools import cache

from shim_torch.utils._import_utils import _check_module_exists
from shim_torch.utils._triton import has_triton


@cache
def has_helion_package() -> bool:
    """Whether Helion is installed."""
    return _check_module_exists("helion")


@cache
def has_helion() -> bool:
    """Whether Helion is installed, and Triton with a GPU for it."""
    return has_helion_package() and has_triton()
