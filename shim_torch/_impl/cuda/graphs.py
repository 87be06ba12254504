"""CUDA graphs: capture of a stream's work, and replay."""

from __future__ import annotations

import contextlib
import gc
import importlib
import itertools
import sys
from typing import Any

from shim_torch._impl.cuda import cupy_link, streams
from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming


def is_current_stream_capturing() -> bool:
    """Whether the current stream is being captured."""
    return _core.cuda_capturing()


_pools: dict[tuple[int, int], list[int]] = {}  # token -> (native pool, number of graphs that use it)
_tokens = itertools.count(1)


def graph_pool_handle() -> tuple[int, int]:
    """A token for ``pool=``: graphs captured with the same one share memory and must not be replayed concurrently."""
    return (0, next(_tokens))


def _cupy_takes_graph_memory() -> Any:
    """A context in which CuPy allocates on this thread as operators do, also where the user gave it an allocator.

    Its own stream-ordered allocations would become nodes of the graph, which can then be launched only once.
    """
    cupy = sys.modules.get("cupy")
    if cupy is None or not hasattr(cupy, "cuda"):
        return None
    context = cupy.cuda.using_allocator(cupy_link.cupy_malloc)
    context.__enter__()
    return context


class CUDAGraph(_core.GraphBase):
    """A captured sequence of CUDA work (torch.cuda.CUDAGraph). It owns the memory allocated during the capture."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._exec = self._pool = self._stream = 0
        self._cupy: Any = None
        self._device = -1
        self._token = (0, 0)

    _capturing: CUDAGraph | None = None

    @staticmethod
    def get_currently_capturing_graph() -> CUDAGraph:
        """The graph that is being captured."""
        if CUDAGraph._capturing is None:
            raise RuntimeError("get_currently_capturing_graph() can only be called during graph capture")
        return CUDAGraph._capturing

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Starts capturing the current stream, which must not be the default stream."""
        if self._exec or self._pool:
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance."
            )
        self._device = _core.cuda_current_device()
        self._stream = streams.raw_stream(self._device)
        if self._stream == 0:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them on "
                "the default stream.)"
            )
        from shim_torch._impl.arrays import of_type

        with contextlib.suppress(ModuleNotFoundError):  # our own kernels need no CuPy
            of_type("cuda")  # it is imported before the capture, not in it
        self._token = graph_pool_handle() if pool is None else tuple(pool)
        shared = _pools.get(self._token, [0, 0])
        # relaxed: memory is allocated during the capture
        self._pool = _core.cuda_graph_begin(self._device, self._stream, 2, shared[0])
        _pools[self._token] = [self._pool, shared[1] + 1]
        self._cupy = _cupy_takes_graph_memory()
        CUDAGraph._capturing = self

    def capture_end(self) -> None:
        """Ends the capture and instantiates the graph."""
        CUDAGraph._capturing = None
        if self._cupy is not None:
            self._cupy.__exit__(None, None, None)
            self._cupy = None
        self._exec = _core.cuda_graph_end(self._device, self._stream, self._pool)

    def instantiate(self) -> None:
        """The graph is instantiated at the end of the capture already."""

    def reset(self) -> None:
        """Deletes the graph."""
        if self._exec or self._pool:
            if self._pool and _pools and self._token in _pools:
                _pools[self._token][1] -= 1
                if not _pools[self._token][1]:
                    del _pools[self._token]
            _core.cuda_graph_destroy(self._exec, self._pool)
        self._exec = self._pool = 0

    def pool(self) -> tuple[int, int]:
        """The token of the graph's memory, for ``pool=`` of another one."""
        return self._token

    def __del__(self) -> None:
        if getattr(self, "_exec", 0) or getattr(self, "_pool", 0):
            self.reset()


class graph:
    """Context manager that captures the work within it into a CUDAGraph, on a stream of its own."""

    default_capture_stream: Any = None  # the last one made
    _streams: dict[int, Any] = {}  # one a device

    def __init__(
        self, cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None, capture_error_mode: str = "global"
    ) -> None:
        self.cuda_graph, self.pool, self.mode = cuda_graph, pool, capture_error_mode
        self.capture_stream = stream if stream is not None else self._default_stream()
        self.stream_context = streams.stream(self.capture_stream)

    @classmethod
    def _default_stream(cls) -> Any:
        index = _core.cuda_current_device()
        if index not in cls._streams:
            cls._streams[index] = graph.default_capture_stream = streams.Stream(index)
        return cls._streams[index]

    def __enter__(self) -> None:
        _core.cuda_synchronize(self.capture_stream.device_index)
        gc.collect()
        self.stream_context.__enter__()
        self.cuda_graph.capture_begin(self.pool, self.mode)

    def __exit__(self, *exc: Any) -> None:
        try:
            self.cuda_graph.capture_end()  # an invalid capture ends too, so that the stream can be used again
        finally:
            self.stream_context.__exit__(*exc)


def make_graphed_callables(
    callables: Any,
    sample_args: tuple[Any, ...],
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: tuple[int, int] | None = None,
) -> Any:
    """Callables (functions or modules) whose forward and backward are CUDA graphs; a module is given its new ``forward``.

    ``sample_args``: a tuple of tensors (or nested lists, tuples and dicts of them), for several callables a tuple of tuples; they stay
    the places to which later arguments are copied, whose structure, shapes, dtypes and devices must be the same. Several
    callables share one pool of memory, and must run in the order in which they are given. Results are overwritten by the next
    call. There are no second gradients.
    """
    # Needs autograd and modules, which come after torch.cuda.
    of = importlib.import_module("shim_torch._impl.cuda.graphed_callables")
    return of.graphed(callables, sample_args, num_warmup_iters, allow_unused_input, pool)


CUDAGraph.__module__ = graph.__module__ = "torch.cuda.graphs"

naming.present(globals(), "torch.cuda.graphs")
