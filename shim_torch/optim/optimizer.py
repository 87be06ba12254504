"""``torch.optim.Optimizer``: parameter groups, state and hooks of all optimizers."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.optim import groups as _groups
from shim_torch._impl.optim.groups import _RequiredParameter as _RequiredParameter
from shim_torch._impl.optim.groups import required as required
from shim_torch._impl.optim.hooks import TABLES, passed_through, registered
from shim_torch._impl.serialization import class_pickling
from shim_torch._impl.utils.handles import RemovableHandle
from shim_torch.autograd.grad_mode import enable_grad as _enable_grad

Tensor = _core.Tensor


_global_optimizer_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_optimizer_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()


def _before_step(step: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A step's arguments as the hooks before it want them; its optimizer is the first."""
    for hook in [*_global_optimizer_pre_hooks.values(), *args[0]._optimizer_step_pre_hooks.values()]:
        changed = hook(args[0], args, kwargs)
        if changed is None:
            continue
        if not (isinstance(changed, tuple) and len(changed) == 2):
            raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
        args, kwargs = changed
    return args, kwargs


def _after_step(args: Any, kwargs: Any) -> None:
    for hook in [*args[0]._optimizer_step_post_hooks.values(), *_global_optimizer_post_hooks.values()]:
        hook(args[0], args, kwargs)


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
        self._begin_hooks({})
        self.state: dict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        for group in _groups.as_groups(params):
            self.add_param_group(group)
        self._warned_capturable_if_run_uncaptured = True

    __reduce_ex__ = class_pickling.reduce_ex

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin_hooks(self.__dict__)
        self.defaults.setdefault("differentiable", False)

    def _begin_hooks(self, known: dict[str, Any]) -> None:
        """Has a place for hooks of each kind, those known or an empty one, and a ``step`` that runs them."""
        self.__dict__.update({name: known.get(name, OrderedDict()) for name in TABLES})
        self._patch_step_function()

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
            optimizer = args[0]
            if _global_optimizer_pre_hooks or optimizer._optimizer_step_pre_hooks:
                args, kwargs = _before_step(func, args, kwargs)
            result = func(*args, **kwargs)
            optimizer._optimizer_step_code()
            if _global_optimizer_post_hooks or optimizer._optimizer_step_post_hooks:
                _after_step((optimizer, *args[1:]), kwargs)
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
        param_group.update(_groups.named_parameters(param_group["params"]))
        _groups.check_trainable(param_group["params"], bool(self.defaults.get("differentiable")))
        options = {**self.defaults, **param_group}
        missing = [name for name, value in options.items() if value is required]
        if missing:
            raise ValueError(f"parameter group didn't specify a value of required optimization parameter {missing[0]}")
        param_group.update(options)
        self._check_new(param_group)
        self.param_groups.append(param_group)

    def _check_new(self, param_group: dict[str, Any]) -> None:
        new = {id(p) for p in param_group["params"]}
        if len(new) != len(param_group["params"]):
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
        if new & _groups.numbers_of(self.param_groups).keys():
            raise ValueError("some parameters appear in more than one parameter group")

    def step(self, closure: Any = None) -> Any:
        """One update; ``closure`` re-evaluates the model and gives the loss."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the gradients of all parameters."""
        for p in _groups.members(self.param_groups):
            if set_to_none:
                p.grad = None
            elif p.grad is not None:
                _groups.zero(p.grad)

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(optimizer, args, kwargs)`` runs before step and may return new (args, kwargs)."""
        return registered(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(optimizer, args, kwargs)`` runs after step."""
        return registered(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer)`` runs before state_dict."""
        return registered(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer, state_dict)`` runs after state_dict and may return another."""
        return registered(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer, state_dict)`` runs before load_state_dict and may return another."""
        return registered(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer)`` runs after load_state_dict."""
        return registered(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def state_dict(self) -> dict[str, Any]:
        """State by parameter number, and the groups with numbers in place of parameters."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers = _groups.numbers_of(self.param_groups)
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        groups = [{key: value for key, value in group.items() if key != "params"} for group in self.param_groups]
        for told, group in zip(groups, self.param_groups, strict=True):
            told["params"] = [numbers[id(p)] for p in group["params"]]
        found = {"state": state, "param_groups": groups}
        return passed_through(self._optimizer_state_dict_post_hooks, self, found)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what ``state_dict`` gave; tensors are moved to their parameter's device and dtype."""
        given = passed_through(self._optimizer_load_state_dict_pre_hooks, self, state_dict.copy())
        groups = deepcopy(given["param_groups"])
        self._check_loaded(groups)
        params: dict[Any, Any] = {}  # by the number that they have in what is loaded
        for own, new in zip(self.param_groups, groups, strict=True):
            params.update(zip(new["params"], own["params"], strict=True))
            new["params"] = own["params"]
            if "param_names" in own:
                new.setdefault("param_names", own["param_names"])
        state: dict[Any, Any] = defaultdict(dict)
        for number, value in given["state"].items():
            p = params.get(number)
            state[number if p is None else p] = value if p is None else _moved(value, p, number, given["param_groups"])
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def _check_loaded(self, groups: list[dict[str, Any]]) -> None:
        mine, loaded = ([len(group["params"]) for group in several] for several in (self.param_groups, groups))
        if len(mine) != len(loaded):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if mine != loaded:
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )

    @staticmethod
    def _process_value_according_to_param_policy(
        param: Any, value: Any, param_id: int, param_groups: list[dict[Any, Any]], key: Any = None
    ) -> Any:
        """A state tensor as its parameter has it; counts of steps stay as they are unless they live with it."""
        if key != "step":
            return value.to(device=param.device, dtype=param.dtype if param.is_floating_point() else None)
        own: Iterable[Any] = (group for group in param_groups if param_id in group["params"])
        beside = any(group.get(option) for group in own for option in ("capturable", "fused"))
        return value.to(device=param.device, dtype=_core.float32) if beside else value

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


def _moved(value: Any, *whose: Any, key: Any = None) -> Any:
    """State that was loaded, its tensors at any depth as ``whose`` (parameter, number, groups) has them."""
    if isinstance(value, Tensor):
        param, number, groups = whose
        return Optimizer._process_value_according_to_param_policy(param, value, number, groups, key)
    if isinstance(value, dict):
        return {inner: _moved(v, *whose, key=inner) for inner, v in value.items()}
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes)):
        return value
    return type(value)(_moved(v, *whose) for v in value)  # type: ignore[call-arg]


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(optimizer, args, kwargs)`` runs before every optimizer's step and may return new (args, kwargs)."""
    return registered(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(optimizer, args, kwargs)`` runs after every optimizer's step."""
    return registered(_global_optimizer_post_hooks, hook)


def closure_loss(closure: Callable[[], Any] | None) -> Any:
    """Evaluates an optimizer's closure with gradients on."""
    if closure is None:
        return None
    with _enable_grad():
        return closure()


def __getattr__(name: str) -> Any:
    from shim_torch._impl.optim import helpers

    try:
        return getattr(helpers, name)
    except AttributeError:
        from shim_torch._impl.surface.missing import missing

        return missing("torch.optim.optimizer", name)
