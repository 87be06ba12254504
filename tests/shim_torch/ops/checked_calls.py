"""Calls whose kernels, histories and values are looked at."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

import shim_torch as torch
from shim_torch._impl.native import _core

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
_KERNELS = {k for k, r in sys.modules["shim_torch._impl.table.operators"].records().items() if r.kind == "kernel"}
LIMIT = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-5, "float64": 1e-12}


def drawn(shape: Any, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(1).standard_normal(shape).astype(dtype)


def natively(call: Callable[[], Any]) -> Any:
    """The call's result; fails if a NumPy body ran for it."""
    before = {k: v[0] for k, v in _core.operator_counts().items()}
    result = call()
    ran = {k for k, v in _core.operator_counts().items() if v[0] != before.get(k, 0) and k in _KERNELS}
    assert not ran, f"{ran} ran their bodies"
    return result


def numpy(t: Any) -> Any:
    return _core.to_numpy(t)


def close(actual: Any, expected: Any, dtype: Any) -> None:
    """Within what numbers of that dtype hold; ``expected`` is in double."""
    limit = LIMIT[np.dtype(dtype).name]
    assert actual.dtype == torch.from_numpy(np.zeros(1, dtype)).dtype
    np.testing.assert_allclose(numpy(actual).astype(np.float64), expected, rtol=limit, atol=limit)


def both(f: Callable[..., Any], *tensors: Any) -> Any:
    """``f`` without and with a history."""
    plain = f(*tensors)
    kept = f(*(t.clone().requires_grad_() for t in tensors)).detach()
    assert plain.shape == kept.shape and plain.dtype == kept.dtype and plain.stride() == kept.stride()
    assert np.allclose(plain.numpy(), kept.numpy(), rtol=1e-5, atol=1e-6, equal_nan=True)
    return plain
