"""``torch._inductor.utils``: timing functions, and what the machine is like."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface.not_built import NO_COMPILER, declare
from shim_torch.utils._ordered_set import OrderedSet as OrderedSet

declare(
    globals(),
    NO_COMPILER,
    "run_and_get_code run_and_get_triton_code run_fw_bw_and_get_code run_and_get_kernels get_triton_code get_code",
)


def do_bench_using_profiling(
    fn: Callable[[], Any], warmup: int = 25, rep: int = 100, is_vetted_benchmarking: bool = False
) -> float:
    """The time of one call on the GPU, in milliseconds."""
    from shim_torch._inductor.runtime.benchmarking import benchmarker

    return benchmarker.benchmark_gpu(fn, warmup=warmup, rep=rep)


def parallel_num_threads() -> int:
    """The threads of CPU kernels."""
    return int(_core.get_num_threads())


def is_big_gpu(index: Any = 0) -> bool:
    """Whether a GPU has at least 68 multiprocessors."""
    from shim_torch import cuda

    return cuda.is_available() and cuda.get_device_properties(index).multi_processor_count >= 68


def get_gpu_type() -> str:
    """ "cuda"."""
    return "cuda"


def cache_dir() -> str:
    """$TORCHINDUCTOR_CACHE_DIR, or a folder of the user's in the temporary directory."""
    import getpass
    import os
    import tempfile

    return os.environ.get("TORCHINDUCTOR_CACHE_DIR") or os.path.join(
        tempfile.gettempdir(), "torchinductor_" + getpass.getuser()
    )


def ceildiv(number: int, denom: int) -> int:
    """``number / denom`` rounded up."""
    return -(number // -denom)


def next_power_of_2(n: int) -> int:
    """The power of two at or above n."""
    return 1 if n < 1 else 1 << (n - 1).bit_length()


def is_gpu(device: str | None) -> bool:
    """Whether a device type is one of :data:`GPU_TYPES`."""
    return device in GPU_TYPES


@contextlib.contextmanager
def fresh_cache(
    cache_entries: dict[str, Any] | None = None, dir: str | None = None, delete: bool = True
) -> Iterator[None]:
    """Within it, compiled code is not taken from the cache: there is none."""
    yield


fresh_inductor_cache = fresh_cache


def get_gpu_shared_memory() -> int:
    """Bytes of shared memory that a block may use; 0 without a GPU."""
    import shim_torch

    if not shim_torch.cuda.is_available():
        return 0
    return int(shim_torch.cuda.get_device_properties("cuda").shared_memory_per_block_optin)


# The device types that count as GPUs.
GPU_TYPES = ["cuda", "mps", "xpu", "mtia"]
