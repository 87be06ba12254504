"""``torch.nn.utils.parametrize``: parameters that are computed from others whenever they are read."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from native import _core
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


def _registered(module: Any, name: str, value: Any) -> None:
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in order, and the tensor(s) they start from: ``original`` (or ``original0`` ...)."""

    def __init__(self, modules: list[Module], original: Any, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        start = original
        for module in reversed(modules):
            if hasattr(module, "right_inverse"):
                try:
                    start = module.right_inverse(start)
                except NotImplementedError:
                    pass
        self.is_tensor = isinstance(start, _core.TensorBase)
        if self.is_tensor:
            if start is not original:
                original = _new(original, start)
            _registered(self, "original", original)
            self.ntensors = 1
        else:
            self.ntensors = len(start)
            for i, value in enumerate(start):
                if not isinstance(value, _core.TensorBase):
                    raise ValueError(
                        f"Expected a Tensor or a Sequence of Tensors from right_inverse. Got element {i} of type {type(value).__name__}."
                    )
                _registered(self, f"original{i}", Parameter(value) if isinstance(original, Parameter) else value)
        if not unsafe:
            self._check(original)

    def _check(self, original: Any) -> None:
        value = self()
        if not isinstance(value, _core.TensorBase):
            raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
        for what, mine, theirs in (("dtype", value.dtype, original.dtype), ("shape", value.shape, original.shape)):
            if self.is_tensor and mine != theirs:
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is enabled.\n"
                    f"unparametrized {what}: {theirs}\nparametrized {what}: {mine}"
                )

    def right_inverse(self, value: Any) -> None:
        """Sets the tensors so that the parametrized one becomes ``value``."""
        from shim_torch.autograd.grad_mode import no_grad

        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                self.original.copy_(value)
            else:
                for i, part in enumerate(value):
                    getattr(self, f"original{i}").copy_(part)

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
            value = getattr(module, tensor_name)
            changed = parametrization(value)
            if changed.dtype != value.dtype or changed.shape != value.shape:
                raise ValueError(
                    "Registering a parametrization may not change the dtype or shape of the tensor, unless the `unsafe` flag is enabled."
                )
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
    from shim_torch.autograd.grad_mode import no_grad

    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    found = module.parametrizations[tensor_name]
    if not found.is_tensor and not leave_parametrized:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors."
        )
    if leave_parametrized:
        with no_grad():
            value = getattr(module, tensor_name).detach().clone()
        source = found.original if found.is_tensor else found.original0
        value = Parameter(value, source.requires_grad) if isinstance(source, Parameter) else value
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
