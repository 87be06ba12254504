"""How each operator runs over a whole batch: rules by kind of operator, and a loop over the batch for the others."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from shim_torch._impl.library.registrations import VMAP_RULES
from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.operators import named, records
from shim_torch._impl.tensor.python_functions import result_type
from shim_torch._impl.transforms.batching.tensors import (
    CONTROL_FLOW,
    ITEM,
    BatchedTensor,
    VmapInfo,
    _wrapped,
    stack,
    whole,
)
from shim_torch._ops import ops

Tensor = _core.Tensor

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}
loops = True  # whether operators without a rule run item by item


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Registers a function (call, args, kwargs) of a ``Call`` for operators of these names (one overload, or all)."""

    def decorate(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return decorate


class Call:
    """One operator over the batch of ``level``."""

    def __init__(self, func: Any, level: int, size: int) -> None:
        self.func, self.level, self.size = func, level, size

    def mine(self, x: Any) -> bool:
        return isinstance(x, BatchedTensor) and x.level == self.level

    def whole(self, x: Any) -> Any:
        """A tensor's value over the batch."""
        return whole(x, self.level, self.size)

    def value(self, x: Any) -> Any:
        """A batched tensor's value; anything else as it is."""
        return x.value if self.mine(x) else x

    def shared(self, x: Any) -> Any:
        """A value that is the same for all items, which an expanded one is, as a tensor without the batch."""
        if self.mine(x) and self.size > 1 and not isinstance(x.value, BatchedTensor) and x.value.stride(0) == 0:
            return x.value.select(0, 0)
        return x

    def padded(self, x: Any, dims: int) -> Any:
        """A value whose dims after the batch are brought to ``dims`` by ones in front, to broadcast."""
        if not self.mine(x) or x.dim() >= dims:
            return self.value(x)
        return x.value.reshape(x.value.shape[:1] + (1,) * (dims - x.dim()) + x.value.shape[1:])


def _tensors(args: Any, kwargs: Any) -> list[Any]:
    found: list[Any] = []
    for a in (*args, *kwargs.values()):
        if isinstance(a, Tensor):
            found.append(a)
        elif isinstance(a, (list, tuple)):
            found.extend(x for x in a if isinstance(x, Tensor))
    return found


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
    inner = max((t for t in _tensors(args, kwargs) if isinstance(t, BatchedTensor)), key=lambda t: t.level)
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
    return (found or _loop)(call, args, kwargs)


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
    wrapped = [x if d is None else _wrapped(x.movedim(d, 0), call.level) for x, d in zip(leaves, out, strict=True)]
    return tree_unflatten(wrapped, spec)


def _wrap(call: Call, found: Any) -> Any:
    return _wrapped(found, call.level)


def _spread(call: Call, found: Any) -> Any:
    """One result for all items as a batched tensor: what came from the batch stays in it, so that gradients find back."""
    return _wrap(call, found.expand((call.size, *found.shape)).clone(memory_format=_core.contiguous_format))


# --- operators of elements ------------------------------------------------------------------------------------------


@cache
def _by_record(name: str, overload: str) -> Rule | None:
    """The rule that follows from the record of an overload, or of the one whose name is the operator's."""
    own = records().get(f"aten::{name}.{overload}" if overload not in ("", "default") else f"aten::{name}")
    main = own or records().get(f"aten::{name}")
    if main is not None and main.traits.get("batching", "").startswith("along_dim"):
        return rules_shapes.along_dim
    if name.endswith("_"):
        return None
    out = "out" in overload.lower()  # a result of the batch does not fit into an item's
    found = (main,) if main is not None and (own or out) else () if out else named(name)
    wanted = (r.traits.get("batching", "pointwise" if r.pointwise else "") for r in found)
    return _pointwise if "pointwise" in wanted else None


def _pointwise(call: Call, args: Any, kwargs: Any) -> Any:
    """Operands aligned from the right behind the batch; numbers without dims promote as they do for one item."""
    tensors = _tensors(args, kwargs)
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

    return _wrap(call, call.func(*map(prepared, args), **{k: prepared(v) for k, v in kwargs.items()}))


# --- in place -------------------------------------------------------------------------------------------------------


def wider_than_target(name: str) -> str:
    """Why an operator can't write a batch to a tensor that is none."""
    return (
        f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
        "elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. "
        f"Please try to use out-of-place operators instead of {name}. If said operator is being called inside the PyTorch "
        "framework, please file a bug report instead."
    )


def _in_place(call: Call, args: Any, kwargs: Any) -> Any:
    """The operator that makes a new tensor, copied into the first one's memory."""
    target = args[0]
    if not call.mine(target):
        name = "inplace arithmetic" if len(args) > 1 and isinstance(args[1], Tensor) else call.func._qualified_op_name
        raise RuntimeError(wider_than_target(name))
    packet = getattr(ops.aten, call.func._qualified_op_name.removeprefix("aten::").removesuffix("_"), None)
    overload = call.func._overloadname
    if packet is None or overload not in packet.overloads():
        return _loop(call, args, kwargs)
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


@rule("fill_", "zero_")
def _fill_in(call: Call, args: Any, kwargs: Any) -> Any:
    if not call.mine(args[0]):
        return _in_place(call, args, kwargs)
    if any(isinstance(a, Tensor) for a in args[1:]):  # a number of its own for every item
        args[0].value.copy_(call.padded(args[1], args[0].dim()))
        return args[0]
    call.func(args[0].value, *args[1:])
    return args[0]


# --- what has no rule -----------------------------------------------------------------------------------------------


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


def _loop(call: Call, args: Any, kwargs: Any) -> Any:
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
        return _wrap(call, torch.stack(results))
    if isinstance(first, (list, tuple)):
        parts = [_stacked(call, list(column)) for column in zip(*results, strict=True)]
        return type(first)(parts) if type(first) in (list, tuple) else type(first)(parts)
    return first


from shim_torch._impl.transforms.batching import rules_linear, rules_shapes  # noqa: E402,F401 (they register theirs)


@rule("_is_any_true", "_is_all_true")
def _truth_of_items(call: Call, args: Any, kwargs: Any) -> Any:
    """One answer for each item."""
    flat = args[0].value.reshape(call.size, -1)
    return _wrap(call, flat.any(1) if call.func._qualified_op_name.endswith("any_true") else flat.all(1))
