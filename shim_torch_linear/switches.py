"""The switch to unfused linear layers, and the list of the matrix products that cuBLASLt was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shim_torch._impl.native import _core


@contextmanager
def legacy_linear(enabled: bool = True) -> Iterator[None]:
    """Context in which linear layers run as separate products, sums and activations, on this thread.

    The result is bit for bit that of ``matmul(x, weight.t()) + bias``. Contexts may be nested.
    ``legacy_linear(False)`` overrides the process' switch and the environment's.
    """
    before = _core.gemm_set_legacy_linear(1 if enabled else 0)
    try:
        yield
    finally:
        _core.gemm_set_legacy_linear(before)


def set_legacy_linear(enabled: bool | None) -> bool | None:
    """Sets it for all threads that are in no ``legacy_linear`` context; None leaves it to the environment.

    Returns the previous setting. The environment's is ``SHIM_LEGACY_LINEAR=1`` or else ``FLAGS_use_legacy_linear=1``;
    0, false, no and off mean no. It is read once.
    """
    before = _core.gemm_set_process_legacy_linear(-1 if enabled is None else 1 if enabled else 0)
    return None if before < 0 else bool(before)


def is_legacy_linear() -> bool:
    """Whether linear layers are unfused on this thread."""
    return _core.gemm_legacy_linear()


def gemm_problems() -> list[dict[str, Any]]:
    """The matrix products that cuBLASLt was asked for so far, each once, with the algorithm chosen for it.

    m, n, k and batch are column-major; dtype and transposed ("TN") are those of the operands, result is the result's dtype.
    Empty without a GPU.
    """
    return _core.gemm_plans()
