"""The parts of a module: sub-modules, parameters and buffers, by iteration and by dotted name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from shim_torch._impl.native import _core
from shim_torch.nn.parameter import Parameter

if TYPE_CHECKING:
    from shim_torch.nn.modules.module import Module

Tensor = _core.Tensor


def _attribute(module: Any, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    return getattr(module, name)


def _child(module: Any, name: str) -> Any:
    found = _attribute(module, name)
    if not isinstance(found, PartsMixin):
        raise AttributeError(f"`{name}` is not an nn.Module")
    return found


def _place(module: Any, target: str) -> tuple[Any, str]:
    """(parent module, last name) of a dotted path."""
    path, _, name = target.rpartition(".")
    return module.get_submodule(path), name


def _children(path: str, module: Any) -> Iterator[tuple[str, Any]]:
    stem = f"{path}." if path else ""
    return ((stem + name, child) for name, child in module._modules.items())


def _distinct(named: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Each object once, under its first name."""
    seen: set[int] = set()
    for name, value in named:
        if id(value) not in seen:
            seen.add(id(value))
            yield name, value


class PartsMixin:
    """Finds and iterates over a module's parts. Only ``Module`` derives from it."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]

    def get_submodule(self, target: str) -> Any:
        """The sub-module at the dotted path ``target`` ("" is this module)."""
        return functools.reduce(_child, target.split(".") if target else (), self)

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replaces (or, without ``strict``, adds) the sub-module at ``target``."""
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, PartsMixin):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent, name = _place(self, target)
        if strict or hasattr(parent, name):
            _child(parent, name)
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at the dotted path ``target``."""
        module, name = _place(self, target)
        param = _attribute(module, name)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return param

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at the dotted path ``target``."""
        module, name = _place(self, target)
        _attribute(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return module._buffers[name]

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        members = (
            (f"{path}.{name}" if path else name, value)
            for path, module in modules
            for name, value in get_members_fn(module)
            if value is not None
        )
        return _distinct(members) if remove_duplicate else members

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Iterates over the parameters, sub-modules' too unless ``recurse`` is False."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Iterates over (dotted name, parameter)."""
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Iterates over the buffers."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Iterates over (dotted name, buffer)."""
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """Iterates over the immediate sub-modules."""
        yield from dict.fromkeys(module for module in self._modules.values() if module is not None)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Iterates over (name, immediate sub-module), each module once."""
        return _distinct((name, module) for name, module in self._modules.items() if module is not None)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Iterates over this module and all below it, each once."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Iterates over (dotted name, module), this one first with ``prefix``."""
        seen = set() if memo is None else memo
        ahead: list[Iterator[tuple[str, Any]]] = [iter([(prefix, self)])]  # on each level, the modules that are to come
        while ahead:
            for path, module in ahead[-1]:
                if module is not None and module not in seen:
                    if remove_duplicate:
                        seen.add(module)
                    yield path, module
                    if module._modules:
                        ahead.append(_children(path, module))
                        break
            else:
                ahead.pop()
