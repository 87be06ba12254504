"""``torch._subclasses.functional_tensor``: tensors whose in-place writes give new values, and the mode that runs programs so.

The tensors and the mode are those of ``torch.func.functionalize``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from shim_torch._impl.native import _core
from shim_torch._impl.transforms.functionalization import FunctionalTensor, FunctionalTensorMode, _below_mode
from shim_torch.utils._pytree import tree_map

__all__ = ["FunctionalTensor", "FunctionalTensorMode", "disable_functional_mode", "dispatch_functionalize"]


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"torch._subclasses.functional_tensor.{what}: shim-torch runs higher-order operators as they are called and functionalizes none"
    )


@contextlib.contextmanager
def disable_functional_mode() -> Iterator[None]:
    """Without the mode, where it is the one that is asked first, within a ``with`` statement."""
    with _below_mode():
        yield


def dispatch_functionalize(func: Callable[..., Any], mode: FunctionalTensorMode | None = None) -> Callable[..., Any]:
    """The function run under the mode on functional tensors; what comes back are their values. Writes to arguments are not made."""

    def inner(*args: Any, **kwargs: Any) -> Any:
        on = FunctionalTensorMode() if mode is None else mode

        def enter(x: Any) -> Any:
            return FunctionalTensor(x, on) if isinstance(x, _core.TensorBase) else x

        with _below_mode():
            inputs = tree_map(enter, args), tree_map(enter, kwargs)
            with on:
                found = func(*inputs[0], **inputs[1])
            return tree_map(lambda x: x.elem if isinstance(x, FunctionalTensor) else x, found)

    return inner


class BaseFunctionalizeAPI:
    """What functionalization of higher-order operators asks; none can be made here."""

    def __init__(self, *_: Any, **__: Any) -> None:
        _refuse(type(self).__name__)


class PythonFunctionalizeAPI(BaseFunctionalizeAPI):
    """For ``FunctionalTensorMode``."""


class CppFunctionalizeAPI(BaseFunctionalizeAPI):
    """For the dispatcher's functionalization."""


class FunctorchFunctionalizeAPI(BaseFunctionalizeAPI):
    """For ``torch.func.functionalize``."""
