"""Optimizers' state dicts by the names of parameters: flat ones, and from names to the numbers that optimizers take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def flat(value: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """The keys of a state of dicts as one, ``prefix.key.key``. Errors: NotImplementedError for objects that are no numbers or tensors."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, f"{prefix}.{key}")
        return
    import shim_torch as torch

    if not isinstance(value, (torch.Tensor, int, float)):
        raise NotImplementedError(
            f"Flattening optimizer state_dict only supports tensor, int, float, dict states now. Type is {type(value)}."
        )
    yield prefix, value


def nested(given: dict[str, Any], prefix: str) -> Any:
    """What ``flat`` spread over keys that begin with ``prefix``."""
    if prefix in given:
        return given[prefix]
    found: dict[str, Any] = {}
    for key, value in given.items():
        if key.startswith(f"{prefix}."):
            *path, last = key[len(prefix) + 1 :].split(".")
            inner = found
            for part in path:
                inner = inner.setdefault(part, {})
            inner[last] = value
    return found


def numbered(optimizer: Any, names: dict[Any, list[str]], saved: dict[str, Any], strict: bool) -> dict[str, Any]:
    """The part of a state dict by names that is this optimizer's, for its ``load_state_dict``."""
    state: dict[str, Any] = {}
    groups = []
    for group in optimizer.param_groups:
        kept: list[str] = []
        settings: dict[str, Any] = {}
        for parameter in group["params"]:
            owners = {name: g for name in names[parameter] for g in saved["param_groups"] if name in g["params"]}
            chosen = next(iter(owners), names[parameter][0])
            kept.append(chosen)
            settings |= {key: value for key, value in owners.get(chosen, {}).items() if key != "params"}
            if not parameter.requires_grad:
                continue
            if chosen in saved["state"]:
                state[chosen] = saved["state"][chosen]
            elif strict and saved["state"]:
                raise RuntimeError(
                    f"Missing optimizer state for parameter '{chosen}' in checkpoint. The parameter requires gradients but "
                    "has no saved optimizer state. To load anyway, use StateDictOptions(strict=False)."
                )
        if not group["params"]:
            settings = next((dict(g) for g in saved["param_groups"] if not g["params"]), {})
        groups.append({**settings, "params": kept})
    return {"state": state, "param_groups": groups}


def unflattened(optimizer: Any, names: dict[Any, list[str]], given: dict[str, Any]) -> dict[str, Any]:
    """A flattened state dict by names, as far as this optimizer goes."""
    state, groups = {}, []
    for group in optimizer.param_groups:
        kept = []
        settings: dict[str, Any] = {}
        for parameter in group["params"]:
            name = next((n for n in names[parameter] if any(f"param_groups.{n}.{key}" in given for key in group)), None)
            if name is None:
                raise KeyError(f"param_groups.{names[parameter][0]}.{next(k for k in group if k != 'params')}")
            kept.append(name)
            if parameter.requires_grad:
                state[name] = {key: nested(given, f"state.{name}.{key}") for key in optimizer.state[parameter]}
            for key in group:
                if key == "params":
                    continue
                value = given[f"param_groups.{name}.{key}"]
                if settings.setdefault(key, value) != value:
                    raise RuntimeError(
                        "All the parameters in the same parameter group should have the same saved param_group value. But "
                        f"{name}.{key} is {value} while other(s) is {settings[key]}."
                    )
        groups.append({**settings, "params": kept})
    return {"state": state, "param_groups": groups}
