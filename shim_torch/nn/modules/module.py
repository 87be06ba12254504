"""``torch.nn.Module``: the base of all layers."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from itertools import chain
from types import FunctionType
from typing import Any, TypeVar

from shim_torch._impl.native import _core
from shim_torch._impl.nn.modules import hooks, registration
from shim_torch._impl.nn.modules.conversion import ConversionMixin
from shim_torch._impl.nn.modules.hooks import (
    register_module_backward_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from shim_torch._impl.nn.modules.registration import (
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from shim_torch._impl.nn.modules.state import StateDictMixin
from shim_torch._impl.serialization import class_pickling
from shim_torch._utils import typename as _typename
from shim_torch.nn.parameter import Buffer, Parameter

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
Tensor = _core.Tensor


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What ``load_state_dict`` returns."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


# Hooks of all modules.
_global_forward_pre_hooks: dict[int, Callable[..., Any]] = OrderedDict()
_global_forward_hooks: dict[int, Callable[..., Any]] = OrderedDict()
_global_forward_hooks_with_kwargs: dict[int, bool] = OrderedDict()
_global_forward_hooks_always_called: dict[int, bool] = OrderedDict()
_global_backward_pre_hooks: dict[int, Callable[..., Any]] = OrderedDict()
_global_backward_hooks: dict[int, Callable[..., Any]] = OrderedDict()
_global_is_full_backward_hook: bool | None = None
_global_buffer_registration_hooks = registration.tables["buffer"]
_global_module_registration_hooks = registration.tables["module"]
_global_parameter_registration_hooks = registration.tables["parameter"]


def _forward_unimplemented(self: Module, *input: Any) -> None:
    """Defines the computation performed at every call; subclasses override it."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


_EXTRA_STATE_KEY_SUFFIX = "_extra_state"  # libraries compare names with it


class Module(ConversionMixin, StateDictMixin, hooks.HooksMixin):
    """Base class of neural network layers: parameters, buffers, sub-modules, hooks and state (torch.nn.Module)."""

    T_destination = TypeVar("T_destination", bound=dict[str, Any])
    dump_patches = False
    _version = 1
    training: bool
    _is_full_backward_hook: bool | None
    call_super_init = False
    _compiled_call_impl: Callable[..., Any] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        named = f"{type(self).__name__}.__init__()"
        if not self.call_super_init and kwargs:
            raise TypeError(f"{named} got an unexpected keyword argument '{next(iter(kwargs))}'")
        if not self.call_super_init and args:
            raise TypeError(f"{named} takes 1 positional argument but {len(args) + 1} were given")
        state = self.__dict__
        state.update(training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set(), _modules={})
        for name in hooks.TABLES:
            state[name] = OrderedDict()
        state["_is_full_backward_hook"] = None
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _core.quicken_module(cls)

    forward: Callable[..., Any] = _forward_unimplemented

    # --- registration -------------------------------------------------------------------------------------------------

    def register_buffer(self, name: str, tensor: _core.TensorBase | None, persistent: bool = True) -> None:
        """Adds a tensor that is state but no parameter; it is saved in the state dict if ``persistent``."""
        registration.check_new(self, "buffer", name, self.__dict__.get("_buffers"))
        registration.check_buffer(
            tensor, "cannot assign '{}' object to buffer '{}' (torch Tensor or None required)", name
        )
        self._buffers[name] = registration.seen("buffer", self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter, reachable as an attribute."""
        registration.check_new(self, "parameter", name, self.__dict__.get("_parameters"))
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                f"To express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = registration.seen("parameter", self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a child module, reachable as an attribute."""
        if not isinstance(module, (Module, type(None))):
            raise TypeError(f"{_typename(module)} is not a Module subclass")
        registration.check_new(self, "module", name, self._modules)
        self._modules[name] = registration.seen("module", self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Alias of ``add_module``."""
        self.add_module(name, module)

    # --- attributes ---------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            found = state.get(table)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        params, modules, buffers = state.get("_parameters"), state.get("_modules"), state.get("_buffers")
        if isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._remove(name, state, buffers, modules)
            self.register_parameter(name, value)
        elif params is not None and name in params:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._remove(name, state, params, buffers)
            modules[name] = registration.seen("module", self, name, value)
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            modules[name] = value
        elif buffers is not None and name in buffers or isinstance(value, Buffer):
            expected = "(torch.nn.Buffer, torch.Tensor or None expected)"
            registration.check_buffer(value, "cannot assign '{}' as buffer '{}' " + expected, name)
            if isinstance(value, Buffer) and (buffers is None or name not in buffers):
                if value.persistent:  # classes may override it without the third parameter
                    self.register_buffer(name, value)
                else:
                    self.register_buffer(name, value, False)
            elif buffers is not None:
                if isinstance(value, Buffer):
                    kept = self._non_persistent_buffers_set
                    (kept.discard if value.persistent else kept.add)(name)
                buffers[name] = value
        else:
            super().__setattr__(name, value)

    def _remove(self, name: str, *tables: Any) -> None:
        for table in tables:
            if table is not None and name in table:
                del table[name]
        if "_non_persistent_buffers_set" in self.__dict__:
            self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        every = chain(dir(type(self)), self.__dict__, self._parameters, self._buffers, self._modules)
        return sorted({name for name in every if not name[0].isdigit()})  # no attribute to write begins with a digit

    # --- calling ------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = self._compiled_call_impl or self._call_impl
        return call(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        state = self.__dict__
        if not (
            state["_forward_hooks"]
            or state["_forward_pre_hooks"]
            or state["_backward_hooks"]
            or state["_backward_pre_hooks"]
            or _global_forward_hooks
            or _global_forward_pre_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
        ):
            return self.forward(*args, **kwargs)
        return hooks.call(self, args, kwargs)

    _wrapped_call_impl = __call__

    def compile(self, **kwargs: Any) -> None:
        """Compiles this module's calls with ``torch.compile``, whose arguments these are."""
        from shim_torch._impl.compile import calls, settings

        self._compiled_call_impl = calls.wrap(self._call_impl, settings.given(**kwargs))

    # --- printing, copying --------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What a subclass adds to its line of ``repr``."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        children = []
        for name, module in self._modules.items():
            text = repr(module).split("\n")
            children.append(f"({name}): " + "\n".join([text[0], *("  " + line for line in text[1:])]))
        if len(extra) == 1 and not children:
            return f"{self._get_name()}({extra[0]})"
        if not extra and not children:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join([*extra, *children]) + "\n)"

    __reduce_ex__ = class_pickling.reduce_ex

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        for name in hooks.TABLES:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def _replicate_for_data_parallel(self) -> Module:
        replica = type(self).__new__(type(self))
        own = {"_buffers": self._buffers.copy(), "_modules": self._modules.copy()}
        own["_parameters"] = {}  # a replica's are no leaves: the copies are set as plain attributes
        vars(replica).update(vars(self), **own, _is_replica=True)
        return replica


for _part in Module.__mro__[1:-1]:  # errors that name a method, and traces, are to name it as PyTorch's
    for _name, _method in vars(_part).items():
        if isinstance(_method, FunctionType):
            _method.__qualname__ = f"Module.{_name}"
_core.quicken_module(Module)
