"""``torch.device`` as a mode: ``with torch.device("meta"):`` and its decorator form."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core


def device_decorator(device: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function runs with that default device."""
    if inspect.isclass(function):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have the "
            "context manager applied; additionally, decorating a class at definition-site will prevent use of the "
            "identifier as a conventional type.  To specify which methods to decorate, decorate each of them individually."
        )

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with device:
            return function(*args, **kwargs)

    return run


def set_device(device: Any) -> Callable[..., Any]:
    """A decorator: the function runs with that default device."""
    return functools.partial(device_decorator, _core.device(device))


class DeviceContext:
    """``with DeviceContext(device):`` new tensors go to device."""

    def __init__(self, device: Any) -> None:
        self.device = _core.device(device)

    def __enter__(self) -> DeviceContext:
        self.device.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.device.__exit__(*exc)
