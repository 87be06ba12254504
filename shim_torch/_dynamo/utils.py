"""``torch._dynamo.utils``: what libraries ask before they compile, and counts of what compiled functions did."""

from __future__ import annotations

import contextlib
import functools
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from shim_torch._logging import LazyString as LazyString

# Of compiled functions, since this module was imported (_impl/compile/calls.py): frames, stats, graph_break.
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


@contextlib.contextmanager
def disable_cache_limit() -> Iterator[None]:
    """Within it, functions may be compiled any number of times: ``torch._dynamo.config`` says so, nothing is compiled."""
    from shim_torch._dynamo import config

    settings: Any = config
    before = settings.recompile_limit, settings.accumulated_recompile_limit
    settings.recompile_limit = settings.accumulated_recompile_limit = sys.maxsize
    try:
        yield
    finally:
        settings.recompile_limit, settings.accumulated_recompile_limit = before


def is_compile_supported(device_type: Any) -> bool:
    """False: functions run as they are."""
    return False


@functools.cache
def warn_once(msg: str, stacklevel: int = 1) -> None:
    """A warning that is given once in a process."""
    warnings.warn(msg, stacklevel=stacklevel + 1)


def clone_input(x: Any, *, dtype: Any = None) -> Any:
    """A copy with the strides, the leaf's ``requires_grad`` and the gradient of ``x``."""
    import shim_torch

    with shim_torch.no_grad():
        y = x.clone() if dtype is None or dtype is x.dtype else x.to(dtype)
        if x.layout is shim_torch.strided and type(x) is shim_torch.Tensor and y.stride() != x.stride():
            y = shim_torch.empty_strided(x.shape, x.stride(), dtype=y.dtype, device=x.device).copy_(x)
        if x.is_leaf:
            y.requires_grad_(x.requires_grad)
            if x.grad is not None:
                y.grad = clone_input(x.grad, dtype=dtype)
    return y


def clone_inputs(example_inputs: Any) -> Any:
    """The same list or dict with its tensors copied."""
    import shim_torch

    def copied(value: Any) -> Any:
        if isinstance(value, tuple):
            return clone_inputs(value)
        return clone_input(value) if isinstance(value, shim_torch.Tensor) else value

    if type(example_inputs) is dict:
        return {key: copied(value) for key, value in example_inputs.items()}
    return [clone_input(v) if isinstance(v, shim_torch.Tensor) else v for v in example_inputs]
