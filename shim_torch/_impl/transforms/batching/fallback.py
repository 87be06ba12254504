"""Operators without a rule for batches: once for each item, or an error."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch
from shim_torch._impl.transforms.batching.registry import RULES, Call, rule, wrap
from shim_torch._impl.transforms.batching.tensors import CONTROL_FLOW, ITEM

Tensor = _core.Tensor

loops = True  # whether operators without a rule run item by item


def _item(call: Call, args: Any, kwargs: Any) -> Any:
    raise RuntimeError(ITEM)


def _control_flow(call: Call, args: Any, kwargs: Any) -> Any:
    raise RuntimeError(CONTROL_FLOW)


def _dynamic(call: Call, args: Any, kwargs: Any) -> Any:
    raise RuntimeError(
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
        f"{call.func._qualified_op_name}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this "
        "feature."
    )


RULES.update({"_local_scalar_dense": _item, "item": _item, "is_nonzero": _control_flow})
RULES.update(
    dict.fromkeys(("nonzero", "_unique2", "unique_dim", "unique_consecutive", "masked_select", "unique"), _dynamic)
)


@rule("allclose")
def _allclose(call: Call, args: Any, kwargs: Any) -> Any:
    raise RuntimeError(
        "vmap over torch.allclose isn't supported yet. Please file an issue at https://github.com/pytorch/pytorch/issues if you "
        "need this feature."
    )


@rule("equal")
def _equal(call: Call, args: Any, kwargs: Any) -> Any:
    raise RuntimeError("Batching rule not implemented for aten::equal. We could not generate a fallback.")


def loop(call: Call, args: Any, kwargs: Any) -> Any:
    """The operator once for each item; writes go to the items' memory."""
    if not loops:
        raise RuntimeError(f"{call.func._qualified_op_name} hit the vmap fallback which is currently disabled")
    if not call.size:
        raise NotImplementedError(
            f"torch.func.vmap: {call.func._qualified_op_name} over a batch of size 0 is not supported by shim-torch"
        )

    def item(x: Any, i: int) -> Any:
        if call.mine(x):
            return x.value.select(0, i)
        return type(x)([item(y, i) for y in x]) if isinstance(x, (list, tuple)) else x

    results = [
        call.func(*[item(a, i) for a in args], **{k: item(v, i) for k, v in kwargs.items()}) for i in range(call.size)
    ]
    if call.func._qualified_op_name.endswith("_") and args and call.mine(args[0]):
        return args[0]
    return _stacked(call, results)


def _stacked(call: Call, results: list[Any]) -> Any:
    first = results[0]
    if isinstance(first, Tensor):
        return wrap(call, torch.stack(results))
    if isinstance(first, (list, tuple)):
        parts = [_stacked(call, list(column)) for column in zip(*results, strict=True)]
        return type(first)(parts) if type(first) in (list, tuple) else type(first)(parts)
    return first
