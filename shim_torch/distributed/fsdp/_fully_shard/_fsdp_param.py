"""``torch.distributed.fsdp._fully_shard._fsdp_param``: the class of sharded parameters, so that libraries may derive from it."""

from __future__ import annotations

from typing import Any

from shim_torch.distributed.fsdp import _refuse


class FSDPParam:
    """A parameter of which each process holds a part; none can be made here."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise _refuse("FSDPParam")
