"""Which linear layers of tensor parallelism are taken in pieces, so that their collective overlaps with the product."""

from __future__ import annotations

import os
import weakref
from typing import Any

from shim_torch._impl.distributed import by_copies

asked_for: weakref.WeakSet[Any] = weakref.WeakSet()  # groups whose layers are taken in pieces


def chosen(group: Any, example: Any = None, travels: int = 0) -> bool:
    """Whether pieces are taken: where the group asks for them or SHIM_TP_OVERLAP=1 does; with SHIM_TP_OVERLAP=0 never.

    Else where they were seen to be quicker: for rows that are split on GPUs that copy to each other, if each other process is sent
    many bytes (``travels``). ``example`` is a tensor of the kind.
    """
    asked = os.environ.get("SHIM_TP_OVERLAP", "")
    if asked in ("0", "1") or group in asked_for:
        return asked != "0"
    return example is not None and travels >= by_copies.least() and by_copies.possible(group, example)


def plain_linear(module: Any, x: Any, dim: int, mesh: Any, uneven: bool = False) -> bool:
    """Whether pieces are possible: of ``nn.Linear`` itself, outside of autocast and of traces.

    The input is split in ``dim``, evenly unless ``uneven``.
    """
    import shim_torch as torch
    from shim_torch import compiler, nn
    from shim_torch.distributed.tensor import Shard

    weight = module.weight
    split = weight.placements[0]
    return (
        type(module).forward is nn.Linear.forward
        and mesh.size() > 1
        and 0 <= dim < x.dim() - 1
        and x.shape[-1] == weight.shape[1]
        and type(split) is Shard
        and weight.shape[split.dim] % mesh.size() == 0
        and (uneven or x.shape[dim] % mesh.size() == 0)
        and x.numel() > 0
        and x.dtype == weight.dtype
        and not torch.is_autocast_enabled(x.device.type)
        and not compiler.is_compiling()
    )


def local_parameters(module: Any) -> tuple[Any, Any]:
    """This process's part of weight and bias."""
    return module.weight.to_local(), None if module.bias is None else module.bias.to_local()
