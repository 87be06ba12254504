"""Which rule an operator runs by over a whole batch: its own, that of operators of elements, the one in place, or the loop."""

from __future__ import annotations

from functools import cache
from typing import Any

from shim_torch._impl.library.registrations import VMAP_RULES
from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.operators import named, records
from shim_torch._impl.tensor.python_functions import result_type
from shim_torch._impl.transforms.batching import (  # noqa: F401 (they register theirs)
    rules_indexing,
    rules_linear,
    rules_losses,
    rules_reductions,
    rules_views,
)
from shim_torch._impl.transforms.batching.along_dim import along_dim, bound
from shim_torch._impl.transforms.batching.autograd_function import VmapInfo
from shim_torch._impl.transforms.batching.fallback import loop
from shim_torch._impl.transforms.batching.registry import RULES, Call, Rule, rule, tensors_in, wrap
from shim_torch._impl.transforms.batching.tensors import BatchedTensor, stack, wider_than_target, wrapped
from shim_torch._ops import ops

Tensor = _core.Tensor


def batched(func: Any, args: Any, kwargs: Any) -> Any:
    """An operator that was given batched tensors: run over the batch of the innermost of their levels.

    Views of the values are views to whoever is outside, as the operators that autograd runs itself are.
    """
    below = _core._set_below_dispatch(False)
    try:
        return _batched(func, args, kwargs)
    finally:
        _core._set_below_dispatch(below)


def _batched(func: Any, args: Any, kwargs: Any) -> Any:
    inner = max((t for t in tensors_in(args, kwargs) if isinstance(t, BatchedTensor)), key=lambda t: t.level)
    call = Call(func, inner.level, inner.value.shape[0])
    name = func._qualified_op_name.removeprefix("aten::")
    overload = func._overloadname
    found = RULES.get(f"{name}.{overload}") or RULES.get(name) or _by_record(name, overload)
    if found is None and VMAP_RULES:
        overload = "" if func._overloadname in ("", "default") else f".{func._overloadname}"
        own = VMAP_RULES.get(func._qualified_op_name + overload)
        if own is not None:
            return _by_own_rule(call, own, args, kwargs)
    if found is None and name.endswith("_") and not name.endswith("__"):
        found = _in_place
    return (found or loop)(call, args, kwargs)


def _by_own_rule(call: Call, own: Any, args: Any, kwargs: Any) -> Any:
    """The rule that ``torch.library.register_vmap`` was given."""
    from shim_torch.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_map, tree_unflatten

    randomness = next((s.randomness for s in stack if s.id == call.level), "error")
    dims = tree_map(lambda x: 0 if call.mine(x) else None, tuple(args))
    values = tree_map(call.value, tuple(args)), tree_map(call.value, dict(kwargs))
    found = own(VmapInfo(call.size, randomness), dims, *values[0], **values[1])
    if not (isinstance(found, tuple) and len(found) == 2):
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with "
            f"the output. Got a {type(found)} instead"
        )
    leaves, spec = tree_flatten(found[0])
    out = _broadcast_to_and_flatten(found[1], spec, is_leaf=lambda d: d is None or isinstance(d, int)) or []
    results = [x if d is None else wrapped(x.movedim(d, 0), call.level) for x, d in zip(leaves, out, strict=True)]
    return tree_unflatten(results, spec)


# --- operators of elements ------------------------------------------------------------------------------------------


@cache
def _by_record(name: str, overload: str) -> Rule | None:
    """The rule that follows from the record of an overload, or of the one whose name is the operator's."""
    own = records().get(f"aten::{name}.{overload}" if overload not in ("", "default") else f"aten::{name}")
    main = own or records().get(f"aten::{name}")
    if main is not None and main.traits.get("batching", "").startswith("along_dim"):
        return along_dim
    if name.endswith("_"):
        return None
    out = "out" in overload.lower()  # a result of the batch does not fit into an item's
    found = (main,) if main is not None and (own or out) else () if out else named(name)
    wanted = (r.traits.get("batching", "pointwise" if r.pointwise else "") for r in found)
    return _pointwise if "pointwise" in wanted else None


def _pointwise(call: Call, args: Any, kwargs: Any) -> Any:
    """Operands aligned from the right behind the batch; numbers without dims promote as they do for one item."""
    tensors = tensors_in(args, kwargs)
    dims = max(t.dim() for t in tensors)
    dtypes = {t.dtype for t in tensors}

    def prepared(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        if call.mine(x) and dims and not x.dim() and len(dtypes) > 1 and x.dtype != _core.bool:
            full = [t for t in tensors if t.dim()]
            kinds = result_type(full[0], x) if full else x.dtype
            return call.padded(x, dims).to(kinds)
        return call.padded(x, dims)

    return wrap(call, call.func(*map(prepared, args), **{k: prepared(v) for k, v in kwargs.items()}))


# --- in place -------------------------------------------------------------------------------------------------------


def _in_place(call: Call, args: Any, kwargs: Any) -> Any:
    """The operator that makes a new tensor, copied into the first one's memory."""
    target = args[0]
    if not call.mine(target):
        name = "inplace arithmetic" if len(args) > 1 and isinstance(args[1], Tensor) else call.func._qualified_op_name
        raise RuntimeError(wider_than_target(name))
    packet = getattr(ops.aten, call.func._qualified_op_name.removeprefix("aten::").removesuffix("_"), None)
    overload = call.func._overloadname
    if packet is None or overload not in packet.overloads():
        return loop(call, args, kwargs)
    found = batched(getattr(packet, overload), args, kwargs)
    if found.shape != target.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(found.shape)}"
        )
    target.value.copy_(call.whole(found))
    return target


@rule("squeeze_", "unsqueeze_", "transpose_", "swapdims_", "swapaxes_", "t_")
def _view_in_place(call: Call, args: Any, kwargs: Any) -> Any:
    """The tensor takes the place of its view."""
    name = call.func._qualified_op_name.removeprefix("aten::").removesuffix("_")
    view = batched(
        getattr(getattr(ops.aten, _VIEWS.get(name, name)), _OVERLOADS.get(name, call.func._overloadname)),
        args,
        kwargs,
    )
    args[0].value = view.value
    return _core.take_view(args[0], view)


_VIEWS = {"swapdims": "transpose", "swapaxes": "transpose"}
_OVERLOADS = dict.fromkeys(("transpose", "swapdims", "swapaxes"), "int")


@rule("copy_")
def _copy_in(call: Call, args: Any, kwargs: Any) -> Any:
    target, source = args[0], args[1]
    if not call.mine(target):
        return _in_place(call, args, kwargs)
    target.value.copy_(call.padded(source, target.dim()))
    return target


@rule("masked_fill.Tensor", "masked_fill_.Tensor")
def _masked(call: Call, args: Any, kwargs: Any) -> Any:
    """A number of its own for every item is written by ``where``."""
    target, mask, value = bound(call.func, args, kwargs).values()
    in_place = call.func._qualified_op_name.endswith("_")
    if in_place and not call.mine(target):
        raise RuntimeError(wider_than_target("aten::masked_fill_"))
    if not call.mine(value):
        return (_in_place if in_place else _pointwise)(call, (target, mask, value), {})
    if value.dim():
        raise RuntimeError(
            f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s)."
        )
    dims = max(target.dim(), mask.dim())
    found = torch.where(call.padded(mask, dims), call.padded(value, dims).to(target.dtype), call.padded(target, dims))
    if not in_place:
        return wrap(call, found)
    target.value.copy_(found)
    return target


@rule("fill_", "zero_")
def _fill_in(call: Call, args: Any, kwargs: Any) -> Any:
    if not call.mine(args[0]):
        return _in_place(call, args, kwargs)
    if any(isinstance(a, Tensor) for a in args[1:]):  # a number of its own for every item
        args[0].value.copy_(call.padded(args[1], args[0].dim()))
        return args[0]
    call.func(args[0].value, *args[1:])
    return args[0]
