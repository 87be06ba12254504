"""``torch.optim.Optimizer``: parameter groups, state and hooks of all optimizers."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from native import _core
from shim_torch import _class_names, _torch_names
from shim_torch._utils import typename as _typename
from shim_torch.autograd.grad_mode import enable_grad as _enable_grad
from shim_torch.nn.modules._hooks import RemovableHandle

Tensor = _core.Tensor


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter = _Required()
_global_optimizer_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_optimizer_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_HOOKS = tuple(
    f"_optimizer_{name}_hooks"
    for name in (
        "step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post",
    )
)  # fmt: skip


def _registered(hooks: OrderedDict[int, Callable[..., Any]], hook: Callable[..., Any], prepend: bool = False) -> Any:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


class Optimizer:
    """Base class: ``params`` is an iterable of tensors, of (name, tensor) pairs or of group dicts."""

    OptimizerPreHook = OptimizerPostHook = Callable[..., Any]
    _optimizer_step_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_step_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        for name in _HOOKS:
            setattr(self, name, OrderedDict())
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + _typename(params)
            )
        self.state: dict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)
        self._warned_capturable_if_run_uncaptured = True

    __reduce_ex__ = _class_names.reduce_ex

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOKS:
            if name not in self.__dict__:
                setattr(self, name, OrderedDict())
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def _patch_step_function(self) -> None:
        """Has the class's ``step`` run the hooks, once."""
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"
        step = type(self).step
        if not getattr(step, "hooked", None):
            run = self.profile_hook_step(step)
            run.hooked = True  # type: ignore[attr-defined]
            type(self).step = run  # type: ignore[method-assign]

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """``func``, a step, with the hooks before and after it."""

        @functools.wraps(func)
        def run(*args: Any, **kwargs: Any) -> Any:
            self = args[0]
            for hook in [*_global_optimizer_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()]:
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"{func} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
            result = func(*args, **kwargs)
            self._optimizer_step_code()
            for hook in [*self._optimizer_step_post_hooks.values(), *_global_optimizer_post_hooks.values()]:
                hook(self, args, kwargs)
            return result

        return run

    def _optimizer_step_code(self) -> None:
        """Where a profiler may put itself: called after each step."""

    def _accelerator_graph_capture_health_check(self) -> None:
        import shim_torch

        if not shim_torch.cuda.is_available() or not shim_torch.cuda.is_current_stream_capturing():
            return
        if not all(group["capturable"] for group in self.param_groups):
            raise RuntimeError(
                "Attempting CUDA graph capture of step() for an instance of "
                + type(self).__name__
                + " but param_groups' capturable is False."
            )

    _cuda_graph_capture_health_check = _accelerator_graph_capture_health_check

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
        names = [p[0] for p in params if isinstance(p, tuple)]
        params = [p[1] if isinstance(p, tuple) else p for p in params]
        param_group["params"] = params
        if names:
            if len(names) != len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {_typename(p)}")
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        self._check_new(param_group)
        self.param_groups.append(param_group)

    def _check_new(self, param_group: dict[str, Any]) -> None:
        params = param_group["params"]
        if len({id(p) for p in params}) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                "github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=4,
            )
        named = "param_names" in param_group
        if any(("param_names" in group) != named for group in self.param_groups):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with names' if named else 'without names'} to the optimizer"
            )
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in known for p in params):
            raise ValueError("some parameters appear in more than one parameter group")

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
                    continue
                if p.grad.grad_fn is not None:
                    p.grad.detach_()
                else:
                    p.grad.requires_grad_(False)
                p.grad.zero_()

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(optimizer, args, kwargs)`` runs before step and may return new (args, kwargs)."""
        return _registered(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(optimizer, args, kwargs)`` runs after step."""
        return _registered(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer)`` runs before state_dict."""
        return _registered(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer, state_dict)`` runs after state_dict and may return another."""
        return _registered(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer, state_dict)`` runs before load_state_dict and may return another."""
        return _registered(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer)`` runs after load_state_dict."""
        return _registered(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def state_dict(self) -> dict[str, Any]:
        """State by parameter number, and the groups with numbers in place of parameters."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        start, groups = 0, []
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                numbers.setdefault(id(p), i)
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            start += len(packed["params"])
            groups.append(packed)
        state = {(numbers[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()}
        found: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, found)
            found = found if changed is None else changed
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what ``state_dict`` gave; tensors are moved to their parameter's device and dtype."""
        given = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, given)
            given = given if changed is None else changed
        groups = deepcopy(given["param_groups"])
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
            if key in mine:
                state[mine[key]] = _cast(mine[key], value, key, given["param_groups"])
            else:
                state[key] = value
        for own, new in zip(self.param_groups, groups, strict=True):
            new["params"] = own["params"]
            if "param_names" in own and "param_names" not in new:
                new["param_names"] = own["param_names"]
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    @staticmethod
    def _process_value_according_to_param_policy(
        param: Any, value: Any, param_id: int, param_groups: list[dict[Any, Any]], key: Any = None
    ) -> Any:
        """A state tensor as its parameter has it; counts of steps stay as they are unless they live with it."""
        group: dict[Any, Any] = next((g for g in param_groups if param_id in g["params"]), {})
        if key == "step":
            if group.get("capturable") or group.get("fused"):
                return value.to(dtype=_core.float32, device=param.device)
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist: Any, with_indices: bool = False) -> Any:
        """Lists of tensors, cut into those of one device and dtype each: what optimizers over lists step through."""
        from shim_torch.utils._foreach_utils import _group_tensors_by_device_and_dtype

        return _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"


def _cast(param: Any, value: Any, number: Any, groups: Any, key: Any = None) -> Any:
    if isinstance(value, Tensor):
        return Optimizer._process_value_according_to_param_policy(param, value, number, groups, key)
    if isinstance(value, dict):
        return {k: _cast(param, v, number, groups, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(_cast(param, v, number, groups) for v in value)  # type: ignore[call-arg]
    return value


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(optimizer, args, kwargs)`` runs before every optimizer's step and may return new (args, kwargs)."""
    return _registered(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(optimizer, args, kwargs)`` runs after every optimizer's step."""
    return _registered(_global_optimizer_post_hooks, hook)


def closure_loss(closure: Callable[[], Any] | None) -> Any:
    """Evaluates an optimizer's closure with gradients on."""
    if closure is None:
        return None
    with _enable_grad():
        return closure()


def check(name: str, ok: Any, value: Any) -> None:
    """PyTorch's error for a setting out of range."""
    if not ok:
        raise ValueError(f"Invalid {name}: {value}")


def check_rate(lr: Any) -> None:
    """PyTorch's errors for a learning rate: one number or tensor of one element, not below zero."""
    if isinstance(lr, _core.TensorBase) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check("learning rate", 0.0 <= lr, lr)


def __getattr__(name: str) -> Any:
    from shim_torch.optim import _helpers

    try:
        return getattr(_helpers, name)
    except AttributeError:
        from shim_torch._missing import missing

        return missing("torch.optim.optimizer", name)

_torch_names.present(globals())
