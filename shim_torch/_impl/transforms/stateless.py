"""Modules as functions of their parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._impl.table.calls import torch


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """``module(*args, **kwargs)`` with some of its parameters and buffers replaced, by full name."""
    if isinstance(parameter_and_buffer_dicts, dict):
        given = parameter_and_buffer_dicts
    else:
        given = {}
        for part in parameter_and_buffer_dicts:
            if given.keys() & part.keys():
                raise ValueError(
                    f"{sorted(given.keys() & part.keys())} appeared in multiple dictionaries; behavior of functional call is ambiguous"
                )
            given.update(part)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*args, **(kwargs or {}))


_ABSENT = object()


def _home(module: Any, name: str) -> tuple[Any, str]:
    """The submodule that holds a name, and the name in it."""
    path, _, key = name.rpartition(".")
    for part in path.split(".") if path else ():
        found = getattr(module, part, None)
        if found is None:
            raise AttributeError(f"{type(module).__name__} has no attribute `{part}`")
        module = found
    return module, key


def exchange(module: Any, name: str, value: Any, absent: Any, check: Callable[[str, Any], None]) -> Any:
    """Puts a value in the place of the module's own parameter, buffer or attribute; what was there.

    ``absent`` stands for nothing: as ``value`` it takes the name away. ``check`` may refuse what an attribute was.
    """
    for table in (module._parameters, module._buffers):
        if name in table:
            old = table[name]
            if value is absent:
                del table[name]
            else:
                table[name] = value
            return old
    old = getattr(module, name, absent)
    check(name, old)
    if value is not absent:
        setattr(module, name, value)
    elif old is not absent:
        delattr(module, name)
    return old


def _check_tensor(name: str, old: Any) -> None:
    if old is not _ABSENT and old is not None and not isinstance(old, _core.TensorBase):
        raise TypeError(f"attribute `{name}`: {old} is not an instance of torch.Tensor")


def _swapped(module: Any, name: str, value: Any) -> Any:
    """Puts a value in the place of a parameter, buffer or plain attribute; what was there. _ABSENT takes it away."""
    if value is not _ABSENT and value is not None and not isinstance(value, _core.TensorBase):
        raise TypeError(f"{value} is not an instance of torch.Tensor")
    holder, key = _home(module, name)
    if not key:
        raise KeyError('tensor name can\'t be empty string ""')
    return exchange(holder, key, value, _ABSENT, _check_tensor)


def _names(module: Any) -> dict[str, Any]:
    """Parameters and buffers by full name, with those that several names share under each of them."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _untied(names: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The values with those of tied names added: one name's value is all names' value."""
    by_tensor: dict[int, list[str]] = {}
    for name, tensor in names.items():
        by_tensor.setdefault(id(tensor), []).append(name)
    values = dict(given)
    for group in by_tensor.values():
        known = sorted(n for n in group if n in given)
        if len({id(given[n]) for n in known}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {known}, which are tied. Consider using tie_weights=False"
            )
        values.update({n: given[known[0]] for n in group if known})
    return values


@contextlib.contextmanager
def _replaced(module: Any, given: dict[str, Any], tie_weights: bool, strict: bool) -> Iterator[None]:
    names = _names(module) if tie_weights or strict else {}
    values = _untied(names, given) if tie_weights else dict(given)
    if strict:
        quoted = [
            ", ".join(f"'{n}'" for n in sorted(group)) for group in (values.keys() - names, names.keys() - values)
        ]
        errors = [f"{w} key(s): {q}." for w, q in zip(("Unexpected", "Missing"), quoted, strict=True) if q]
        if errors:
            raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(errors))
    old: dict[str, Any] = {}
    try:
        for name, value in values.items():
            old[name] = _swapped(module, name, value)
        yield
    finally:  # what the module assigned meanwhile is the caller's
        for name, value in old.items():
            now = _swapped(module, name, value)
            if name in given:
                given[name] = now


def check_alike(name: str, models: Sequence[Any]) -> None:
    """RuntimeError for no models, or models of several modes or classes."""
    if not models:
        raise RuntimeError(f"{name}: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or not any(m.training for m in models)):
        raise RuntimeError(f"{name}: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError(f"{name}: Expected all models to be of the same class.")


def stack_module_state(models: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of several like modules, each stacked along a new first dim."""
    check_alike("stack_module_state", models)

    def stacked(tables: list[dict[str, Any]], leaf: bool) -> dict[str, Any]:
        made = {}
        for name in tables[0]:
            if leaf and len({t[name].requires_grad for t in tables}) > 1:
                raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
            value = torch.stack([t[name].detach() for t in tables])
            made[name] = value.requires_grad_(tables[0][name].requires_grad) if leaf else value
        return made

    parameters = stacked([dict(m.named_parameters()) for m in models], True)
    return parameters, stacked([dict(m.named_buffers()) for m in models], False)


naming.present(globals(), "torch.func")
