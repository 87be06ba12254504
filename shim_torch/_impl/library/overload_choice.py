"""Which overload of an operator a call is of, by the types of its schemas and without running anything."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core

_NUMBERS = (bool, int, float, complex)
_FITTING: dict[str, tuple[type, ...]] = {
    "Tensor": (_core.TensorBase,),
    "number": _NUMBERS,
    "complex": _NUMBERS,
    "float": (bool, int, float),
    "int": (bool, int, _core.dtype, _core.layout, _core.memory_format),  # in schemas the last three are numbers
    "bool": (bool, int),
    "str": (str,),
    "Device": (_core.device, str),
}


def overload_of(packet: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """The name of the overload that takes a call's arguments, rather one for which no number becomes a tensor; None where none does."""
    names = sorted(packet.overloads(), key=lambda name: name != "default")
    schemas = [getattr(packet, name)._schema.arguments for name in names]
    for numbers in ((), _NUMBERS):
        for name, arguments in zip(names, schemas, strict=True):
            if _takes(arguments, args, kwargs, numbers):
                return str(name)
    return None


def _takes(arguments: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any], numbers: tuple[type, ...]) -> bool:
    positional = [a for a in arguments if not a.kwarg_only]
    if len(args) > len(positional):
        return False
    given = {a.name: value for a, value in zip(positional, args, strict=False)}
    if given.keys() & kwargs.keys() or kwargs.keys() - {a.name for a in arguments}:
        return False
    given.update(kwargs)
    return all(
        _fits(str(a.type), given[a.name], a.N is not None, numbers) if a.name in given else a.has_default_value()
        for a in arguments
    )


def _fits(kind: str, value: Any, of_length: bool, numbers: tuple[type, ...]) -> bool:
    outer, _, inner = kind.partition("[")
    if outer == "Optional":
        return value is None or _fits(inner[:-1], value, of_length, numbers)
    if outer == "List":
        one = inner[:-1]
        if isinstance(value, (list, tuple)):
            return all(_fits(one, v, False, numbers) for v in value)
        return of_length and one != "Tensor" and _fits(one, value, False, numbers)  # one number for each element
    if outer == "Generator":
        from shim_torch import Generator

        return isinstance(value, Generator)
    return isinstance(value, _FITTING.get(outer, ())) or (outer == "Tensor" and isinstance(value, numbers))
