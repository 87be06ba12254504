"""``torch.utils._pallas``: whether JAX's kernel language can be used. Kernels of it are not run here."""

from __future__ import annotations

from functools import cache

from shim_torch.utils._import_utils import _check_module_exists


@cache
def has_jax_package() -> bool:
    """Whether JAX is installed."""
    return _check_module_exists("jax")


@cache
def has_pallas_package() -> bool:
    """Whether JAX with Pallas is installed."""
    if not has_jax_package():
        return False
    try:
        from importlib.util import find_spec

        return find_spec("jax.experimental.pallas") is not None
    except ImportError:
        return False


def _no_backend() -> bool:
    """False: no compiler here makes Pallas kernels."""
    return False


has_cpu_pallas = has_cuda_pallas = has_tpu_pallas = has_pallas = has_torch_tpu = _no_backend
