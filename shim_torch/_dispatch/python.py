"""``torch._dispatch.python``: switches of PyTorch's Python dispatcher. Operators always find Python implementations here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from shim_torch._impl.surface.not_built import _function

__all__ = ["enable_pre_dispatch", "enable_python_dispatcher", "no_python_dispatcher"]


class enable_python_dispatcher(contextlib.ContextDecorator):
    """Within it, implementations registered from Python are asked first: they always are."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


class no_python_dispatcher(enable_python_dispatcher):
    """The other way round: nothing changes."""


class enable_pre_dispatch(enable_python_dispatcher):
    """Tracing before autograd: there is one order of dispatch here."""


@contextlib.contextmanager
def suspend_functionalization() -> Iterator[None]:
    """Within it, functionalization is off: it is not a state of this package."""
    yield


def all_py_loaded_overloads() -> Iterator[Any]:
    """Every overload of every operator that can be reached through ``torch.ops``."""
    from shim_torch._ops import ops

    for namespace in ops:
        packets = getattr(ops, namespace)
        for name in packets:
            packet = getattr(packets, name)
            for overload in packet.overloads():
                yield getattr(packet, overload)


enable_crossref_functionalize = _function(
    "torch._dispatch.python", "enable_crossref_functionalize", "functionalization is not a state of this package"
)
