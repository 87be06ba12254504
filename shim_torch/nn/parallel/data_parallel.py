"""``torch.nn.parallel.data_parallel``: a module on several devices of a process."""

from __future__ import annotations

import itertools
from typing import Any

from shim_torch.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


def _index(device: Any) -> int:
    from shim_torch._utils import _get_device_index

    return int(_get_device_index(device, True))


class DataParallel(Module):
    """A batch cut along ``dim`` over GPUs, each of which has a replica of the module for the forward pass; results are joined on one GPU.

    device_ids (all GPUs by default): the first is where the module is. output_device: the first by default. Without a GPU the module runs as
    it is.
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        import shim_torch as torch

        super().__init__()
        self.module = module
        if not torch.cuda.is_available():
            self.device_ids: list[int] = []
            return
        ids = list(range(torch.cuda.device_count())) if device_ids is None else list(device_ids)
        if not ids:
            raise RuntimeError("no available devices were found")
        self.dim = dim
        self.device_ids = [_index(device) for device in ids]
        self.output_device = _index(self.device_ids[0] if output_device is None else output_device)
        self.src_device_obj = torch.device("cuda", self.device_ids[0])
        if len(self.device_ids) == 1:
            module.to(self.src_device_obj)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's result on the whole batch. RuntimeError for a parameter or buffer on another device than the first."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        self._check_devices()
        of_each = self.scatter(inputs, kwargs, self.device_ids)
        if not any(of_each):  # a module that takes nothing runs once
            of_each = [()], [{}]
        if len(self.device_ids) == 1:
            (given,), (named,) = of_each
            return self.module(*given, **named)
        used = self.device_ids[: len(of_each[0])]
        results = self.parallel_apply(self.replicate(self.module, used), *of_each)
        return self.gather(results, self.output_device)

    def _check_devices(self) -> None:
        held = (t.device for t in itertools.chain(self.module.parameters(), self.module.buffers()))
        elsewhere = next((device for device in held if device != self.src_device_obj), None)
        if elsewhere is not None:
            raise RuntimeError(
                f"module must have its parameters and buffers on device {self.src_device_obj} (device_ids[0]) but found one of "
                f"them on device: {elsewhere}"
            )

    def replicate(self, module: Module, device_ids: Any) -> list[Any]:
        """Replicas of the module, which have gradients where they are recorded."""
        import shim_torch as torch
        from shim_torch.nn.parallel.replicate import replicate

        return replicate(module, device_ids, not torch.is_grad_enabled())

    def scatter(self, inputs: Any, kwargs: Any, device_ids: Any) -> Any:
        """Arguments and keyword arguments for each device."""
        from shim_torch.nn.parallel.scatter_gather import scatter_kwargs

        return scatter_kwargs(inputs, kwargs, device_ids, dim=self.dim)

    def parallel_apply(self, replicas: Any, inputs: Any, kwargs: Any) -> list[Any]:
        """Each replica's result."""
        from shim_torch.nn.parallel.parallel_apply import parallel_apply

        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs: Any, output_device: Any) -> Any:
        """The results joined on a device."""
        from shim_torch.nn.parallel import gather

        return gather(outputs, output_device, dim=self.dim)


def data_parallel(
    module: Any, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0, module_kwargs: Any = None
) -> Any:
    """The module's result on a batch that is cut over GPUs (``DataParallel``, for one call)."""
    given = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*given, **(module_kwargs or {}))
