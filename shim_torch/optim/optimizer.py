"""``torch.optim.Optimizer``: parameter groups, state and hooks of all optimizers."""

from __future__ import annotations

import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from native import _core
from shim_torch._utils import typename
from shim_torch.autograd.grad_mode import enable_grad
from shim_torch.nn.modules._hooks import RemovableHandle

Tensor = _core.Tensor


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


class Optimizer:
    """Base class: ``params`` is an iterable of tensors, of (name, tensor) pairs or of group dicts."""

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._step_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self._step_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + typename(params)
            )
        self.state: dict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group; options it does not give take the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        params = list(params)
        if params and isinstance(params[0], tuple):
            param_group["param_names"] = [name for name, _ in params]
            params = [p for _, p in params]
        param_group["params"] = params
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(p)}")
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len({id(p) for p in params}) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                "github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in known for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def step(self, closure: Any = None) -> Any:
        """One update; ``closure`` re-evaluates the model and gives the loss."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the gradients of all parameters."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if set_to_none:
                    p.grad = None
                else:
                    p.grad = p.grad.detach()
                    p.grad.zero_()

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(optimizer, args, kwargs)`` runs before step and may return new (args, kwargs)."""
        handle = RemovableHandle(self._step_pre_hooks)
        self._step_pre_hooks[handle.id] = hook
        return handle

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(optimizer, args, kwargs)`` runs after step."""
        handle = RemovableHandle(self._step_post_hooks)
        self._step_post_hooks[handle.id] = hook
        return handle

    def state_dict(self) -> dict[str, Any]:
        """State by parameter number, and the groups with numbers in place of parameters."""
        numbers: dict[int, int] = {}

        def packed(group: dict[str, Any]) -> dict[str, Any]:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            return {
                **{k: v for k, v in group.items() if k != "params"},
                "params": [numbers[id(p)] for p in group["params"]],
            }

        groups = [packed(g) for g in self.param_groups]
        state = {(numbers[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what ``state_dict`` gave; tensors are moved to their parameter's device and dtype."""
        given = deepcopy(state_dict)
        groups = given["param_groups"]
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(self.param_groups, groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        numbers = chain.from_iterable(g["params"] for g in groups)
        mine = dict(zip(numbers, chain.from_iterable(g["params"] for g in self.param_groups), strict=True))
        state: dict[Any, Any] = defaultdict(dict)
        for key, value in given["state"].items():
            state[mine.get(key, key)] = _cast(mine[key], value) if key in mine else value
        self.state = state
        for own, new in zip(self.param_groups, groups, strict=True):
            params = own["params"]
            own.update(new)
            own["params"] = params

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"


def _cast(param: Any, value: Any, key: str | None = None) -> Any:
    if isinstance(value, Tensor):
        if key == "step":
            return value
        return value.to(device=param.device, dtype=param.dtype) if param.is_floating_point() else value.to(param.device)
    if isinstance(value, dict):
        return {k: _cast(param, v, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(_cast(param, v) for v in value)  # type: ignore[call-arg]
    return value


_global_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(optimizer, args, kwargs)`` runs before every optimizer's step and may return new (args, kwargs)."""
    handle = RemovableHandle(_global_pre_hooks)
    _global_pre_hooks[handle.id] = hook
    return handle


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(optimizer, args, kwargs)`` runs after every optimizer's step."""
    handle = RemovableHandle(_global_post_hooks)
    _global_post_hooks[handle.id] = hook
    return handle


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    if getattr(step, "hooked", False):
        return step

    def run(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        for hook in [*_global_pre_hooks.values(), *self._step_pre_hooks.values()]:
            changed = hook(self, args, kwargs)
            if changed is not None:
                args, kwargs = changed
        result = step(self, *args, **kwargs)
        for hook in [*self._step_post_hooks.values(), *_global_post_hooks.values()]:
            hook(self, args, kwargs)
        return result

    run.hooked = True  # type: ignore[attr-defined]
    run.__name__, run.__doc__, run.__qualname__ = step.__name__, step.__doc__, step.__qualname__
    return run


def closure_loss(closure: Callable[[], Any] | None) -> Any:
    """Evaluates an optimizer's closure with gradients on."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


def check(name: str, ok: bool, value: Any) -> None:
    """PyTorch's error for a setting out of range."""
    if not ok:
        raise ValueError(f"Invalid {name}: {value}")
