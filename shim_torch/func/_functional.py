"""Modules as functions of their parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from native import _core


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
    for value in given.values():
        if not isinstance(value, _core.TensorBase):
            raise TypeError(f"{value!r} is not an instance of torch.Tensor")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def _slots(module: Any) -> dict[str, tuple[dict[str, Any], str]]:
    """Full name -> (the dictionary of a module, the key in it)."""
    found = {}
    for prefix, part in module.named_modules(remove_duplicate=False):
        for table in (part._parameters, part._buffers):
            for key, value in table.items():
                if value is not None:
                    found[f"{prefix}.{key}" if prefix else key] = (table, key)
    return found


@contextlib.contextmanager
def _replaced(module: Any, given: dict[str, Any], tie_weights: bool, strict: bool) -> Iterator[None]:
    slots = _slots(module)
    unknown, absent = sorted(given.keys() - slots.keys()), sorted(slots.keys() - given.keys())
    if strict and (unknown or absent):
        raise RuntimeError(f"Error(s) in loading: unexpected key(s): {unknown}, missing key(s): {absent}")
    if unknown:
        raise AttributeError(f"{type(module).__name__} has no attribute `{unknown[0]}`")
    values = dict(given)
    if tie_weights:
        by_tensor: dict[int, list[str]] = {}
        for name, (table, key) in slots.items():
            by_tensor.setdefault(id(table[key]), []).append(name)
        for names in by_tensor.values():
            known = [n for n in names if n in given]
            if any(given[n] is not given[known[0]] for n in known[1:]):
                raise ValueError(
                    f"functional_call got multiple values for keys {names}, which are tied. Consider using tie_weights=False"
                )
            values.update({n: given[known[0]] for n in names if known})
    old = []
    try:
        for name, value in values.items():
            table, key = slots[name]
            old.append((table, key, table[key]))
            table[key] = value
        yield
    finally:
        for table, key, value in reversed(old):
            table[key] = value


def stack_module_state(models: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of several like modules, each stacked along a new first dim."""
    import shim_torch

    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or not any(m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(tables: list[dict[str, Any]], leaf: bool) -> dict[str, Any]:
        made = {}
        for name in tables[0]:
            value = shim_torch.stack([t[name].detach() for t in tables])
            made[name] = value.requires_grad_(tables[0][name].requires_grad) if leaf else value
        return made

    parameters = stacked([dict(m.named_parameters()) for m in models], True)
    return parameters, stacked([dict(m.named_buffers()) for m in models], False)
