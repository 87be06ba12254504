"""Which functions ``__torch_function__`` sees, by what name, and stand-ins of their signatures: for ``torch.overrides``.

The functions are found where PyTorch finds them, in its public namespaces; the names that it documents as not overridable
stand in ``not_overridable.txt``.
"""

from __future__ import annotations
import __future__

import functools
import inspect
from collections import defaultdict
from collections.abc import Callable
from keyword import iskeyword
from types import FunctionType, ModuleType
from typing import Any

from shim_torch._impl import data
from shim_torch._impl.native import _core

_MISSING = object()
# What torch.nn.init asks about its first argument, without a name in a namespace that is looked through below.
_INITIALISERS = ("constant_", "kaiming_uniform_", "normal_", "uniform_")


def _spaces() -> list[tuple[Any, list[str], str]]:
    import shim_torch
    from shim_torch import fft, functional, linalg, nn, special

    spaces: list[tuple[Any, list[str], str]] = [(shim_torch, dir(shim_torch), "torch")]
    spaces.append((functional, list(functional.__all__), "torch.functional"))
    for space, name in ((nn.functional, "nn.functional"), (nn.init, "nn.init"), (_core.Tensor, "Tensor")):
        spaces.append((space, dir(space), f"torch.{name}"))
    return spaces + [(s, dir(s), f"torch.{n}") for s, n in ((linalg, "linalg"), (fft, "fft"), (special, "special"))]


def _is_private(space: Any, name: str) -> bool:
    """Whether a name outside Tensor is not public: resolved, but not overridable."""
    return space is not _core.Tensor and (name.startswith("_") or name.endswith("_") or not name[0].islower())


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@functools.cache
def ignored() -> frozenset[Any]:
    """The functions of ``not_overridable.txt`` that are here, and attributes of every Python object."""
    import shim_torch

    found: set[Any] = {object.__getattribute__, object.__setattr__, object.__delattr__, object.__init__}
    lines = data.read("not_overridable.txt").splitlines()[1:]
    for name in " ".join(lines).split():
        value: Any = shim_torch
        for part in name.split("."):
            value = getattr(value, part, _MISSING)
        if value is not _MISSING and _hashable(value):
            found.add(value)
    return frozenset(found)


@functools.cache
def functions() -> tuple[dict[Any, list[Any]], dict[Any, str]]:
    """The overridable functions of each namespace (of a property: under the property), and the names of all that were met."""
    found: dict[Any, list[Any]] = defaultdict(list)
    names: dict[Any, str] = {}
    skipped = ignored()
    for space, members, called in _spaces():
        for name in members:
            if space is not _core.Tensor and (name.startswith("__") or name == "unique_dim"):
                continue
            value = getattr(space, name, _MISSING)
            if value is _MISSING or isinstance(value, (ModuleType, __future__._Feature)) or name == "__weakref__":
                continue
            if space is _core.Tensor and getattr(object, name, _MISSING) == value:
                continue
            key: Any = space
            if not callable(value):
                if not hasattr(value, "__get__"):
                    continue
                key, value, name = value, value.__get__, f"{name}.__get__"
            if not _hashable(value):
                continue
            names[value] = f"{called}.{name}"
            if not _is_private(space, name) and value not in skipped:
                found[key].append(value)
    return found, names


@functools.cache
def methods() -> frozenset[Any]:
    """The overridable methods of Tensor."""
    return frozenset(functions()[0][_core.Tensor])


@functools.cache
def stand_ins() -> dict[Any, Callable[..., int]]:
    """For each overridable function one of its signature, which gives -1."""
    from shim_torch.nn import init

    every = [f for of_space in functions()[0].values() for f in of_space]
    return {
        f: _stand_in(f) for f in [*every, *(getattr(init, name) for name in _INITIALISERS)] if not isinstance(f, type)
    }


def _stand_in(function: Any) -> Callable[..., int]:
    def override(*args: Any, **kwargs: Any) -> int:
        return -1

    override.__signature__ = inspect.Signature(_parameters(function))  # type: ignore[attr-defined]
    return override


# The arguments after the tensor of methods whose signature nothing else tells.
_METHOD_ARGUMENTS = {
    "__getitem__": "indices",
    "__setitem__": "indices value",
    "register_hook": "hook",
    "register_post_accumulate_grad_hook": "hook",
} | dict.fromkeys(
    [
        f"__{n}__"
        for n in "eq ge gt le lt ne and or xor add sub mul matmul mod truediv floordiv div pow lshift rshift".split()
    ]
    + [
        f"__{i}{n}__"
        for i in "ri"
        for n in "and or xor add sub mul matmul mod truediv floordiv div pow lshift rshift".split()
    ],
    "other",
)


def _parameters(function: Any) -> list[inspect.Parameter]:
    """Of a Python function its own, of an operator those of the first overload, of a property the tensor."""
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
    itself = inspect.Parameter("self", plain)
    if function in methods() and function.__name__ in _METHOD_ARGUMENTS:
        return [itself, *(inspect.Parameter(n, plain) for n in _METHOD_ARGUMENTS[function.__name__].split())]
    if function.__name__ == "__get__":
        return [itself]
    written_here = isinstance(function, FunctionType) and function not in methods() and _names_its_arguments(function)
    schema = [] if written_here else _core.operator_overloads(f"aten::{function.__name__}")
    if schema and not function.__name__.startswith("__"):
        return _of_operator(function, schema[0], function in methods())
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [itself] if function in methods() else []
    return [p.replace(annotation=inspect.Parameter.empty) for p in given]


def _names_its_arguments(function: Any) -> bool:
    return all(p.kind is not inspect.Parameter.VAR_POSITIONAL for p in inspect.signature(function).parameters.values())


def _of_operator(function: Any, overload: str, method: bool) -> list[inspect.Parameter]:
    from shim_torch import ops

    made = []
    for a in getattr(getattr(ops.aten, function.__name__), overload or "default")._schema.arguments:
        name = f"{a.name}_" if iskeyword(a.name) else a.name
        made.append(
            inspect.Parameter(
                "input" if name == "self" and not method else name,
                inspect.Parameter.KEYWORD_ONLY if a.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=a.default_value if a.has_default_value() else inspect.Parameter.empty,
            )
        )
    return made
