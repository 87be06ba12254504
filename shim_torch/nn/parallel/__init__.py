"""``torch.nn.parallel``: one module on several devices or processes."""

from __future__ import annotations

from typing import Any

from shim_torch import _torch_names
from shim_torch.nn import DataParallel
from shim_torch.nn.parallel.data_parallel import data_parallel
from shim_torch.nn.parallel.distributed import DistributedDataParallel
from shim_torch.nn.parallel.parallel_apply import parallel_apply
from shim_torch.nn.parallel.replicate import replicate

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> Any:
    """Tensors cut along ``dim``, a part for each device; other values for every device."""
    from native import _core

    count = len(target_gpus)

    def cut(x: Any) -> list[Any]:
        if isinstance(x, _core.TensorBase):
            return [part.to(device) for part, device in zip(x.chunk(count, dim), target_gpus, strict=False)]
        if isinstance(x, (tuple, list)) and x:
            if hasattr(x, "_fields"):
                return [type(x)(*parts) for parts in zip(*map(cut, x), strict=False)]
            return [type(x)(parts) for parts in zip(*map(cut, x), strict=False)]
        if isinstance(x, dict) and x:
            return [
                dict(parts) for parts in zip(*([(k, v) for v in cut(value)] for k, value in x.items()), strict=False)
            ]
        return [x] * count

    return cut(inputs)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The parts of every device joined along ``dim`` on one."""
    import shim_torch

    first = outputs[0]
    if isinstance(first, shim_torch.Tensor):
        return shim_torch.cat([o.to(target_device) for o in outputs], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        return type(first)((k, gather([o[k] for o in outputs], target_device, dim)) for k in first)
    if hasattr(first, "_fields"):
        return type(first)(*(gather(list(parts), target_device, dim) for parts in zip(*outputs, strict=True)))
    return type(first)(gather(list(parts), target_device, dim) for parts in zip(*outputs, strict=True))


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.nn.parallel", name)

_torch_names.present(globals())
