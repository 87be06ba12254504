"""The norm of several tensors that are spread, with one reduction for all."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.distributed.parts import _as_copies
from shim_torch._impl.distributed.redistribute import move
from shim_torch.distributed.tensor.placement_types import Partial, Replicate, _Split


def total_norm(tensors: list[Any], order: float) -> Any:
    """The norm of order ``order`` of all elements, a whole copy in each process."""
    import shim_torch as torch

    by_kind: dict[Any, list[Any]] = {}
    for t in tensors:
        split = tuple(isinstance(p, _Split) for p in t.placements)
        if any(p.is_partial() for p in t.placements):
            t, split = t.redistribute(placements=[Replicate()] * t.device_mesh.ndim), (False,) * t.device_mesh.ndim
        by_kind.setdefault((t.device_mesh, split), []).append(t)
    totals = []
    for (mesh, split), alike in by_kind.items():
        local = [t._local_tensor for t in alike if t._local_tensor.numel()]
        norm = (
            torch.nn.utils.get_total_norm(local, order)
            if local
            else alike[0]._local_tensor.new_full((), math.inf if order == -math.inf else 0.0)
        )
        sums = math.isfinite(order) and order != 0
        how = "sum" if math.isfinite(order) else "max" if order > 0 else "min"
        norm = norm.pow(order) if sums else norm
        parts = [Partial(how) if s else Replicate() for s in split]
        norm = move(norm, norm.shape, mesh, parts, [Replicate()] * mesh.ndim)
        totals.append((norm.pow(1 / order) if sums else norm, mesh))
    if len(totals) == 1:
        return _as_copies(*totals[0])
    whole = torch.linalg.vector_norm(torch.stack([norm for norm, _ in totals]), order)
    return _as_copies(whole, totals[0][1])
