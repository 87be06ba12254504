"""``torch.backends.cudnn``: what computes convolutions and recurrent layers on CUDA where it is installed.

Nothing here touches a GPU before it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shim_torch._impl.backends import precision
from shim_torch._impl.backends.flags import has_settings as _has_settings
from shim_torch._impl.native import _core

CUDNN_TENSOR_DTYPES: set[Any] = {_core.float16, _core.bfloat16, _core.float32, _core.float64}


def is_available() -> bool:
    """Whether there is a GPU and cuDNN 9 was found for it (``nvidia-cudnn``, or SHIM_CUDNN_PATH)."""
    return version() is not None


def version() -> int | None:
    """cuDNN's version (91002 for 9.10.2): None without it."""
    return _core.cudnn_version() or None


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN would take the tensor."""
    return bool(tensor.is_cuda and tensor.dtype in CUDNN_TENSOR_DTYPES and _settings["enabled"] and is_available())


class _Settings(dict[str, Any]):
    """The settings; those that kernels read are told to them, those of TF32 are kept where all backends' are."""

    def __getitem__(self, name: str) -> Any:
        if name == "allow_tf32":
            return precision.cudnn_allows_tf32()
        return precision.read("cuda", "all") if name == "fp32_precision" else super().__getitem__(name)

    def __setitem__(self, name: str, value: Any) -> None:
        if name == "allow_tf32":
            precision.set_cudnn_tf32(value)
        elif name == "fp32_precision":
            precision.write("cuda", "all", value)
        else:
            super().__setitem__(name, value)
            if name in ("enabled", "deterministic"):
                _core.cudnn_setting(name, bool(value))


_settings = _Settings(
    enabled=True, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True, fp32_precision="none"
)
conv, rnn = precision._FP32Precision("cuda", "conv"), precision._FP32Precision("cuda", "rnn")


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str | None = "none",
) -> tuple[Any, ...]:
    """Sets what is not None; the old values of all."""
    values = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32, _fp32_precision)
    old = tuple(_settings[name] for name in _settings)
    for name, value in zip(tuple(_settings), values, strict=True):
        if value is not None:
            _settings[name] = value
    return old


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """All settings within a ``with`` block: those that are not given, too, as these defaults say."""
    old = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision)
    try:
        yield
    finally:
        set_flags(*old)


_has_settings(__name__)
