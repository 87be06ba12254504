"""``torch.distributed.checkpoint.state_dict``: state dicts by parameters' names. Here modules are whole, on one process.

An optimizer's own ``state_dict`` numbers its parameters; these name them as the module does, so that what is saved can be
loaded by an optimizer that holds them in another order or in other groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]


@dataclass
class StateDictOptions:
    """How a state dict is made."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _offloaded(value: Any) -> Any:
    import shim_torch as torch
    from shim_torch.utils import _pytree as pytree

    return pytree.tree_map_only(torch.Tensor, lambda t: t.detach().cpu(), value)


def _plain(name: str) -> str:
    """A parameter's name in the module that ``torch.compile`` wrapped."""
    return name.replace("_orig_mod.", "")


def _names(model: Any) -> dict[Any, list[str]]:
    """The names of each parameter, several where it is shared."""
    found: dict[Any, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        found.setdefault(parameter, []).append(_plain(name))
    return found


def _optimizers(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, Iterable) else (given,)


def _init_optim_state(optimizer: Any) -> None:
    """Gives an optimizer that has made no step its state: one step of gradients and a learning rate of zero."""
    import shim_torch as torch

    every = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in every):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    for p in every:
        if p.requires_grad:
            p.grad = torch.zeros_like(p)
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if rate is not None:
            group["lr"] = torch.tensor(0.0) if isinstance(rate, torch.Tensor) else 0.0
    optimizer.step(closure=None)
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if rate is not None:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def _flat(value: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{prefix}.{key}")
        return
    import shim_torch as torch

    if not isinstance(value, (torch.Tensor, int, float)):
        raise NotImplementedError(
            f"Flattening optimizer state_dict only supports tensor, int, float, dict states now. Type is {type(value)}."
        )
    yield prefix, value


def _nested(flat: dict[str, Any], prefix: str) -> Any:
    """What ``_flat`` spread over keys that begin with ``prefix``."""
    if prefix in flat:
        return flat[prefix]
    found: dict[str, Any] = {}
    for key, value in flat.items():
        if key.startswith(f"{prefix}."):
            *path, last = key[len(prefix) + 1 :].split(".")
            inner = found
            for part in path:
                inner = inner.setdefault(part, {})
            inner[last] = value
    return found


def _numbered(optimizer: Any, names: dict[Any, list[str]], saved: dict[str, Any], strict: bool) -> dict[str, Any]:
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


def _unflattened(optimizer: Any, names: dict[Any, list[str]], flat: dict[str, Any]) -> dict[str, Any]:
    """A flattened state dict by names, as far as this optimizer goes."""
    state, groups = {}, []
    for group in optimizer.param_groups:
        kept = []
        settings: dict[str, Any] = {}
        for parameter in group["params"]:
            name = next((n for n in names[parameter] if any(f"param_groups.{n}.{key}" in flat for key in group)), None)
            if name is None:
                raise KeyError(f"param_groups.{names[parameter][0]}.{next(k for k in group if k != 'params')}")
            kept.append(name)
            if parameter.requires_grad:
                state[name] = {key: _nested(flat, f"state.{name}.{key}") for key in optimizer.state[parameter]}
            for key in group:
                if key == "params":
                    continue
                value = flat[f"param_groups.{name}.{key}"]
                if settings.setdefault(key, value) != value:
                    raise RuntimeError(
                        "All the parameters in the same parameter group should have the same saved param_group value. But "
                        f"{name}.{key} is {value} while other(s) is {settings[key]}."
                    )
        groups.append({**settings, "params": kept})
    return {"state": state, "param_groups": groups}


def get_model_state_dict(
    model: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The module's state dict, or that of some of its submodules."""
    options = options or StateDictOptions()
    frozen = {n for n, p in model.named_parameters() if not p.requires_grad} if options.ignore_frozen_params else set()
    found = {_plain(k): v for k, v in model.state_dict().items() if k not in frozen}
    if submodules:
        prefixes = [f"{_plain(name)}." for name, module in model.named_modules() if module in submodules]
        cut = 0 if options.keep_submodule_prefixes else None
        found = {k[len(p) if cut is None else 0 :]: v for p in prefixes for k, v in found.items() if k.startswith(p)}
    return _offloaded(found) if options.cpu_offload else found


def get_optimizer_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """``{"state": {name: …}, "param_groups": [{"params": [names], …}]}`` of one or several optimizers of a module.

    An optimizer that has made no step gets its initial state first. ``flatten_optimizer_state_dict`` gives one level of keys
    in its place: ``state.NAME.exp_avg``, ``param_groups.NAME.lr``.
    """
    options = options or StateDictOptions()
    names = {parameter: known[0] for parameter, known in _names(model).items()}
    found: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in _optimizers(optimizers):
        _init_optim_state(optimizer)
        order = [names[p] for group in optimizer.param_groups for p in group["params"]]
        own = optimizer.state_dict()
        found["state"] |= {order[number]: value for number, value in own["state"].items()}
        found["param_groups"] += [
            g | {"params": [order[number] for number in g["params"]]} for g in own["param_groups"]
        ]
    if options.flatten_optimizer_state_dict:
        flat = dict(_flat(found["state"], "state"))
        for group in found["param_groups"]:
            settings = {key: value for key, value in group.items() if key != "params"}
            flat |= {f"param_groups.{name}.{key}": value for name in group["params"] for key, value in settings.items()}
        found = flat
    return _offloaded(found) if options.cpu_offload else found


def get_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state dicts of a module and of its optimizers."""
    model_state = get_model_state_dict(model, submodules=submodules, options=options)
    return model_state, get_optimizer_state_dict(model, optimizers, options=options) if _optimizers(optimizers) else {}


def set_model_state_dict(model: Any, model_state_dict: Any, *, options: StateDictOptions | None = None) -> Any:
    """Loads a state dict by names; what ``load_state_dict`` gives."""
    names = {_plain(name): name for name in model.state_dict(keep_vars=True)}
    given = {names.get(name, name): value for name, value in model_state_dict.items()}
    return model.load_state_dict(given, strict=(options or StateDictOptions()).strict)


def set_optimizer_state_dict(
    model: Any, optimizers: Any, optim_state_dict: Any, *, options: StateDictOptions | None = None
) -> None:
    """Loads what :func:`get_optimizer_state_dict` gave, flat or not, into one or several optimizers of a module.

    Errors: RuntimeError for a parameter that the state dict does not have, unless ``strict=False``.
    """
    options = options or StateDictOptions()
    names = _names(model)
    for optimizer in _optimizers(optimizers):
        _init_optim_state(optimizer)
        if "state" in optim_state_dict:
            numbered = all(isinstance(key, int) for key in optim_state_dict["state"]) and optim_state_dict["state"]
            own = optim_state_dict if numbered else _numbered(optimizer, names, optim_state_dict, options.strict)
        else:
            own = _unflattened(optimizer, names, optim_state_dict)
        optimizer.load_state_dict(own)


def set_state_dict(
    model: Any,
    optimizers: Any,
    *,
    model_state_dict: Any,
    optim_state_dict: Any,
    options: StateDictOptions | None = None,
) -> Any:
    """Loads the state dicts of a module and of its optimizers; what ``load_state_dict`` of the module gives."""
    if _optimizers(optimizers):
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
