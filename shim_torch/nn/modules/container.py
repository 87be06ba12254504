"""Containers: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._utils import typename
from shim_torch.nn.modules.module import Module
from shim_torch.nn.parameter import Parameter

Tensor = _core.Tensor


def _index(length: int, i: Any) -> int:
    i = operator.index(i)
    if not -length <= i < length:
        raise IndexError(f"index {i} is out of range")
    return i % length


def _numbered(modules: Iterable[Any]) -> dict[str, Any]:
    return {str(number): module for number, module in enumerate(modules)}


def _lines(named: Iterable[tuple[Any, Any]], described: Callable[[Any], str]) -> str:
    """A line of ``repr`` for each: what ``described`` says of a tensor, the type of another object."""
    texts = ((k, described(v) if isinstance(v, Tensor) else f"Object of type: {type(v).__name__}") for k, v in named)
    return "\n".join(f"  ({key}): {text}" for key, text in texts)


def _size(tensor: Any) -> str:
    return "x".join(map(str, tensor.size()))


class Container(Module):
    """Deprecated: a module whose sub-modules are its keyword arguments."""

    def __init__(self, **kwargs: Any) -> None:
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class Sequential(Module):
    """Modules run one after the other."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        given_names = len(args) == 1 and isinstance(args[0], OrderedDict)
        for name, module in (args[0] if given_names else _numbered(args)).items():
            self.add_module(name, module)

    def _key(self, i: Any) -> str:
        return list(self._modules)[_index(len(self), i)]

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return type(self)(OrderedDict(list(self._modules.items())[i]))
        return self._modules[self._key(i)]

    def __setitem__(self, i: int, module: Module) -> None:
        setattr(self, self._key(i), module)

    def __delitem__(self, i: Any) -> None:
        for key in (
            [list(self._modules)[j] for j in range(*i.indices(len(self)))] if isinstance(i, slice) else [self._key(i)]
        ):
            delattr(self, key)
        self._modules = _numbered(self._modules.values())

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [key for key in super().__dir__() if not key.isdigit()]

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Sequential:
        return self.extend(other)

    def _check_factor(self, other: Any) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def __mul__(self, other: int) -> Sequential:
        """The modules so many times, one after another."""
        self._check_factor(other)
        return Sequential(*(list(self) * other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Sequential:
        self._check_factor(other)
        count = len(self)
        for i in range(count, count * other):
            self.add_module(str(i), self[i % count])
        return self

    def append(self, module: Module) -> Sequential:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Sequential:
        """Adds a module before position ``index``."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self._modules.values())
        modules.insert(index if index >= 0 else index + n, module)
        self._modules = _numbered(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Sequential:
        """Adds modules at the end."""
        for module in list(sequential):
            self.append(module)
        return self

    def pop(self, key: Any) -> Module:
        """Removes and gives back the module at ``key``."""
        module = self[key]
        del self[key]
        return module

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(Module):
    """A list of modules."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return type(self)(list(self._modules.values())[i])
        return self._modules[str(_index(len(self), i))]

    def __setitem__(self, i: int, module: Module) -> None:
        setattr(self, str(_index(len(self), i)), module)

    def __delitem__(self, i: Any) -> None:
        keep = list(self._modules.values())
        del keep[i if isinstance(i, slice) else _index(len(self), i)]
        self._modules = _numbered(keep)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __contains__(self, module: object) -> bool:
        return any(module is m for m in self._modules.values())

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return type(self)(chain(self, other))

    def __dir__(self) -> list[str]:
        return [key for key in super().__dir__() if not key.isdigit()]

    def insert(self, index: int, module: Module) -> None:
        """Inserts before position ``index``."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._modules = _numbered(modules)

    def append(self, module: Module) -> ModuleList:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: Any) -> Module:
        """Removes and gives back a module."""
        module = self[key]
        del self[key]
        return module

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Adds modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError("ModuleList.extend should be called with an iterable, but got " + type(modules).__name__)
        for i, module in enumerate(modules, len(self)):
            self.add_module(str(i), module)
        return self


class ModuleDict(Module):
    """A dict of modules."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Removes all."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Removes and gives back a module."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """The (name, module) pairs."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Adds or replaces from a mapping or an iterable of pairs."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an iterable of key/value pairs, but got "
                + type(modules).__name__
            )
        for key, module in modules.items() if isinstance(modules, (Mapping, ModuleDict)) else modules:
            self[key] = module


class ParameterList(Module):
    """A list of parameters (tensors become parameters; other objects are kept)."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return type(self)([self[j] for j in range(*i.indices(len(self)))])
        return getattr(self, str(_index(len(self), i)))

    def __setitem__(self, i: int, value: Any) -> None:
        self._put(_index(len(self), i), value)

    def _put(self, i: int, value: Any) -> None:
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, str(i), value)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Adds a parameter at the end."""
        self._size += 1
        self._put(self._size - 1, value)
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Adds parameters at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError("ParameterList.extend should be called with an iterable, but got " + type(values).__name__)
        for value in values:
            self.append(value)
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")

    def extra_repr(self) -> str:
        return _lines(enumerate(self), lambda p: f"{type(p).__name__} containing: [{p.dtype} of size {_size(p)}]")


class ParameterDict(Module):
    """A dict of parameters by string keys, in the order of insertion (tensors become parameters; other objects are kept)."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key: str) -> str:
        if not isinstance(key, str):
            raise TypeError(
                f"Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, self._key_to_attr(key), value)

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: Any) -> ParameterDict:
        copy = self.copy()
        copy.update(other)
        return copy

    def __ror__(self, other: Any) -> Any:
        copy = other.copy()
        copy.update(self)
        return copy

    def __ior__(self, other: Any) -> ParameterDict:
        self.update(other)
        return self

    def copy(self) -> ParameterDict:
        """Another ParameterDict of the same parameters."""
        return ParameterDict(OrderedDict((k, self[k]) for k in self._keys))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The parameter of ``key``, which becomes ``default`` where there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Removes all."""
        for k in list(self._keys):
            del self[k]

    def popitem(self) -> tuple[str, Any]:
        """Removes and gives back the last (key, parameter)."""
        key, _ = self._keys.popitem()
        self._keys[key] = None  # so that del takes it out
        value = self[key]
        del self[key]
        return key, value

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new ParameterDict with ``default`` under each key."""
        return ParameterDict((k, default) for k in keys)

    def keys(self) -> Any:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterator[tuple[str, Any]]:
        """The (name, parameter) pairs."""
        return ((k, self[k]) for k in self._keys)

    def values(self) -> Iterator[Any]:
        """The parameters."""
        return (self[k] for k in self._keys)

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter, or ``default``."""
        return self[key] if key in self else default

    def pop(self, key: str) -> Any:
        """Removes and gives back a parameter."""
        value = self[key]
        del self[key]
        return value

    def update(self, parameters: Any) -> None:
        """Adds or replaces from a mapping (a plain one's keys sorted) or an iterable of pairs."""
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParametersDict.update should be called with an iterable of key/value pairs, but got "
                + type(parameters).__name__
            )
        if isinstance(parameters, Mapping):
            in_order = isinstance(parameters, OrderedDict)
            parameters = parameters.items() if in_order else sorted(parameters.items())
        elif isinstance(parameters, ParameterDict):
            parameters = parameters.items()
        for j, pair in enumerate(parameters):
            if not isinstance(pair, Iterable):
                raise TypeError(
                    f"ParameterDict update sequence element #{j} should be Iterable; is{type(pair).__name__}"
                )
            if len(pair) != 2:  # type: ignore[arg-type]
                raise ValueError(
                    f"ParameterDict update sequence element #{j} has length {len(pair)}; 2 is required"  # type: ignore[arg-type]
                )
            key, value = pair
            self[key] = value

    def extra_repr(self) -> str:
        def described(p: Any) -> str:
            kind = "Parameter" if isinstance(p, Parameter) else "Tensor"
            place = f" (GPU {p.get_device()})" if p.is_cuda else ""
            return f"{kind} containing: [{typename(p)} of size {_size(p)}{place}]"

        return _lines(self.items(), described)
