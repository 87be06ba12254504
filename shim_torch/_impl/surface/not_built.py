"""Names of PyTorch that can be imported here but not used: what needs a compiler or quantized tensors.

Test suites and libraries import them at their top and use them in a few places. A function raises NotImplementedError when it
is called, a class when an instance is made; both say which name it was and why. ``__not_built__`` marks them: the command
line counts them as missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from shim_torch._impl.surface.own import in_torch

NO_COMPILER = "there is no compiler: functions run as they are"
NO_QUANTIZED = "there are no quantized tensors"
NO_ONEDNN = "there are no tensors in oneDNN's layout"
NO_SPARSE_KERNELS = "there are no block-sparse kernels"
NO_TRACE = "there is nothing recorded to draw from"
ONE_PROCESS = "groups have one process"
NO_AGENT = "torchrun's agent is of another kind, without classes to derive from"
NO_SCRIPT = "there is no TorchScript: functions stay Python functions"


def refuse(name: str, why: str) -> NoReturn:
    """Raises NotImplementedError for a dotted name."""
    raise NotImplementedError(f"{name} is not supported by shim-torch: {why}")


def _function(module: str, name: str, why: str) -> Callable[..., Any]:
    def absent(*_: Any, **__: Any) -> NoReturn:
        refuse(f"{module}.{name}", why)

    absent.__name__ = absent.__qualname__ = name
    absent.__module__ = module
    absent.__not_built__ = why  # type: ignore[attr-defined]
    return absent


def _class(module: str, name: str, why: str) -> type:
    def __init__(self: Any, *_: Any, **__: Any) -> None:
        refuse(f"{module}.{name}", why)

    return type(name, (), {"__init__": __init__, "__module__": module, "__not_built__": why})


def names(module: str, why: str, text: str) -> dict[str, Any]:
    """``{name: class or function}`` of the names in ``text``; classes begin with a capital, after underscores."""
    return {name: (_class if name.lstrip("_")[:1].isupper() else _function)(module, name, why) for name in text.split()}


def declare(module: dict[str, Any], why: str, text: str) -> None:
    """Puts the names in ``text`` into a module's globals."""
    module.update(names(in_torch(module["__name__"]), why, text))
