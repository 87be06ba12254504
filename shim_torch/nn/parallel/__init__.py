"""``torch.nn.parallel``: one module on several devices or processes."""

from __future__ import annotations

from typing import Any

from shim_torch.nn.parallel.data_parallel import DataParallel, data_parallel
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


def _children(x: Any, keys: Any = None) -> list[Any]:
    """The elements of a sequence, or the values of a dict in the order of ``keys`` (default: its own)."""
    return [x[key] for key in (x if keys is None else keys)] if isinstance(x, dict) else list(x)


def _columns(parts: Any) -> Any:
    """The elements at the same index, or key, of every part."""
    first = parts[0]
    if isinstance(first, dict) and any(len(part) != len(first) for part in parts):
        raise ValueError("All dicts must have the same number of keys")
    return zip(*(_children(part, first) for part in parts), strict=True)


def _like(x: Any, children: Any) -> Any:
    """A container of the type of ``x`` with other elements."""
    if isinstance(x, dict):
        return type(x)(zip(x, children, strict=True))
    return type(x)(*children) if hasattr(x, "_fields") else type(x)(children)


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> Any:
    """Tensors cut along ``dim``, a part for each device; other values for every device."""
    from shim_torch._impl.native import _core

    count = len(target_gpus)

    def cut(x: Any) -> list[Any]:
        if isinstance(x, _core.TensorBase):
            return [part.to(device) for part, device in zip(x.chunk(count, dim), target_gpus, strict=False)]
        if isinstance(x, (tuple, list, dict)) and x:
            return [_like(x, parts) for parts in zip(*map(cut, _children(x)), strict=False)]
        return [x] * count

    return cut(inputs)


def _joined(parts: Any, join: Any) -> Any:
    """One container of the parts' structure; tensors at the same index or key are joined by ``join``."""
    from shim_torch._impl.native import _core

    first = parts[0]
    if isinstance(first, _core.TensorBase):
        return join(parts)
    return None if first is None else _like(first, [_joined(column, join) for column in _columns(parts)])


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The parts of every device joined along ``dim`` on one; ValueError for dicts or sequences of several lengths."""
    import warnings

    import shim_torch

    def join(parts: Any) -> Any:
        if dim == 0 and all(part.dim() == 0 for part in parts):
            warnings.warn(
                "Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze and return "
                "a vector.",
                stacklevel=4,
            )
            parts = [part.view(1) for part in parts]
        return shim_torch.cat([part.to(target_device) for part in parts], dim)

    return _joined(outputs, join)
