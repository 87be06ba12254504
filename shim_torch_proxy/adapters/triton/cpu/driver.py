"""``triton.runtime.driver.active`` on a machine with no GPU. The class is made when it is asked for, as the compiler's is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from shim_torch_proxy.adapters.triton import cpu


class Event:
    """A point in time, as ``torch.cuda.Event``: interpreted kernels have finished when the launch returns."""

    def __init__(self, enable_timing: bool = False, **_: object) -> None:
        self._at = 0.0

    def record(self, stream: object = None) -> None:
        """Takes the time; ``stream`` is not used."""
        self._at = time.perf_counter()

    def synchronize(self) -> None:
        """Does nothing: interpreted kernels are done when they return."""

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds; never 0, which Triton's ``do_bench`` divides by."""
        return max((end._at - self._at) * 1e3, 1e-4)


class Interface:
    """What Triton takes from ``torch.cuda`` when it measures."""

    Event = Event

    @staticmethod
    def synchronize(device: object = None) -> None:
        """Does nothing: interpreted kernels are done when they return."""

    @staticmethod
    def current_device() -> int:
        """0, the only device."""
        return 0


class Utils:
    """Properties that occupancy formulas read; an interpreter has one of each, and room for any block."""

    @staticmethod
    def get_device_properties(device: object = None) -> dict[str, int]:
        """The limits that Triton's host code asks for, large enough for any kernel."""
        return {
            "max_shared_mem": 1 << 30,
            "max_num_regs": 1 << 16,
            "multiprocessor_count": 1,
            "warpSize": 1,
            "sm_clock_rate": 1,
            "mem_clock_rate": 1,
            "mem_bus_width": 1,
        }


@cache
def _driver() -> type:
    from triton.backends import compiler, driver

    class CPUDriver(driver.DriverBase):
        """Device 0, stream 0, target ``GPUTarget("cpu", 0, 1)``, torch device ``cpu``."""

        def __init__(self) -> None:
            super().__init__()
            self.utils = Utils()

        @staticmethod
        def is_active() -> bool:
            return cpu.active

        def map_python_to_cpp_type(self, ty: str) -> str:
            raise RuntimeError("the CPU driver launches nothing compiled, so it has no C++ types")

        def get_current_target(self) -> Any:
            return compiler.GPUTarget("cpu", 0, 1)

        def get_active_torch_device(self) -> Any:
            from shim_torch import device

            return device("cpu")

        def get_current_device(self) -> int:
            return 0

        def set_current_device(self, device: int) -> None:
            if device != 0:
                raise RuntimeError(f"set_current_device: there is one CPU device, 0; got {device}")

        def get_current_stream(self, device: object = None) -> int:
            return 0

        def get_device_interface(self) -> type[Interface]:
            return Interface

        def get_benchmarker(self) -> Callable[..., Sequence[float]]:
            """Calls nothing: interpreted times say nothing about a GPU, and each configuration would take seconds.

            All configurations of an autotuned kernel measure the same, so Triton takes the first.
            """

            def measure(
                kernel_call: Callable[[], None], *, quantiles: Sequence[float] = (), **_: object
            ) -> list[float]:
                return [1.0] * max(len(quantiles or ()), 1)

            return measure

        def get_empty_cache_for_benchmark(self) -> Any:
            import shim_torch

            return shim_torch.empty(0, dtype=shim_torch.int)  # a CPU's caches cannot be emptied by writing one array

        def clear_cache(self, cache: Any) -> None:
            cache.zero_()

    return CPUDriver


def __getattr__(name: str) -> Any:
    if name == "CPUDriver":
        return _driver()
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*globals(), "CPUDriver"]
