"""``torch.distributed.fsdp.sharded_grad_scaler``: a GradScaler whose processes agree on what was found infinite."""

from __future__ import annotations

from typing import Any

from shim_torch.amp.grad_scaler import GradScaler
from shim_torch.distributed import distributed_c10d as _c10d

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """``GradScaler`` for gradients that a process group shares: an optimizer steps only if no process found infinities.

    Groups have one process here, so what is agreed on is what this process found. ``process_group``: the default group if
    None; without a group :meth:`unscale_` raises ValueError, as PyTorch's collectives do.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: Any = None,
    ) -> None:
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        if self._enabled:
            self.process_group = process_group

    def _unscale_grads_(
        self, optimizer: Any, inv_scale: Any, found_inf: Any, allow_fp16: bool = True
    ) -> dict[Any, Any]:
        return super()._unscale_grads_(optimizer, inv_scale, found_inf, True)  # gradients may be float16 here

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients by the scale and sums over the group what was found infinite."""
        if not self._enabled:
            return
        super().unscale_(optimizer)
        for found in self._per_optimizer_states[id(optimizer)]["found_inf_per_device"].values():
            _c10d.all_reduce(found, group=self.process_group)
