"""``DistributedDataParallel``: gradients averaged over the processes of a group."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from shim_torch._missing import asked_of as _asked_of
from shim_torch.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module for a group of one process: it is called as it is. RuntimeError without a group, NotImplementedError with more."""

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0, broadcast_buffers: bool = True,
        process_group: Any = None, **_: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        from shim_torch import distributed

        if not distributed.is_initialized():
            raise RuntimeError(
                "Default process group has not been initialized, please make sure to call init_process_group."
            )
        if distributed.get_world_size(process_group) > 1:
            raise NotImplementedError(
                "torch.nn.parallel.DistributedDataParallel of several processes is not supported by shim-torch"
            )
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
            )
        self.module, self.device_ids, self.output_device, self.process_group = (
            module,
            device_ids,
            output_device,
            process_group,
        )
        self.require_backward_grad_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients are summed locally: there is one process anyway."""
        old, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = old

__getattr__ = _asked_of(__name__)
