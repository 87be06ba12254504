"""The streams of ``fully_shard``, and in what order the memory of gathered parameters goes back."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

from shim_torch._impl.distributed.on_devices import on_stream
from shim_torch._impl.distributed.sharded_pieces import Piece


@dataclasses.dataclass
class Comms:
    """How gradients are reduced, and the streams that all groups of a root have in common."""

    copy_in: Any = None  # a stream, on CUDA
    reductions: list[Any] = dataclasses.field(default_factory=list)  # under way

    def on_copy_in(self) -> contextlib.AbstractContextManager[None]:
        """A context in which CUDA work comes after what the optimizer did, and not after the layer that runs."""
        return contextlib.nullcontext() if self.copy_in is None else on_stream(self.copy_in)

    def follow_current(self) -> None:
        """What is sent from now on comes after what the current stream has: the optimizer's step, weights that were loaded."""
        from shim_torch import cuda

        if self.copy_in is not None:
            self.copy_in.wait_stream(cuda.current_stream(self.copy_in.device))


class Gathering:
    """Parts on their way, asked for by the current stream, whose the memory is."""

    def __init__(self, works: list[Any], out: Any, there: list[Piece], cast: Any, device: Any) -> None:
        from shim_torch import cuda

        self._works, self._out, self._there, self._cast = works, out, there, cast
        self._stream = cuda.current_stream(device) if device.type == "cuda" else None

    @contextlib.contextmanager
    def awaited(self) -> Iterator[tuple[Any, list[Piece]]]:
        """What every process sent, for the current stream, and the pieces that are in their place already.

        The asking stream would give memory to the next part while this one is still sent, or read. So it comes after both before
        anything is let go of: then the works keep nothing either, and two gathers are under way at most, however far the host
        is ahead. What is in its place is read for longer, and in a capture streams that are joined already stay so: that memory
        waits for the current stream's events.
        """
        from shim_torch import cuda

        for work in self._works:
            work.wait()
        if self._stream is None:
            yield self._out, self._there
            return
        current = cuda.current_stream(self._stream.device)
        made = [t for t in (self._out, self._cast) if t is not None]
        ordered = made and current != self._stream and not current.is_capturing()
        for tensor in [p.memory for p in self._there] + ([] if ordered else made):
            tensor.record_stream(current)
        try:
            yield self._out, self._there
        finally:
            if ordered:
                self._stream.wait_stream(current)
                with on_stream(self._stream):
                    for work in self._works:
                        work.wait()
