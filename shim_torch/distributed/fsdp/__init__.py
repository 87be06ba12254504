"""``torch.distributed.fsdp``: the types, so that ``isinstance`` answers. Sharding needs several processes and is not supported."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from shim_torch.nn.modules.module import Module

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "CPUOffloadPolicy",
    "FSDPModule",
    "FullyShardedDataParallel",
    "MixedPrecision",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "ShardingStrategy",
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


class ShardingStrategy(Enum):
    """What is spread."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When the next parameters are gathered."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """Which state dict is made."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class MixedPrecision:
    """The dtypes of parameters, gradients and buffers."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of ``fully_shard``."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class CPUOffload:
    """Whether parameters are kept on the CPU."""

    offload_params: bool = False


@dataclass
class OffloadPolicy:
    """No offloading."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters are kept on the CPU."""

    pin_memory: bool = True


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.distributed.fsdp", name)
