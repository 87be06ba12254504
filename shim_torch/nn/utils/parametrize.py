"""``torch.nn.utils.parametrize``: parameters that are computed from others whenever they are read."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from shim_torch.__future__ import get_swap_module_params_on_conversion as _swaps
from shim_torch._impl.native import _core
from shim_torch._impl.nn.parametrization import Lenient, check_further, deepcopy_module, differences, refuse_pickling
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


@_no_grad()
def _undone(modules: list[Any], value: Any) -> Any:
    """What the parametrizations, the last one first, make ``value`` of. RuntimeError for one that has no inverse."""
    for module in reversed(modules):
        if not hasattr(module, "right_inverse"):
            raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
        value = module.right_inverse(value)
    return value


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in order, and the tensor(s) they start from: ``original`` (or ``original0`` ...)."""

    def __init__(self, modules: list[Module], original: Any, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        before = SimpleNamespace(shape=original.shape, dtype=original.dtype)
        start = _undone([Lenient(module) for module in modules], original)
        self.unsafe, self.is_tensor = unsafe, isinstance(start, _core.TensorBase)
        keep = self._keep_one if self.is_tensor else self._keep_several
        keep(original, start)
        if not unsafe:
            self._check(before)

    def _keep_one(self, original: Any, start: Any) -> None:
        """The same parameter, so that optimizers still know it, with the values to start from."""
        for what, mine, theirs in differences(original, start, "dtype", "device"):
            raise ValueError(
                f"When `right_inverse` outputs one tensor, it may not change the {what}.\noriginal.{what}: {mine}\n"
                f"right_inverse(original).{what}: {theirs}"
            )
        self.ntensors = 1
        if start is not original:
            _set(original, start)
        _registered(self, "original", original)

    def _keep_several(self, original: Any, start: Any) -> None:
        words = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
        if not isinstance(start, Sequence):
            raise ValueError(f"{words}{type(start).__name__}")
        self.ntensors = len(start)
        for i, value in enumerate(start):
            if not isinstance(value, _core.TensorBase):
                raise ValueError(f"{words}element {i} of the sequence with type {type(value).__name__}.")
            given = Parameter(value, original.requires_grad) if isinstance(original, Parameter) else value
            _registered(self, f"original{i}", given)

    def _check(self, before: Any) -> None:
        value = self()
        if not isinstance(value, _core.TensorBase):
            raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
        for what, mine, theirs in differences(value, before, "dtype", "shape"):
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is enabled.\n"
                f"unparametrized {what}: {theirs}\nparametrized {what}: {mine}"
            )

    def _names(self) -> list[str]:
        """Of the tensors that the parametrizations start from."""
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]

    def right_inverse(self, value: Any) -> None:
        """Sets the tensors so that the parametrized one becomes ``value``."""
        with _no_grad():
            start = _undone(list(self), value)
            if self.is_tensor:
                start = [start]
            elif not isinstance(start, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(start).__name__}.")
            elif len(start) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length "
                    f"{len(start)}."
                )
            for i, (name, new) in enumerate(zip(self._names(), start, strict=True)):
                self._put(i, name, new)

    def _put(self, i: int, name: str, new: Any) -> None:
        """Gives one of the tensors its values; ValueError for what is no tensor, or one of another dtype."""
        own, kind = getattr(self, name), type(new).__name__
        if not isinstance(new, _core.TensorBase):
            raise ValueError(
                f"`right_inverse` should return a tensor. Got {kind}" if self.is_tensor else
                f"'right_inverse' must return a sequence of tensors or reference-type opaques. Got element {i} of type {kind}."
            )  # fmt: skip
        if own.dtype != new.dtype:
            which = "The tensor" if self.is_tensor else f"Tensor {i}"
            raise ValueError(
                f"{which} returned by `right_inverse` has dtype {new.dtype} while `{name}` has dtype {own.dtype}"
            )
        _set(own, new)

    def forward(self) -> Any:
        """The tensor that all parametrizations make of the original one(s)."""
        values: Any = (self.original,) if self.is_tensor else [getattr(self, name) for name in self._names()]
        for module in self:
            values = (module(*values),)
        return values[0]


def _inject_new_class(module: Module) -> None:
    """Gives the module a class of its own, derived from the one it has: properties belong to classes."""
    base = type(module)
    own = {"__getstate__": refuse_pickling, "__deepcopy__": getattr(base, "__deepcopy__", deepcopy_module)}
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), own)


def _read(module: Any, *, name: str) -> Any:
    """A parametrized tensor, computed; within ``cached`` the one that was computed first."""
    compute = module.parametrizations[name]
    if not _cache_enabled:
        return compute()
    key = id(module), name
    if key not in _cache:
        _cache[key] = compute()
    return _cache[key]


def _write(module: Any, value: Any, *, name: str) -> None:
    module.parametrizations[name].right_inverse(value)


def _inject_property(module: Module, name: str) -> None:
    setattr(type(module), name, property(functools.partial(_read, name=name), functools.partial(_write, name=name)))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Makes ``module.tensor_name`` be ``parametrization(original)``; further ones are applied after it.

    ``right_inverse`` of the parametrization gives the original for a value that is assigned.
    """
    parametrization.train(module.training)
    if not is_parametrized(module, tensor_name):
        _begin(module, tensor_name, parametrization, unsafe)
        return module
    if not unsafe:
        check_further(module, tensor_name, parametrization)
    found = module.parametrizations[tensor_name]
    found.append(parametrization)
    found.unsafe = found.unsafe or unsafe
    return module


def _begin(module: Module, name: str, parametrization: Module, unsafe: bool) -> None:
    """A tensor's first parametrization: a list for it takes the tensor's place."""
    if name not in {*module._buffers, *module._parameters}:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{name}'"
        )
    made = ParametrizationList([parametrization], getattr(module, name), unsafe=unsafe)
    delattr(module, name)
    if not is_parametrized(module):
        _inject_new_class(module)
        module.parametrizations = ModuleDict()
    module.parametrizations[name] = made
    _inject_property(module, name)


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
