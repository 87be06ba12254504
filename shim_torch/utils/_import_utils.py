"""``torch.utils._import_utils``: whether optional libraries are there, without importing them."""

from __future__ import annotations

import functools
import importlib.util
from types import ModuleType


def _check_module_exists(name: str) -> bool:
    """Whether a top-level module of that name can be found; it is not imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


@functools.lru_cache
def dill_available() -> bool:
    """Whether the package ``dill`` can be imported."""
    return _check_module_exists("dill")


@functools.lru_cache
def import_dill() -> ModuleType | None:
    """``dill``, without its changes to the standard pickler; None where it is not installed."""
    if not dill_available():
        return None
    import dill

    dill.extend(use_dill=False)
    return dill  # type: ignore[no-any-return]
