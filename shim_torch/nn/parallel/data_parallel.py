"""``torch.nn.parallel.data_parallel``: a module on several devices of a process."""

from __future__ import annotations

from typing import Any

from shim_torch.nn import DataParallel

__all__ = ["DataParallel", "data_parallel"]


def data_parallel(
    module: Any, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0, module_kwargs: Any = None
) -> Any:
    """The module on its one device; NotImplementedError for several."""
    if device_ids is not None and len(device_ids) > 1:
        raise NotImplementedError("torch.nn.parallel.data_parallel: several devices are not supported by shim-torch")
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))
