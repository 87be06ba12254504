"""``torch.testing._internal.common_device_type``: tests written once, a class of them for each type of device (apex's tests)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from shim_torch._impl.testing.flags import TEST_CUDA
from shim_torch._impl.testing.parametrized import instantiate_parametrized_tests

__all__ = ["instantiate_device_type_tests"]


def _devices(except_for: Any, only_for: Any) -> list[str]:
    def named(types: Any) -> Iterable[str]:
        return [types] if isinstance(types, str) else list(types)

    there = ["cpu", *(["cuda"] if TEST_CUDA else [])]
    wanted = there if only_for is None else [t for t in there if t in named(only_for)]
    return wanted if except_for is None else [t for t in wanted if t not in named(except_for)]


def _on(test: Callable, device: str) -> Callable:
    """The test, given the device if it takes one."""
    if "device" not in inspect.signature(test).parameters:
        return test

    @wraps(test)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return test(self, *args, device=device, **kwargs)

    del run.__wrapped__  # type: ignore[attr-defined]
    return run


def _with_device(key: str, device: str, dtype: Any) -> str:
    """A parameter called ``dtype`` is named once more at the end."""
    return f"{key}_{device}" if dtype is None else f"{key}_{device}_{str(dtype).split('.')[1]}"


def instantiate_device_type_tests(
    generic_test_class: type, scope: dict[str, Any], except_for: Any = None, only_for: Any = None
) -> None:
    """Puts ``NameCPU`` and (with a GPU) ``NameCUDA`` in ``scope`` for the class ``Name``, which is taken out of it.

    Tests that take ``device`` get ``"cpu"`` or ``"cuda:0"``; those of ``parametrize`` become one for each row.
    """
    scope.pop(generic_test_class.__name__, None)
    for device in _devices(except_for, only_for):
        name = generic_test_class.__name__ + device.upper()
        here = device if device == "cpu" else f"{device}:0"
        members: dict[str, Any] = {"device_type": device, "__module__": generic_test_class.__module__}
        for key, test in vars(generic_test_class).items():
            if not key.startswith("test") or not callable(test):
                continue
            rows = getattr(test, "parametrize_rows", None)
            members[f"{key}_{device}" if rows is None else key] = _on(test, here)
        made = instantiate_parametrized_tests(type(name, (generic_test_class,), members))
        for key in [k for k, test in vars(made).items() if hasattr(test, "parametrized_with")]:
            test = vars(made)[key]
            delattr(made, key)
            setattr(made, _with_device(key, device, test.parametrized_with.get("dtype")), test)
        for key in vars(generic_test_class):
            if key.startswith("test"):
                setattr(made, key, None)  # the generic one is no test of the class
        scope[name] = made
