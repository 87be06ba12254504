"""``torch._inductor.runtime.benchmarking``: how long functions take."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any


def _median(once: Callable[[], float], warmup: float, rep: float) -> float:
    """The median of what ``once`` measures (ms), called until its times add up to ``rep``; those of the warm-up do not count."""
    times: list[float] = []
    spent = -warmup
    while spent < rep or not times:
        taken = once()
        if spent >= 0:
            times.append(taken)
        spent += max(taken, 1e-3)  # a time below the clock's resolution is no reason to go on for ever
    return median(times)


class Benchmarker:
    """Times functions, in milliseconds."""

    def benchmark(self, fn: Any, fn_args: Any = (), fn_kwargs: Any = None, device: Any = None, **kwargs: Any) -> float:
        """The time of ``fn(*fn_args, **fn_kwargs)`` on the device of its tensors."""
        from shim_torch._impl.native import _core
        from shim_torch.utils._pytree import tree_leaves

        found = tree_leaves((fn_args, fn_kwargs))
        on_gpu = any(isinstance(x, _core.TensorBase) and x.is_cuda for x in found) or "cuda" in str(device)
        return (self.benchmark_gpu if on_gpu else self.benchmark_cpu)(
            lambda: fn(*fn_args, **(fn_kwargs or {})), **kwargs
        )

    def benchmark_cpu(self, fn: Callable[[], Any], warmup: float = 20, rep: float = 100, **_: Any) -> float:
        """The median time, after ``warmup`` ms, over ``rep`` ms."""

        def once() -> float:
            begun = time.perf_counter()
            fn()
            return (time.perf_counter() - begun) * 1e3

        return _median(once, warmup, rep)

    def benchmark_gpu(self, fn: Callable[[], Any], warmup: float = 25, rep: float = 100, **_: Any) -> float:
        """The median time between two events on the current stream."""
        from shim_torch import cuda

        def once() -> float:
            start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
            start.record()
            fn()
            end.record()
            end.synchronize()
            return start.elapsed_time(end)

        fn()  # what is compiled at the first call is no part of the warm-up
        cuda.synchronize()
        return _median(once, warmup, rep)


benchmarker = Benchmarker()
TritonBenchmarker = InductorBenchmarker = Benchmarker
