"""``torch.backends.cudnn``: settings of a library that shim-torch doesn't use; they are kept and readable."""

from __future__ import annotations

from typing import Any

from shim_torch._missing import asked_of as _asked_of
from shim_torch.backends._flags import has_settings

CUDNN_TENSOR_DTYPES: set[Any] = set()


def is_available() -> bool:
    """Whether cuDNN is used: no."""
    return False


def version() -> int | None:
    """cuDNN's version: None without it."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN would take the tensor: no."""
    return False


_settings: dict[str, Any] = {
    "enabled": True,
    "benchmark": False,
    "benchmark_limit": 10,
    "deterministic": False,
    "allow_tf32": True,
    "fp32_precision": "none",
}
has_settings(__name__)

__getattr__ = _asked_of(__name__)
