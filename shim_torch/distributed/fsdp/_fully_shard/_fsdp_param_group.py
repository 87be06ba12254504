"""``torch.distributed.fsdp._fully_shard._fsdp_param_group``: the class of groups of sharded parameters."""

from __future__ import annotations

from typing import Any

from shim_torch.distributed.fsdp import _refuse


class FSDPParamGroup:
    """Parameters that are gathered together; none can be made here."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise _refuse("FSDPParamGroup")
