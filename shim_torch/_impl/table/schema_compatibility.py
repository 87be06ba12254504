"""Whether an operator's schema still serves the calls that an older one of it served (PyTorch's rules for its releases)."""

from __future__ import annotations

from typing import Any


def _plain(kind: str) -> str:
    return str(kind).replace("SymInt", "int")


def _is_subtype(kind: str, of: str) -> bool:
    """Whether every value of a type is one of the other: an int is a number, a Tensor an Optional[Tensor]."""
    kind, of = _plain(kind), _plain(of)
    if kind == of or of == "Any" or (of == "number" and kind in ("int", "float", "complex")):
        return True
    if of.startswith("Optional["):
        inner = of[len("Optional[") : -1]
        return kind == "NoneType" or _is_subtype(kind.removeprefix("Optional[").removesuffix("]"), inner)
    return False


def _alias(argument: Any) -> Any:
    info = argument.alias_info
    return None if info is None else (info.is_write, frozenset(info.before_set), frozenset(info.after_set))


def _serves(new: Any, old: Any) -> bool:
    """Whether one argument takes what the older one took."""
    if new.kwarg_only and not old.kwarg_only:
        return False
    if old.has_default_value() and (not new.has_default_value() or new.default_value != old.default_value):
        return False
    return (new.name, new.N, _alias(new)) == (old.name, old.N, _alias(old)) and _is_subtype(old.type, new.type)


def _gives(new: Any, old: Any) -> bool:
    """Whether one result is what the older one was."""
    return (new.name, new.N, _alias(new)) == (old.name, old.N, _alias(old)) and _is_subtype(new.type, old.type)


def is_backward_compatible(new: Any, old: Any) -> bool:
    """Whether calls written for ``old`` mean the same with ``new``: arguments may be added at the end with defaults."""
    if (new.name, new.overload_name, new.is_vararg, new.is_varret) != (
        old.name,
        old.overload_name,
        old.is_vararg,
        old.is_varret,
    ):
        return False
    if len(new.returns) != len(old.returns) or len(new.arguments) < len(old.arguments):
        return False
    if not all(map(_gives, new.returns, old.returns)):
        return False
    inputs, older = ([a for a in s.arguments if not a.is_out] for s in (new, old))
    outs, older_outs = ([a for a in s.arguments if a.is_out] for s in (new, old))
    if len(inputs) < len(older) or len(outs) < len(older_outs):
        return False
    return (
        all(map(_serves, inputs, older))
        and all(a.has_default_value() for a in inputs[len(older) :])
        and all(map(_serves, outs, older_outs))
    )


def _serves_older(new: Any, old: Any) -> bool:
    """Whether what is given for one argument may be given for the older one."""
    if (new.name, new.N, _alias(new)) != (old.name, old.N, _alias(old)) or (old.kwarg_only and not new.kwarg_only):
        return False
    if new.has_default_value() != old.has_default_value() or new.default_value != old.default_value:
        return False
    return _is_subtype(new.type, old.type)


def forward_compatible(new: Any, old: Any) -> tuple[bool, str]:
    """Whether calls written for ``new`` mean the same with ``old``, and the reason why not."""
    if (new.name, new.overload_name, new.is_vararg, new.is_varret, len(new.returns)) != (
        old.name, old.overload_name, old.is_vararg, old.is_varret, len(old.returns)
    ):  # fmt: skip
        return False, ""
    first_outs = [next((i for i, a in enumerate(s.arguments) if a.is_out), len(s.arguments)) for s in (new, old)]
    inputs, older = new.arguments[: first_outs[0]], old.arguments[: first_outs[1]]
    outs, older_outs = new.arguments[first_outs[0] :], old.arguments[first_outs[1] :]
    if len(outs) != len(older_outs):
        return False, "Function schema should have the same number of out arguments"
    for ours, theirs in zip(inputs, older, strict=False):
        if not _serves_older(ours, theirs):
            return False, f"'{ours.name}' is not forward compatible with the older version of the schema"
    for added in inputs[len(older) :]:
        which = f"Function schema is not forward compatible since the new argument '{added.name}' of type {added.type.str()}"
        if not added.has_default_value():
            return False, f"{which} did not provide a default value."
        if isinstance(added.default_value, (list, tuple, dict)) or added.type.kind() in ("ListType", "DictType"):
            return False, f"{which} has a container type as its default value."
    for ours, theirs in zip(outs, older_outs, strict=True):
        if not _serves_older(ours, theirs):
            return False, f"Out argument '{ours.name}' is not FC with the older version of the schema"
    return True, ""
