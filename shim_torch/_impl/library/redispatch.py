"""``OpOverload.redispatch``: the kernel that a set of dispatch keys chooses."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.core_names.dispatch import DispatchKeySet
from shim_torch._impl.native import _core

_KERNEL_KEYS = ("AutogradCUDA", "AutogradCPU", "Autograd", "CUDA", "CPU", "Meta")  # highest first


def redispatch(overload: Any, keyset: Any, args: Any, kwargs: Any) -> Any:
    """Runs the kernel that Python registered for the highest key of ``keyset``, else the operator's own."""
    if not isinstance(keyset, DispatchKeySet):
        raise TypeError(f"redispatch(): argument 'keyset' must be DispatchKeySet, not {type(keyset).__name__}")
    name = overload._qualified_op_name
    kernels = _core.kernels_of(name, overload._overload) if not keyset.isdisjoint(_KERNEL_KEYS) else {}
    for key in _KERNEL_KEYS:
        if key in keyset and key in kernels:
            return kernels[key](*args, **kwargs)
    return _core._call_passing_over(name, overload, args, kwargs)
