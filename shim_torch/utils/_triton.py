"""``torch.utils._triton``: what the installed Triton can do."""

from __future__ import annotations

from functools import cache
from importlib import metadata, util

from shim_torch._impl.native import _core


@cache
def get_triton_version(fallback: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    """(major, minor) of the installed Triton."""
    for name in ("triton", "pytorch-triton", "triton-windows"):
        try:
            major, minor = metadata.version(name).split(".")[:2]
        except (metadata.PackageNotFoundError, ValueError):
            continue
        return int(major), int(minor)
    return fallback


@cache
def has_triton_package() -> bool:
    """Whether ``import triton`` finds something."""
    return util.find_spec("triton") is not None


@cache
def has_triton() -> bool:
    """Whether Triton is installed and there is a GPU for it."""
    return has_triton_package() and _core.cuda_device_count() > 0


def _device_supports_tma() -> bool:
    return _core.cuda_device_count() > 0 and _core.cuda_device_attribute(75, 0) >= 9  # compute capability, major


@cache
def has_triton_experimental_host_tma() -> bool:
    """Whether this Triton (before 3.4) and GPU have the experimental TMA descriptors made on the host."""
    return has_triton_package() and _device_supports_tma() and get_triton_version() < (3, 4)


@cache
def has_triton_tensor_descriptor_host_tma() -> bool:
    """Whether this Triton (3.3 or later) and GPU have TMA tensor descriptors made on the host."""
    return has_triton_package() and _device_supports_tma() and get_triton_version() >= (3, 3)


def has_triton_tma() -> bool:
    """Whether either kind of TMA descriptor can be used."""
    return has_triton_tensor_descriptor_host_tma() or has_triton_experimental_host_tma()


def has_triton_stable_tma_api() -> bool:
    """Whether this Triton (3.4 or later) and GPU have ``tl.make_tensor_descriptor``."""
    return has_triton_package() and _device_supports_tma() and get_triton_version() >= (3, 4)


has_triton_tma_device = has_triton_stable_tma_api


def has_datacenter_blackwell_tma_device() -> bool:
    """Whether TMA can be used and the GPU has compute capability 10."""
    return has_triton_stable_tma_api() and _core.cuda_device_attribute(75, 0) == 10


@cache
def triton_backend() -> object:
    """Triton's backend for the current target."""
    from importlib import import_module

    compiler, driver = import_module("triton.compiler.compiler"), import_module("triton.runtime.driver")
    return compiler.make_backend(driver.driver.active.get_current_target())


@cache
def triton_hash_with_backend() -> str:
    """A hash of the installed Triton and its backend."""
    import hashlib
    from importlib import import_module

    key = f"{import_module('triton.compiler.compiler').triton_key()}-{triton_backend().hash()}"  # type: ignore[attr-defined]
    return hashlib.sha256(key.encode()).hexdigest().upper()
