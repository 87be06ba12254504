"""``torch.distributed.checkpoint.api``: what a checkpoint's failure is."""

from __future__ import annotations

import traceback as tb
from typing import Any

__all__ = ["CheckpointException"]


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
        text = f"CheckpointException ranks:{self._failures.keys()}\n"
        for rank, (error, stack) in self._failures.items():
            text += f"Traceback (most recent call last): (RANK {rank})\n"
            if stack is not None:
                text += "".join(tb.format_list(stack))
            text += "".join(tb.format_exception_only(type(error), value=error))
        return text
