"""Public functions and classes name the module that PyTorch has them in, wherever ours are written.

``__module__`` is visible in reprs, in ids of generated tests and in pickles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

from shim_torch._impl.serialization.class_pickling import reduce_ex
from shim_torch._impl.surface.own import in_torch


def present(
    namespace: dict[str, Any], home: str | None = None, elsewhere: Mapping[str, Iterable[str]] | None = None
) -> None:
    """Gives what a module defines under public names PyTorch's ``__module__``.

    ``namespace``: the module's globals. ``home``: the module's name in PyTorch; without it, its own with ``torch`` for
    ``shim_torch``. ``elsewhere``: other modules of PyTorch, and the names that it has there.
    """
    own = namespace["__name__"]
    default = in_torch(own)  # set by the finder already; an explicit call overrides
    home = home or default
    homes = {name: module for module, names in (elsewhere or {}).items() for name in names}
    for name, value in list(namespace.items()):
        if name[0] == "_" or not isinstance(value, (FunctionType, type)):
            continue
        if value.__module__ not in (own, default) or namespace.get(value.__qualname__) is not value:
            continue  # pickles would not find it
        if isinstance(value, type):
            _prepare(value, namespace)
        value.__module__ = homes.get(name, home)


def methods_of(owner: str, home: str) -> Callable[[type], type]:
    """A decorator of a mixin: its functions name the public class that they are methods of, and its module."""

    def named(mixin: type) -> type:
        for function in vars(mixin).values():
            if isinstance(function, FunctionType):
                function.__module__, function.__qualname__ = home, f"{owner}.{function.__name__}"
        return mixin

    return named


def _prepare(cls: type, namespace: dict[str, Any]) -> None:
    """What looks names up in the module that a class calls its own: annotations become objects, pickles ask first."""
    if annotations := cls.__dict__.get("__annotations__"):
        try:
            cls.__annotations__ = {k: eval(v, namespace) if isinstance(v, str) else v for k, v in annotations.items()}
        except (NameError, AttributeError, TypeError):  # names for type checkers only
            pass
    if cls.__reduce_ex__ is object.__reduce_ex__ and cls.__reduce__ is object.__reduce__:
        cls.__reduce_ex__ = reduce_ex  # type: ignore[assignment, method-assign]
