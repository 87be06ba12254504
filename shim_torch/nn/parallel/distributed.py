"""``DistributedDataParallel``: gradients averaged over the processes of a group."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from shim_torch.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module for a group of one process: it is called as it is. RuntimeError without a group, NotImplementedError with more."""

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0, broadcast_buffers: bool = True,
        process_group: Any = None, bucket_cap_mb: Any = None, find_unused_parameters: bool = False,
        check_reduction: bool = False, gradient_as_bucket_view: bool = False, static_graph: bool = False, **_: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        from shim_torch import distributed
        from shim_torch.distributed.algorithms.join import _JoinConfig

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
            process_group if process_group is not None else distributed.group.WORLD,
        )
        self.dim, self.broadcast_buffers, self.find_unused_parameters = dim, broadcast_buffers, find_unused_parameters
        self.gradient_as_bucket_view, self.static_graph = gradient_as_bucket_view, static_graph
        self.device = next(p for p in module.parameters() if p.requires_grad).device
        self.device_type, self.is_multi_device_module = self.device.type, False
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._join_config = _JoinConfig.construct_disabled_join_config()

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's own result: a group of one process has nothing to average."""
        return self.module(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients are summed locally: there is one process anyway."""
        old, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = old

    @contextlib.contextmanager
    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Iterator[None]:
        """Training with uneven inputs: there is no other process that could have fewer."""
        yield

    def join_hook(self, **kwargs: Any) -> Any:
        """For ``Join``: there is nothing to do for other processes."""
        from shim_torch.distributed.algorithms.join import JoinHook

        return JoinHook()

    @property
    def join_device(self) -> Any:
        """The device that ``Join`` communicates on."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The process group that ``Join`` communicates in."""
        return self.process_group

    def _set_static_graph(self) -> None:
        """Accepted, without effect: one process has nothing to reduce."""
        self.static_graph = True

    def register_comm_hook(self, state: object, hook: Any) -> None:
        """Raises NotImplementedError: gradients are not reduced, so no hook would be called."""
        raise NotImplementedError(
            "torch.nn.parallel.DistributedDataParallel.register_comm_hook is not supported by shim-torch: groups have one process"
        )
