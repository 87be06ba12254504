"""``torch._subclasses.functional_tensor``: the names that libraries give rules for and test against.

Programs are not traced here, so nothing is functionalized: no tensor is a :class:`FunctionalTensor`, and the mode is never
on. Rules registered for the mode are kept and not asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from shim_torch import Tensor
from shim_torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["FunctionalTensor", "FunctionalTensorMode", "disable_functional_mode", "dispatch_functionalize"]


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"torch._subclasses.functional_tensor.{what}: shim-torch runs operators as they are called and functionalizes none"
    )


class FunctionalTensor(Tensor):
    """A tensor whose in-place writes are recorded as new values; none can be made here."""

    def __new__(cls, elem: Tensor, mode: FunctionalTensorMode) -> FunctionalTensor:
        _refuse("FunctionalTensor")

    @staticmethod
    def to_functional(x: Tensor) -> Tensor:
        """NotImplementedError: see the class."""
        _refuse("FunctionalTensor.to_functional")


class FunctionalTensorMode(TorchDispatchMode):
    """The mode under which tensors are functional; it can be named and made, not entered."""

    def __init__(
        self, pre_dispatch: bool = False, export: bool = False, _allow_token_discovery: bool = False
    ) -> None:
        super().__init__()
        self.pre_dispatch = pre_dispatch
        self.export = export
        self._allow_token_discovery = _allow_token_discovery

    def __enter__(self) -> FunctionalTensorMode:
        _refuse("FunctionalTensorMode")


@contextlib.contextmanager
def disable_functional_mode() -> Iterator[None]:
    """Without the mode, within a ``with`` statement: as everywhere here."""
    yield


def dispatch_functionalize(func: Callable[..., Any], mode: FunctionalTensorMode | None = None) -> Callable[..., Any]:
    """NotImplementedError when the function is called: see the module."""

    def inner(*args: Any, **kwargs: Any) -> Any:
        _refuse("dispatch_functionalize")

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
