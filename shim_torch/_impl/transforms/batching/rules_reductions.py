"""Batching of reductions: the batch is no dim of theirs."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten
from shim_torch._impl.transforms.batching.along_dim import along_dim, bound, called
from shim_torch._impl.transforms.batching.fallback import loop
from shim_torch._impl.transforms.batching.registry import RULES, Call, rule, wrap

Tensor = _core.Tensor


def _of_all(to: str, **more: Any) -> Any:
    """A reduction of all elements as the one over the last of two dims."""

    def function(call: Call, args: Any, kwargs: Any) -> Any:
        value = args[0].value
        name, _, overload = to.partition(".")
        run = getattr(getattr(aten, name), overload or "default")
        flat = value.reshape(value.shape[0], -1)
        found = run(flat, **more, **kwargs)
        return wrap(call, found[0] if isinstance(found, tuple) else found)

    return function


for _name, _to in {
    "sum": "sum.dim_IntList",
    "mean": "mean.dim",
    "any": "any.dim",
    "all": "all.dim",
    "prod": "prod.dim_int",
    "max": "max.dim",
    "min": "min.dim",
    "median": "median.dim",
    "nanmedian": "nanmedian.dim",
}.items():
    _list = _name in ("sum", "mean")
    RULES[f"{_name}.default"] = _of_all(_to, dim=[1] if _list else 1)


@rule("sum.dim_IntList", "mean.dim", "amax", "amin", "var.correction", "std.correction", "linalg_vector_norm", "nansum")
def _reduced(call: Call, args: Any, kwargs: Any) -> Any:
    """As others along a dim; of an item without dims, the batch gets a dim to reduce."""
    given = bound(call.func, args, kwargs)
    if given["self"].dim():
        return along_dim(call, args, kwargs)
    given["self"], given["dim"] = given["self"].value.unsqueeze(1), [1]
    given.pop("keepdim", None)
    return wrap(call, called(call.func, given))


@rule("argmax", "argmin")
def _arg_extreme(call: Call, args: Any, kwargs: Any) -> Any:
    given = bound(call.func, args, kwargs)
    if given.get("dim") is not None and given["self"].dim():
        return along_dim(call, args, kwargs)
    if given.get("keepdim"):
        return loop(call, args, kwargs)
    return wrap(call, call.func(args[0].value.reshape(call.size, -1), 1))


@rule("aminmax")
def _both_extremes(call: Call, args: Any, kwargs: Any) -> Any:
    """Without a dim those of all elements of an item."""
    given = bound(call.func, args, kwargs)
    dims = given["self"].dim()
    if given.get("dim") is not None and dims:
        return along_dim(call, args, kwargs)
    found = call.func(given["self"].value.reshape(call.size, -1), dim=1)
    kept = [1] * dims if given.get("keepdim") else []
    return tuple(wrap(call, f.reshape(call.size, *kept)) for f in found)


@rule("_is_any_true", "_is_all_true")
def _truth_of_items(call: Call, args: Any, kwargs: Any) -> Any:
    """One answer for each item."""
    flat = args[0].value.reshape(call.size, -1)
    return wrap(call, flat.any(1) if call.func._qualified_op_name.endswith("any_true") else flat.all(1))
