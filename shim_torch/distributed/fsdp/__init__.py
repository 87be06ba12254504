"""``torch.distributed.fsdp``: ``fully_shard``, and the types of FullyShardedDataParallel, which is not supported."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.distributed.fully_sharded import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    OffloadPolicy,
    UnshardHandle,
    fully_shard,
    register_fsdp_forward_method,
    share_comm_ctx,
)
from shim_torch.distributed.fsdp._flat_param import FlatParameter
from shim_torch.distributed.fsdp.api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from shim_torch.nn.modules.module import Module

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "CPUOffloadPolicy",
    "FSDPModule",
    "FlatParameter",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "FullyShardedDataParallel",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "OptimStateDictConfig",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
    "share_comm_ctx",
]


def _refuse(what: str) -> NotImplementedError:
    return NotImplementedError(f"torch.distributed.fsdp.{what} is not supported by shim-torch: use fully_shard")


class FullyShardedDataParallel(Module):
    """A module whose parameters are spread over processes; none can be made here."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise _refuse("FullyShardedDataParallel")

    @staticmethod
    def summon_full_params(module: Any, *_: Any, **__: Any) -> Any:
        """A context with whole parameters: they always are."""
        import contextlib

        return contextlib.nullcontext()
