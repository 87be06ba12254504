"""Pickling instances of classes whose ``__module__`` is ``torch.…`` where that name does not lead to ours.

pickle writes a class as module and name, and checks at once that they lead to it. In scope they do; elsewhere there is
no ``torch``, or the real one, and the class is written by its name within ``shim_torch``, which can always be imported. So
are functions and classes of ours that are attributes of the instance (a layer's activation). One that is pickled by itself
cannot be: pickle asks it for ``__module__`` and nothing else, and says that it is not found there.
"""

from __future__ import annotations

import builtins
import copyreg
import sys
from importlib import import_module
from types import BuiltinFunctionType, FunctionType
from typing import Any

ROOT = "shim_torch"


def resolve(module: str, name: str) -> Any:
    """The object that a file calls ``torch.module.name``; ImportError or AttributeError if there is none."""
    path = module.split(".")[1:]
    for known in range(len(path), -1, -1):  # some of torch's modules are names within ours
        try:
            found: Any = import_module(".".join([ROOT, *path[:known]]))
        except ModuleNotFoundError:
            if not known:
                raise
            continue
        break
    for part in [*path[known:], *name.split(".")]:
        found = getattr(found, part)
    return found


def reduce_ex(self: Any, protocol: Any) -> Any:
    """``__reduce_ex__`` of classes of ours that users pickle instances of."""
    reduced = object.__reduce_ex__(self, protocol)
    if not isinstance(reduced, tuple) or reduced[0] is not copyreg.__newobj__:  # type: ignore[attr-defined]
        return reduced
    cls, *args = reduced[1]
    frame = sys._getframe(1)
    if frame.f_globals.get("__name__") == "copy":  # which looks nothing up
        return reduced
    state = _named(reduced[2], frame)
    if not _is_ours(cls) or _seen(cls, frame):
        return (*reduced[:2], state, *reduced[3:])
    return _new, (cls.__module__, cls.__qualname__, *args), state, *reduced[3:]


class _Named:
    """A function or class of ours in the state of an instance, written as a call that finds it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> tuple[Any, ...]:
        return resolve, (self.value.__module__, self.value.__qualname__)


def _named(state: Any, frame: Any) -> Any:
    """The state with what is ours, and is not found by its name where ``frame`` pickles."""
    if not isinstance(state, dict):
        return state
    found = {
        name: _Named(value)
        for name, value in state.items()
        if isinstance(value, (FunctionType, BuiltinFunctionType, type)) and _is_ours(value) and not _seen(value, frame)
    }
    return {**state, **found} if found else state


def _is_ours(cls: Any) -> bool:
    home = cls.__module__
    if not isinstance(home, str) or home != "torch" and not home.startswith("torch."):
        return False
    try:
        return resolve(cls.__module__, cls.__qualname__) is cls
    except (AttributeError, ImportError):
        return False


def _held(module: Any, cls: Any) -> bool:
    found = module
    for part in cls.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(part)
    return found is cls


def _seen(cls: Any, frame: Any) -> bool:
    """Whether code of ``frame`` finds ``cls`` under its name. Imports nothing that is not ours."""
    if _held(sys.modules.get(cls.__module__), cls):
        return True
    find = frame.f_builtins.get("__import__")
    if find is None or find is builtins.__import__:
        return False
    try:
        return _held(find(cls.__module__, frame.f_globals, None, ("__name__",), 0), cls)
    except ImportError:
        return False


def _new(module: str, name: str, *args: Any) -> Any:
    cls = resolve(module, name)
    return cls.__new__(cls, *args)
