"""The operators that give new values, for those that write to their arguments or share memory with them."""

from __future__ import annotations

from functools import cache
from typing import Any


def aten() -> Any:
    """``torch.ops.aten``, whose overloads are what handlers are given."""
    from shim_torch._ops import ops

    return ops.aten


_OTHER = {
    "bernoulli_.float": "bernoulli.p", "normal_.": "normal_functional.", "masked_fill_.Scalar": "masked_fill.Scalar",
}  # fmt: skip
_CUSTOM = (
    "Found a custom (non-ATen) operator whose output has alias annotations: {}. We only support functionalizing operators whose outputs do "
    "not have alias annotations (e.g. 'Tensor(a)' is a Tensor with an alias annotation whereas 'Tensor' is a Tensor without. The '(a)' is "
    "the alias annotation). The alias annotation specifies that the output Tensor shares storage with an input that has the same annotation. "
    "Please check if (1) the output needs to be an output (if not, don't return it), (2) if the output doesn't share storage with any inputs, "
    "then delete the alias annotation. (3) if the output indeed shares storage with an input, then add a .clone() before returning it to "
    "prevent storage sharing and then delete the alias annotation. Otherwise, please file an issue on GitHub."
)


@cache
def refuse_aliases(func: Any) -> None:
    """RuntimeError for a custom operator whose results are said to share memory with its arguments."""
    if func.namespace not in ("aten", "prim", "prims") and any(r.alias_info is not None for r in func._schema.returns):
        raise RuntimeError(_CUSTOM.format(func._schema))


def functional_of(func: Any) -> Any:
    """The operator that gives what one that writes its arguments would have written; NotImplementedError where there is none."""
    namespace, name = func._schema.name.split("::")
    if namespace != "aten":
        raise RuntimeError(_CUSTOM.format(func._schema))
    found = _without_place(name, func._overloadname) if name.endswith("_") else _without_out(func, name)
    if found is None:
        raise NotImplementedError(
            f"torch.func.functionalize: {func} writes to its arguments, and there is no operator that does not"
        )
    return found


def _without_place(name: str, overload: str) -> Any:
    """``aten.add.Tensor`` of ``add_`` and ``Tensor``."""
    other = _OTHER.get(f"{name}.{'' if overload == 'default' else overload}")
    stem, _, variant = other.partition(".") if other else (name.removesuffix("_"), "", overload)
    found = getattr(getattr(aten(), stem, None), variant or "default", None)
    if found is None or found._schema.is_mutable:
        return None
    return found


def _without_out(func: Any, name: str) -> Any:
    """``aten.add.Tensor`` of ``aten.add.out``: the overload with the same other arguments."""
    packet = getattr(aten(), name, None)
    inputs = [(a.name, str(a.type)) for a in func._schema.arguments if not a.is_out]
    for overload in packet.overloads() if packet is not None else ():
        found = getattr(packet, overload)
        if [(a.name, str(a.type)) for a in found._schema.arguments] == inputs and not found._schema.is_mutable:
            return found
    return None


def copying(func: Any) -> Any:
    """``aten.view_copy`` of ``aten.view``."""
    name = func._schema.name.removeprefix("aten::")
    return getattr(getattr(aten(), f"{name}_copy", None), func._overloadname, func)
