"""``torch.distributed.checkpoint.api``: what a checkpoint's failure is."""

from __future__ import annotations

import traceback as tb
from typing import Any

__all__ = ["CheckpointException"]


def _told(failure: tuple[int, Any]) -> str:
    """A rank's stack and exception, as Python writes them."""
    rank, (error, stack) = failure
    lines = [*tb.format_list(stack or []), *tb.format_exception_only(error)]
    return f"Traceback (most recent call last): (RANK {rank})\n{''.join(lines)}"


class CheckpointException(BaseException):
    """Some processes failed: ``failures`` has each one's exception, and where it was raised."""

    def __init__(self, msg: str, failures: dict[int, Any]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, Any]:
        """The exception and the stack of each rank that failed."""
        return self._failures

    def __str__(self) -> str:
        return f"CheckpointException ranks:{self._failures.keys()}\n" + "".join(map(_told, self._failures.items()))
