"""``torch.backends.cudnn``: what computes convolutions on CUDA where it is installed. Nothing here touches a GPU before it is asked for."""

from __future__ import annotations

from typing import Any

from native import _core
from shim_torch._missing import asked_of as _asked_of
from shim_torch.backends._flags import has_settings

CUDNN_TENSOR_DTYPES: set[Any] = {_core.float16, _core.bfloat16, _core.float32, _core.float64}


def is_available() -> bool:
    """Whether there is a GPU and cuDNN 9 was found for it (``nvidia-cudnn``, or SHIM_CUDNN_PATH)."""
    return version() is not None


def version() -> int | None:
    """cuDNN's version (91002 for 9.10.2): None without it."""
    return _core.cudnn_setting("version") or None


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN would take the tensor."""
    return bool(tensor.is_cuda and tensor.dtype in CUDNN_TENSOR_DTYPES and _settings["enabled"] and is_available())


class _Settings(dict[str, Any]):
    """The settings; those that kernels read are told to them."""

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        if name in ("enabled", "allow_tf32", "deterministic"):
            _core.cudnn_setting(name, bool(value))

    def update(self, *args: Any, **kwargs: Any) -> None:
        for name, value in dict(*args, **kwargs).items():
            self[name] = value


_settings = _Settings(
    enabled=True, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True, fp32_precision="none"
)
has_settings(__name__)

__getattr__ = _asked_of(__name__)
