"""The steps of a checkpoint in all processes of a group: what fails in one fails in all."""

from __future__ import annotations

import io
import pickle
import traceback
from collections.abc import Callable
from typing import Any

from shim_torch.distributed.checkpoint.api import CheckpointException


class _Failed:
    """An exception of one process, and where it was raised; its text where it cannot be pickled."""

    def __init__(self, error: BaseException) -> None:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = RuntimeError(f"{type(error).__name__}: {error}")
        self.error, self.stack = error, traceback.extract_tb(error.__traceback__)


def _no_storage(_: Any) -> Any:
    raise pickle.PicklingError("torch.distributed.checkpoint: a plan has a tensor")


def packed(value: Any) -> bytes:
    """A pickle under PyTorch's names, of plans and metadata."""
    from shim_torch._impl.serialization.pickler import Pickler

    stream = io.BytesIO()
    Pickler(stream, 4, _no_storage).dump(value)
    return stream.getvalue()


def unpacked(data: bytes) -> Any:
    """What ``packed`` wrote, in another process of the group."""
    from shim_torch._impl.serialization.unpickler import Unpickler

    return Unpickler(io.BytesIO(data), _no_storage).load()


def _attempt(call: Callable[..., Any], *args: Any) -> Any:
    try:
        return call(*args)
    except BaseException as error:
        return _Failed(error)


class Ranks:
    """The processes of a group, or this one alone with ``alone``; the first one coordinates."""

    def __init__(self, group: Any, alone: bool) -> None:
        from shim_torch import distributed as dist

        there = not alone and dist.is_available() and dist.is_initialized()
        self.group = group
        self.rank = dist.get_rank(group) if there else 0
        self.size = dist.get_world_size(group) if there else 1
        self.is_coordinator = self.rank == 0

    def _gather(self, value: Any) -> list[Any] | None:
        if self.size == 1:
            return [value]
        from shim_torch import distributed as dist

        found: list[Any] | None = [None] * self.size if self.is_coordinator else None
        dist.gather_object(packed(value), found, group=self.group, group_dst=0)
        return None if found is None else [unpacked(data) for data in found]

    def _told(self, values: list[Any] | None) -> Any:
        """The coordinator's value for this process."""
        if self.size == 1:
            assert values is not None
            return values[0]
        from shim_torch import distributed as dist

        out: list[Any] = [None]
        datas = None if values is None else [packed(v) for v in values]
        dist.scatter_object_list(out, datas, group=self.group, group_src=0)
        return unpacked(out[0])

    def step(self, name: str, here: Callable[[], Any], together: Callable[[list[Any]], list[Any]]) -> Any:
        """Runs ``here`` in each process, ``together`` on all results in the coordinator; this process's part of what that gave.

        Errors: CheckpointException in all processes where one of the calls failed anywhere.
        """
        results = self._gather(_attempt(here))
        answers = None
        if results is not None:
            failures = {rank: (r.error, r.stack) for rank, r in enumerate(results) if isinstance(r, _Failed)}
            made: Any = None if failures else _attempt(together, results)
            if isinstance(made, _Failed):
                failures = {self.rank: (made.error, made.stack)}
            answers = [(failures, None)] * self.size if failures else [({}, part) for part in made]
        failures, answer = self._told(answers)
        if failures:
            raise CheckpointException(name, failures)
        return answer

    def same(self, name: str, here: Callable[[], Any], together: Callable[[list[Any]], Any]) -> Any:
        """As ``step``, with one answer for all."""
        return self.step(name, here, lambda results: [together(results)] * self.size)
