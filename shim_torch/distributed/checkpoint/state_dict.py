"""``torch.distributed.checkpoint.state_dict``: state dicts by parameters' names, of modules that are whole or spread.

An optimizer's own ``state_dict`` numbers its parameters; these name them as the module does, so that what is saved can be
loaded by an optimizer that holds them in another order or in other groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from shim_torch._impl.distributed import optimizer_states, spread_states

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


def _checked(options: StateDictOptions | None) -> StateDictOptions:
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


def _given(value: Any, options: StateDictOptions) -> Any:
    """Of the tensors what the options ask for: whole ones, on the CPU, and then on the first process only."""
    import shim_torch as torch
    from shim_torch.utils import _pytree as pytree

    if not (options.full_state_dict or options.cpu_offload):
        return value

    def one(t: Any) -> Any:
        t = spread_states.whole(t.detach()) if options.full_state_dict else t.detach()
        return t.cpu() if options.cpu_offload else t

    made = pytree.tree_map_only(torch.Tensor, one, value)
    return made if spread_states.is_first() or not (options.full_state_dict and options.cpu_offload) else {}


def _plain(name: str) -> str:
    """A parameter's name in the module that ``torch.compile`` wrapped."""
    return name.replace("_orig_mod.", "")


def _renamed(model: Any, name: str) -> str:
    """A name of a state dict without those of the modules that wrap others."""
    from shim_torch.nn.parallel import DistributedDataParallel

    module, kept = model, []
    for part in name.split("."):
        wrapper = isinstance(module, DistributedDataParallel) and part == "module"
        module = getattr(module, part, None)
        if not wrapper:
            kept.append(part)
    return _plain(".".join(kept))


def _names(model: Any) -> dict[Any, list[str]]:
    """The names of each parameter, several where it is shared."""
    found: dict[Any, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        found.setdefault(parameter, []).append(_renamed(model, name))
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


def get_model_state_dict(
    model: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The module's state dict, or that of some of its submodules."""
    options = _checked(options)
    frozen = {n for n, p in model.named_parameters() if not p.requires_grad} if options.ignore_frozen_params else set()
    found = {_renamed(model, k): v for k, v in model.state_dict().items() if k not in frozen}
    if submodules:
        prefixes = [f"{_plain(name)}." for name, module in model.named_modules() if module in submodules]
        cut = 0 if options.keep_submodule_prefixes else None
        found = {k[len(p) if cut is None else 0 :]: v for p in prefixes for k, v in found.items() if k.startswith(p)}
    return _given(found, options)  # type: ignore[no-any-return]


def get_optimizer_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """``{"state": {name: …}, "param_groups": [{"params": [names], …}]}`` of one or several optimizers of a module.

    An optimizer that has made no step gets its initial state first. ``flatten_optimizer_state_dict`` gives one level of keys
    in its place: ``state.NAME.exp_avg``, ``param_groups.NAME.lr``.
    """
    options = _checked(options)
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
        flat = dict(optimizer_states.flat(found["state"], "state"))
        for group in found["param_groups"]:
            settings = {key: value for key, value in group.items() if key != "params"}
            flat |= {f"param_groups.{name}.{key}": value for name in group["params"] for key, value in settings.items()}
        found = flat
    return _given(found, options)  # type: ignore[no-any-return]


def get_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state dicts of a module and of its optimizers."""
    model_state = get_model_state_dict(model, submodules=submodules, options=options)
    return model_state, get_optimizer_state_dict(model, optimizers, options=options) if _optimizers(optimizers) else {}


def set_model_state_dict(model: Any, model_state_dict: Any, *, options: StateDictOptions | None = None) -> Any:
    """Loads a state dict by names; what ``load_state_dict`` gives.

    ``full_state_dict``: of whole tensors each process takes its parts; with ``broadcast_from_rank0`` of the first one's.
    """
    options = _checked(options)
    own = model.state_dict(keep_vars=True)
    names = {_renamed(model, name): name for name in own}
    if options.full_state_dict:
        model_state_dict = spread_states.parts_of(
            model_state_dict, {plain: own[name] for plain, name in names.items()}, options.broadcast_from_rank0
        )
    given = {names.get(name, name): value for name, value in model_state_dict.items()}
    return model.load_state_dict(given, strict=options.strict)


def set_optimizer_state_dict(
    model: Any, optimizers: Any, optim_state_dict: Any, *, options: StateDictOptions | None = None
) -> None:
    """Loads what :func:`get_optimizer_state_dict` gave, flat or not, into one or several optimizers of a module.

    Errors: RuntimeError for a parameter that the state dict does not have, unless ``strict=False``.
    """
    options = _checked(options)
    names = _names(model)
    if options.full_state_dict:
        for optimizer in _optimizers(optimizers):
            _init_optim_state(optimizer)
        like: dict[str, Any] = {}
        for flat in (False, True):  # the first process's may be either
            like |= get_optimizer_state_dict(
                model, optimizers, options=StateDictOptions(flatten_optimizer_state_dict=flat)
            )
        optim_state_dict = spread_states.parts_of(optim_state_dict, like, options.broadcast_from_rank0)
    for optimizer in _optimizers(optimizers):
        _init_optim_state(optimizer)
        if "state" in optim_state_dict:
            numbered = all(isinstance(key, int) for key in optim_state_dict["state"]) and optim_state_dict["state"]
            own = (
                optim_state_dict
                if numbered
                else optimizer_states.numbered(optimizer, names, optim_state_dict, options.strict)
            )
        else:
            own = optimizer_states.unflattened(optimizer, names, optim_state_dict)
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
