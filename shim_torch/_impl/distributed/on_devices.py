"""Collectives of CUDA tensors between processes, over NCCL: on the current stream or, asynchronous, on the group's own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from shim_torch._impl.distributed.reductions import ReduceOp
from shim_torch._impl.distributed.timeouts import duration
from shim_torch._impl.distributed.work import Work
from shim_torch._impl.native import _core
from shim_torch.futures import Future

_BITS = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def check_reduction(op: Any, tensor: Any) -> None:
    """Errors: ValueError for a reduction that NCCL has not, TypeError for one that it has not of the dtype."""
    if op in _BITS:
        raise ValueError(f"Cannot use ReduceOp.{op.name} with NCCL")
    if op == ReduceOp.AVG and str(tensor.dtype) == "torch.bool":
        raise TypeError("Cannot use ReduceOp.AVG with boolean inputs")


def start(
    group: Any, name: str, act: int, *, op: int = 0, factor: Any = None, inputs: Any = None, outputs: Any = None, root: int = 0,
    input_counts: Sequence[int] | None = None, output_counts: Sequence[int] | None = None, results: Sequence[Any] = (),
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Puts a collective on a stream. ``inputs``, ``outputs``: tensors, or a list with one for each rank."""
    engine = group._device_engine
    running = engine.start(
        name, act, op, factor, inputs, outputs, root, input_counts, output_counts, group._limit, async_op
    )
    return _begun(running, results) if async_op else None


def one(group: Any, name: str, act: int, op: int, factor: Any, input: Any, output: Any, async_op: bool) -> Work | None:
    """``start`` of one tensor for all ranks, and one from all: what programs call most, whose host time counts."""
    running = group._device_engine.start(name, act, op, factor, input, output, 0, None, None, group._limit, async_op)
    return _begun(running, [output]) if async_op else None


def _begun(running: Any, results: Sequence[Any]) -> Work:
    return _Coalesced() if running is None else DeviceWork(results, running)


@contextlib.contextmanager
def on_stream(stream: Any) -> Iterator[None]:
    """Within, a stream is the current one; nodes of autograd that are made later are of the one before."""
    from shim_torch import cuda

    with cuda.stream(stream):
        yield
    cuda.current_stream(stream.device)  # the last one asked for is that of the nodes of autograd made next


def on_device(group: Any, tensor: Any) -> bool:
    """Whether a tensor's collectives are NCCL's. Errors: RuntimeError for a device that the group has no backend of."""
    if group._size == 1:
        return False
    if tensor.is_cuda:
        return group._device_engine is not None
    if group._engine is None and tensor.device.type == "cpu":
        raise RuntimeError("No backend type associated with device type cpu")
    return False


class DeviceWork(Work):
    """A collective on a device's stream; ``wait`` makes the current stream come after it."""

    def wait(self, timeout: timedelta | float = timedelta(0)) -> bool:
        """Orders the current stream; with a timeout, or TORCH_NCCL_BLOCKING_WAIT=1, waits here, and raises DistBackendError."""
        timeout = duration(timeout)
        if timeout or os.environ.get("TORCH_NCCL_BLOCKING_WAIT") == "1":
            return bool(self._running.wait(max(1, int(timeout / timedelta(milliseconds=1))) if timeout else 0))
        return bool(self._running.order_current_stream())

    def synchronize(self) -> None:
        """Orders the current stream."""
        self._running.order_current_stream()

    block_current_stream = synchronize

    def source_rank(self) -> int:
        """Errors: RuntimeError, for NCCL's receives name the other end."""
        raise RuntimeError("torch.distributed.Work.source_rank: a receive over NCCL has the source that was asked for")

    def get_future(self) -> Future[Any]:
        """A future that has the tensors at once: its callbacks run on a stream that comes after the collective."""
        return DeviceFuture(self, self._future_value, self._running.event, self._tensors)


class DeviceFuture(Future[Any]):
    """A value that is on its way on a device: there for the host, and for the stream that waits."""

    __module__ = "torch.jit"

    def __init__(self, keeps: Any, value: Any, event: int, tensors: Sequence[Any]) -> None:
        super().__init__()
        self._keeps, self._event, self._tensors = keeps, event, tensors
        self._finish(value, None)

    def wait(self) -> Any:
        """The value; the current stream comes after it."""
        if isinstance(self._keeps, Work):
            self._keeps.wait()
        else:
            self._order()
        return self.value()

    def _order(self) -> None:
        from shim_torch._impl.cuda import streams

        device = self._tensors[0].device.index
        _core.cuda_stream_wait_event(device, streams.raw_stream(device), self._event)

    def then(self, callback: Any) -> Future[Any]:
        """A future of what ``callback(self)`` puts on a stream of its own."""
        from shim_torch._impl.cuda import streams

        device = self._tensors[0].device.index
        side = streams.Stream(device)
        made: Any = None
        with streams.stream(side):
            self._order()
            plain: Future[Any] = Future()
            plain.set_result(self.value())
            made = plain.then(callback)
            reached = streams.Event()
            reached.record(side)
        if made._error is not None:
            return made  # type: ignore[no-any-return]
        kept = [*_tensors_of(made._value), *self._tensors]
        for tensor in kept:
            tensor.record_stream(side)
        return DeviceFuture(reached, made._value, reached.cuda_event, kept)

    def add_done_callback(self, callback: Any) -> None:
        """Calls ``callback(self)`` now, on a stream that comes after the value."""
        self.then(lambda _: callback(self))


def _tensors_of(value: Any) -> list[Any]:
    if isinstance(value, _core.Tensor):
        return [value]
    return [t for item in value for t in _tensors_of(item)] if isinstance(value, (list, tuple)) else []


class _Coalesced(Work):
    """What a collective gives within ``_coalescing_manager``: the manager is waited for."""

    def wait(self, timeout: timedelta | float = timedelta(0)) -> bool:
        """Errors: RuntimeError."""
        raise RuntimeError("torch.distributed: a coalesced collective has no work of its own; wait for the manager")

    is_completed = is_success = synchronize = get_future = exception = wait  # type: ignore[assignment]


def end_coalescing(group: Any, async_op: bool, results: Sequence[Any] = ()) -> Work | None:
    """Issues what was started since ``begin_coalescing`` together."""
    running = group._device_engine.end_coalescing(async_op, group._limit)
    return None if running is None else DeviceWork(results, running)


def barrier(group: Any, device_ids: Any, async_op: bool) -> Work | None:
    """An all_reduce that the host waits for."""
    import shim_torch as torch

    device = torch.device("cuda", device_ids[0]) if device_ids else device_of(group)
    one = torch.zeros(1, dtype=torch.uint8, device=device)
    work = start(group, "barrier", 8, outputs=one, async_op=True)
    assert work is not None
    if not async_op:
        work._running.wait(0)
        return None
    return work


def device_of(group: Any) -> Any:
    """The device that a group communicates on where no tensor says so."""
    import shim_torch as torch

    if group._device_engine is None:
        return torch.device("cpu")
    return group.bound_device_id or torch.device("cuda", torch.cuda.current_device())


def carrier(group: Any, home: Any) -> Any:
    """The device that a tensor of the device ``home`` travels on: itself, unless the group has no backend of it."""
    import shim_torch as torch

    if home.type == "cuda":
        return home if group._device_engine is not None else torch.device("cpu")
    return device_of(group) if home.type == "cpu" and group._engine is None else home
