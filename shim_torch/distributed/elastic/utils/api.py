"""``torch.distributed.elastic.utils.api``: what a worker's arguments may name."""

from __future__ import annotations

from string import Template
from typing import Any


class macros:
    """``macros.local_rank`` among the arguments of workers stands for the local rank of each."""

    local_rank = "${local_rank}"

    @staticmethod
    def substitute(args: list[Any], local_rank: str) -> list[str]:
        """The arguments of the worker of that rank; what is not text stays as it is."""
        ranks = {"local_rank": local_rank}
        return [Template(a).safe_substitute(ranks) if isinstance(a, str) else a for a in args]
