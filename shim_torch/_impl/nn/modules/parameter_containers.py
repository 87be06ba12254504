"""Lists and dicts of parameters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nn.modules.building import wrapped_index
from shim_torch._utils import typename
from shim_torch.nn.modules.module import Module
from shim_torch.nn.parameter import Parameter

Tensor = _core.Tensor


def _lines(named: Iterable[tuple[Any, Any]], described: Callable[[Any], str]) -> str:
    """A line of ``repr`` for each: what ``described`` says of a tensor, the type of another object."""
    texts = ((k, described(v) if isinstance(v, Tensor) else f"Object of type: {type(v).__name__}") for k, v in named)
    return "\n".join(f"  ({key}): {text}" for key, text in texts)


def _size(tensor: Any) -> str:
    return "x".join(map(str, tensor.size()))


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
        return getattr(self, str(wrapped_index(len(self), i)))

    def __setitem__(self, i: int, value: Any) -> None:
        self._put(wrapped_index(len(self), i), value)

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
        """A line for each entry: its class, dtype and size."""
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
        """A line for each entry: its kind, type and size, and the GPU that it is on."""

        def described(p: Any) -> str:
            kind = "Parameter" if isinstance(p, Parameter) else "Tensor"
            place = f" (GPU {p.get_device()})" if p.is_cuda else ""
            return f"{kind} containing: [{typename(p)} of size {_size(p)}{place}]"

        return _lines(self.items(), described)
