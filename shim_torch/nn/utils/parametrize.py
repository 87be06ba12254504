"""``torch.nn.utils.parametrize``: parameters that are computed from others whenever they are read."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from native import _core
from shim_torch import _torch_names
from shim_torch.__future__ import get_swap_module_params_on_conversion as _swaps
from shim_torch._missing import asked_of as _asked_of
from shim_torch.autograd.grad_mode import no_grad as _no_grad
from shim_torch.nn.modules.container import ModuleDict, ModuleList
from shim_torch.nn.modules.module import Module
from shim_torch.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]
_cache_enabled = 0
_cache: dict[tuple[int, str], Any] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Within it each parametrized tensor is computed once."""
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _set(mine: Any, value: Any) -> None:
    """Gives ``mine`` the values, as PyTorch's ``_maybe_set`` does: both tensors swap where the switch of
    ``torch.__future__`` says so and where ``mine`` is a wrapper around other tensors, whose class is part of what is set."""
    from shim_torch.utils import swap_tensors
    from shim_torch.utils._python_dispatch import is_traceable_wrapper_subclass

    if not (_swaps() or is_traceable_wrapper_subclass(mine)):
        mine.data = value.detach()
        return
    if isinstance(mine, Parameter) and not isinstance(value, Parameter):
        value = Parameter(value, mine.requires_grad)
    swap_tensors(mine, value)


def _registered(module: Any, name: str, value: Any) -> None:
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in order, and the tensor(s) they start from: ``original`` (or ``original0`` ...)."""

    def __init__(self, modules: list[Module], original: Any, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        start = original
        with _no_grad():
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    try:
                        start = module.right_inverse(start)
                    except NotImplementedError:
                        pass
        self.is_tensor = isinstance(start, _core.TensorBase)
        if self.is_tensor:
            self.ntensors = 1
            self._keep_one(original, start)
        else:
            self._keep_several(original, start)
        if not unsafe:
            self._check(shape, dtype)

    def _keep_one(self, original: Any, start: Any) -> None:
        """The same parameter, so that optimizers still know it, with the values to start from."""
        for what in ("dtype", "device"):
            mine, theirs = getattr(original, what), getattr(start, what)
            if mine != theirs:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\noriginal.{what}: {mine}\n"
                    f"right_inverse(original).{what}: {theirs}"
                )
        if start is not original:
            _set(original, start)
        _registered(self, "original", original)

    def _keep_several(self, original: Any, start: Any) -> None:
        if not isinstance(start, Sequence):
            raise ValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(start).__name__}"
            )
        self.ntensors = len(start)
        for i, value in enumerate(start):
            if not isinstance(value, _core.TensorBase):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                    f"{i} of the sequence with type {type(value).__name__}."
                )
            given = Parameter(value, original.requires_grad) if isinstance(original, Parameter) else value
            _registered(self, f"original{i}", given)

    def _check(self, shape: Any, dtype: Any) -> None:
        value = self()
        if not isinstance(value, _core.TensorBase):
            raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
        for what, mine, theirs in (("dtype", value.dtype, dtype), ("shape", value.shape, shape)):
            if mine != theirs:
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is enabled.\n"
                    f"unparametrized {what}: {theirs}\nparametrized {what}: {mine}"
                )

    def right_inverse(self, value: Any) -> None:
        """Sets the tensors so that the parametrized one becomes ``value``."""
        with _no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, _core.TensorBase):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                if value.dtype != self.original.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                        f"{self.original.dtype}"
                    )
                _set(self.original, value)
                return
            if not isinstance(value, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
            if len(value) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length "
                    f"{len(value)}."
                )
            for i, part in enumerate(value):
                own = getattr(self, f"original{i}")
                if not isinstance(part, _core.TensorBase):
                    raise ValueError(f"`right_inverse` must return a sequence of tensors. Got element {i} of type {type(part).__name__}")
                if own.dtype != part.dtype:
                    raise ValueError(
                        f"Tensor {i} returned by `right_inverse` has dtype {part.dtype} while `original{i}` has dtype {own.dtype}"
                    )
                _set(own, part)

    def forward(self) -> Any:
        first, *rest = list(self)
        if self.is_tensor:
            x = first(self.original)
        else:
            x = first(*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in rest:
            x = module(x)
        return x


def _new(original: Any, value: Any) -> Any:
    return Parameter(value, original.requires_grad) if isinstance(original, Parameter) else value


def _inject_new_class(module: Module) -> None:
    """Gives the module a class of its own, derived from the one it has: properties belong to classes."""
    cls = type(module)

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        made = self.__new__(self.__class__)
        memo[id(self)] = made
        made.__dict__ = copy.deepcopy(self.__dict__, memo)
        return made

    def __getstate__(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\nhttps://pytorch.org/tutorials/beginner/"
            "saving_loading_models.html#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    module.__class__ = type(
        f"Parametrized{cls.__name__}", (cls,), {"__getstate__": __getstate__, "__deepcopy__": __deepcopy__}
    )


def _inject_property(module: Module, name: str) -> None:
    def get(self: Any) -> Any:
        parametrization = self.parametrizations[name]
        if not _cache_enabled:
            return parametrization()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def put(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, put))


def _differences(one: Any, other: Any) -> list[tuple[str, Any, Any]]:
    """What of dtype and shape two tensors do not share: its name and both values."""
    both = [(what, getattr(one, what), getattr(other, what)) for what in ("dtype", "shape")]
    return [d for d in both if d[1] != d[2]]


def _check_further(module: Module, name: str, parametrization: Any) -> None:
    """A further parametrization, and its inverse, must keep dtype and shape."""
    value = getattr(module, name)
    changed = parametrization(value)
    if not isinstance(changed, _core.TensorBase):
        raise ValueError(f"A parametrization must return a tensor. Got {type(changed).__name__}.")
    for what, before, after in _differences(value, changed):
        raise ValueError(
            f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag is enabled.\n"
            f"module.{name}.{what}: {before}\nparametrization(module.{name}).{what}: {after}"
        )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(changed)
    except NotImplementedError:
        return
    if not isinstance(back, _core.TensorBase):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for what, before, after in _differences(value, back):
        raise ValueError(
            f"The tensor returned by parametrization.right_inverse must have the same {what} as module.{name}, unless the "
            f"`unsafe` flag is enabled.\nmodule.{name}.{what}: {before}\nreturned {what}: {after}"
        )


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Makes ``module.tensor_name`` be ``parametrization(original)``; further ones are applied after it.

    ``right_inverse`` of the parametrization gives the original for a value that is assigned.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        found = module.parametrizations[tensor_name]
        if not unsafe:
            _check_further(module, tensor_name, parametrization)
        found.append(parametrization)
        found.unsafe |= unsafe
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _inject_new_class(module)
        module.parametrizations = ModuleDict()
    _inject_property(module, tensor_name)
    module.parametrizations[tensor_name] = parametrizations
    return module


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or one of that tensor."""
    found = module._modules.get("parametrizations") if hasattr(module, "_modules") else None
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Takes the parametrizations of a tensor away; it keeps its value, or gets its original one back."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    found = module.parametrizations[tensor_name]
    if not found.is_tensor and not leave_parametrized:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors."
        )
    if leave_parametrized:
        with _no_grad():
            value = getattr(module, tensor_name)
        if not found.is_tensor or value is not found.original:
            value = value.detach().clone()
        if found.is_tensor:  # the same object: optimizers know it
            if value is not found.original:
                _set(found.original, value)
            value = found.original
        elif isinstance(found.original0, Parameter):
            value = Parameter(value, found.original0.requires_grad)
    else:
        value = found.original
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _registered(module, tensor_name, value)
    if not is_parametrized(module):
        del module._modules["parametrizations"]
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Any) -> type:
    """The module's class as it was before."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Gives another module the same parametrizations and originals."""
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        found = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            _registered(to_module, name, getattr(from_module, name).detach().clone())
        for p in found:
            register_parametrization(to_module, name, p, unsafe=True)
        target = to_module.parametrizations[name]
        for key, value in [*found._parameters.items(), *found._buffers.items()]:
            setattr(target, key, value)
    return to_module

__getattr__ = _asked_of(__name__)

_torch_names.present(globals())
