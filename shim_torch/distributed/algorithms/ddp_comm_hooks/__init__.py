"""``torch.distributed.algorithms.ddp_comm_hooks``: what DistributedDataParallel can do with gradients in place of averaging them."""

from __future__ import annotations

from enum import Enum
from typing import Any

from shim_torch.distributed.algorithms.ddp_comm_hooks import debugging_hooks, default_hooks, powerSGD_hook

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


class DDPCommHookType(Enum):
    """The hooks by name."""

    ALLREDUCE = "allreduce"
    FP16_COMPRESS = "fp16"
    BF16_COMPRESS = "bf16"
    QUANTIZE_PER_TENSOR = "quantized tensor"
    QUANTIZE_PER_CHANNEL = "quantized channel"
    POWER_SGD = "power 1"
    POWER_SGD_RANK2 = "power 2"
    BATCHED_POWER_SGD = "batched power 1"
    BATCHED_POWER_SGD_RANK2 = "batched power 2"
    NOOP = "noop"


_PLAIN = {
    DDPCommHookType.ALLREDUCE: default_hooks.allreduce_hook,
    DDPCommHookType.FP16_COMPRESS: default_hooks.fp16_compress_hook,
    DDPCommHookType.BF16_COMPRESS: default_hooks.bf16_compress_hook,
    DDPCommHookType.NOOP: debugging_hooks.noop_hook,
}


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Registers one of the hooks; ``state`` is the process group, None for the default one.

    Errors: NotImplementedError for those that quantize.
    """
    if comm_hook_type in _PLAIN:
        model.register_comm_hook(state, _PLAIN[comm_hook_type])
        return
    kind, _, rank = comm_hook_type.value.rpartition(" ")
    if "power" not in kind:
        raise NotImplementedError(
            "torch.distributed.algorithms.ddp_comm_hooks: hooks that quantize are not supported by shim-torch"
        )
    hook = powerSGD_hook.batched_powerSGD_hook if "batched" in kind else powerSGD_hook.powerSGD_hook
    model.register_comm_hook(powerSGD_hook.PowerSGDState(state, matrix_approximation_rank=int(rank)), hook)
