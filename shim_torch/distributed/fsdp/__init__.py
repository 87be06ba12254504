"""``torch.distributed.fsdp``: the types, so that ``isinstance`` answers. Sharding needs several processes and is not supported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
    "fully_shard",
]


def _refuse(what: str) -> NotImplementedError:
    return NotImplementedError(f"torch.distributed.fsdp.{what} is not supported by shim-torch: groups have one process")


class FullyShardedDataParallel(Module):
    """A module whose parameters are spread over processes; none can be made here."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise _refuse("FullyShardedDataParallel")

    @staticmethod
    def summon_full_params(module: Any, *_: Any, **__: Any) -> Any:
        """A context with whole parameters: they always are."""
        import contextlib

        return contextlib.nullcontext()


class FSDPModule:
    """The mark of modules that ``fully_shard`` changed; there are none."""


def fully_shard(module: Any, **_: Any) -> Any:
    """Spreads a module's parameters over processes: NotImplementedError."""
    raise _refuse("fully_shard")


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of ``fully_shard``."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """No offloading."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters are kept on the CPU."""

    pin_memory: bool = True
