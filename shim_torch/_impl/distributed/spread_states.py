"""Whole state dicts from spread ones, and parts from whole ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shim_torch._impl.distributed.checks import found
from shim_torch._impl.distributed.on_devices import carrier
from shim_torch._impl.distributed.redistribute import move
from shim_torch._impl.native import _core
from shim_torch.distributed.tensor.placement_types import Replicate


def is_first() -> bool:
    """Whether this process is the default group's first one, or the only one."""
    from shim_torch import distributed as dist

    return not dist.is_initialized() or dist.get_rank() == 0


def whole(tensor: Any) -> Any:
    """A tensor that is spread, whole in each process; others as they are. All processes call it."""
    return tensor.full_tensor() if hasattr(tensor, "_spec") else tensor


def _part(value: Any, like: Any) -> Any:
    """Of a whole tensor what another one, which is spread, has in this process."""
    from shim_torch.distributed.tensor import DTensor

    spec = getattr(like, "_spec", None)
    if spec is None or hasattr(value, "_spec"):
        return value
    local = move(value.detach(), like.shape, spec.mesh, [Replicate()] * spec.mesh.ndim, spec.placements)
    local = local.to(like.device).contiguous()
    return DTensor(local if local.data_ptr() != value.data_ptr() else local.clone(), spec)


class _Shape:
    """A tensor that another process has, and will send."""

    def __init__(self, tensor: Any) -> None:
        self.shape, self.dtype = tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")


def _outline(value: Any) -> Any:
    if isinstance(value, _core.Tensor):
        return _Shape(value)
    if isinstance(value, Mapping):
        return {key: _outline(inner) for key, inner in value.items()}
    return [_outline(inner) for inner in value] if type(value) is list else value


def _device(like: Any) -> Any:
    """Where those tensors come to that ``like`` has not: where its first one is."""
    if isinstance(like, _core.Tensor):
        return like.device
    found = (
        _device(v) for v in (like.values() if isinstance(like, Mapping) else like if isinstance(like, list) else ())
    )
    return next((device for device in found if device is not None), None)


def _sent(outline: _Shape, given: Any, device: Any) -> Any:
    """A tensor of the first process, in each; on ``device``, or on one that the group has a backend of."""
    import shim_torch as torch
    from shim_torch import distributed as dist

    on = carrier(found(None), device)
    if given is not None:
        here = given.detach().to(on).contiguous()
    else:
        here = torch.empty(outline.shape, dtype=getattr(torch, outline.dtype), device=on)
    dist.broadcast(here, src=0)
    return here


def _taken(value: Any, like: Any, given: Any, device: Any) -> Any:
    """``value`` (tensors, or outlines of those to come) as parts that are as those of ``like``."""
    if isinstance(value, Mapping):
        return {
            key: _taken(inner, like.get(key) if isinstance(like, Mapping) else None, given[key] if given is not None else None,
                device) for key, inner in value.items()
        }  # fmt: skip
    if type(value) is list:
        likes = like if isinstance(like, list) and len(like) == len(value) else [None] * len(value)
        return [
            _taken(inner, other, None if given is None else given[i], device)
            for i, (inner, other) in enumerate(zip(value, likes, strict=True))
        ]
    if isinstance(value, _Shape):
        return _part(_sent(value, given, device).to(like.device if isinstance(like, _core.Tensor) else device), like)
    return _part(value, like) if isinstance(value, _core.Tensor) else value


def parts_of(given: Mapping[str, Any], like: Mapping[str, Any], from_first: bool) -> Any:
    """A state dict of whole tensors, as parts where ``like`` has parts.

    ``from_first``: the default group's first process gives its own to all, tensor by tensor; what the others have is not used.
    """
    from shim_torch import distributed as dist

    if not from_first or not dist.is_initialized() or dist.get_world_size() == 1:
        return _taken(given, like, None, None)
    outline = [_outline(given) if is_first() else None]
    dist.broadcast_object_list(outline, src=0)
    import shim_torch as torch

    return _taken(outline[0], like, given if is_first() else None, _device(like) or torch.device("cpu"))
