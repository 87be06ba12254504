"""Batching of the loss of classes: one for every item."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.transforms.batching.fallback import loop
from shim_torch._impl.transforms.batching.registry import Call, rule, wrap
from shim_torch._impl.transforms.batching.tensors import BatchedTensor


@rule("nll_loss_forward")
def _nll_loss(call: Call, args: Any, kwargs: Any) -> Any:
    """Picked from the rows of all items at once, then reduced over an item's own."""
    x, target, weight, reduction, ignored = args
    rows = target.dim()
    if kwargs or x.dim() != rows + 1 or rows > 1 or (weight is not None and call.mine(weight)) or not call.mine(x):
        return loop(call, args, kwargs)
    values, targets = x.value, call.whole(target)
    if targets.dtype != _core.int64 or isinstance(targets, BatchedTensor) or isinstance(values, BatchedTensor):
        return loop(call, args, kwargs)
    kept = targets != ignored
    places = targets.masked_fill(~kept, 0)
    if places.numel() and not 0 <= int(places.min()) <= int(places.max()) < values.shape[-1]:
        return loop(call, args, kwargs)  # which raises the operator's own error
    each = values.gather(-1, places.unsqueeze(-1)).squeeze(-1)
    counted = kept.to(values.dtype) if weight is None else weight[places].to(values.dtype) * kept
    each = (each * -counted).where(kept, 0)  # an ignored row may hold what is no number
    if reduction == 0:
        return wrap(call, each), wrap(call, each.new_zeros((call.size,)))
    total = counted.sum(-1) if rows else counted
    found = each.sum(-1) if rows else each
    return wrap(call, found / total if reduction == 1 else found), wrap(call, total)
