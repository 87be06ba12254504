"""``torch.distributed.elastic.multiprocessing.api``: the output of workers."""

from __future__ import annotations

import enum
import re

_TEXT = r"^[0123]$", r"^(\d:[0123],)*(\d:[0123])$"


class Std(enum.IntFlag):
    """Streams of a worker."""

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, vm: str) -> Std | dict[int, Std]:
        """``"2"`` is the streams of all workers, ``"0:1,1:3"`` those of each local rank."""
        if re.match(_TEXT[0], vm):
            return cls(int(vm))
        if not re.match(_TEXT[1], vm):
            raise ValueError(f"{vm} does not match: <{_TEXT[0]}> or <{_TEXT[1]}>")
        pairs = (pair.split(":") for pair in vm.split(","))
        return {int(rank): cls(int(streams)) for rank, streams in pairs}
