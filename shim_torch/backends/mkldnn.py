"""``torch.backends.mkldnn``: settings of oneDNN, which shim-torch doesn't use; they are kept and readable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shim_torch._impl.backends import precision
from shim_torch._impl.backends.flags import has_settings as _has_settings

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2


def is_available() -> bool:
    """Whether oneDNN is used: no."""
    return False


class _Settings(dict[str, Any]):
    """The settings; the precision that is set here is that of all backends, as in PyTorch."""

    def __getitem__(self, name: str) -> Any:
        return precision.read("mkldnn", "all") if name == "fp32_precision" else super().__getitem__(name)

    def __setitem__(self, name: str, value: Any) -> None:
        if name == "fp32_precision":
            precision.write("generic", "all", value)
        else:
            super().__setitem__(name, value)


_settings = _Settings(enabled=True, deterministic=False, allow_tf32=True, fp32_precision="none")
conv, rnn, matmul = (precision._FP32Precision("mkldnn", part) for part in ("conv", "rnn", "matmul"))


def set_flags(
    _enabled: bool | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str | None = "none",
) -> tuple[Any, ...]:
    """Sets what is not None; the old values of all."""
    old = tuple(_settings[name] for name in _settings)
    for name, value in zip(tuple(_settings), (_enabled, _deterministic, _allow_tf32, _fp32_precision), strict=True):
        if value is not None:
            _settings[name] = value
    return old


@contextmanager
def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, fp32_precision: str = "none"
) -> Iterator[None]:
    """All settings within a ``with`` block: those that are not given, too, as these defaults say."""
    old = set_flags(enabled, deterministic, allow_tf32, fp32_precision)
    try:
        yield
    finally:
        set_flags(*old)


_has_settings(__name__)
