"""``torch.testing._internal.optests``: ``opcheck``, and its checks run over the operators that a suite's tests call."""

from __future__ import annotations

import functools
import json
import os
import unittest
from collections.abc import Callable, Sequence
from typing import Any

from shim_torch._impl.library.opcheck import CHECKS
from shim_torch._impl.native import _core
from shim_torch.library import opcheck
from shim_torch.overrides import TorchFunctionMode

__all__ = ["generate_opcheck_tests", "is_inside_opcheck_mode", "opcheck"]

DEFAULT_TEST_UTILS = ["test_schema", "test_autograd_registration", "test_faketensor"]
_active: list[str] = []


def is_inside_opcheck_mode() -> bool:
    """Whether a test runs for one of the checks."""
    return bool(_active)


class _Checking(TorchFunctionMode):
    """Runs one check on every operator of the namespaces that is called."""

    def __init__(self, namespaces: Sequence[str], util: str, expected: dict[str, set[str]], test: str) -> None:
        super().__init__()
        self._namespaces, self._util, self._expected, self._test = set(namespaces), util, expected, test

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        overload = getattr(func, "default", func)
        name = getattr(getattr(overload, "_schema", None), "name", "")
        if name.partition("::")[0] in self._namespaces and self._util in CHECKS:
            inputs = [_detached(args), _detached(kwargs)]
            try:
                CHECKS[self._util](overload, *inputs)
            except Exception as error:
                if self._test not in self._expected.get(name, ()):
                    raise RuntimeError(f"{self._util} of {name} in {self._test}: {error}") from error
        return func(*args, **kwargs)


def _detached(value: Any) -> Any:
    if isinstance(value, _core.TensorBase):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(_detached(v) for v in value)
    return {k: _detached(v) for k, v in value.items()} if isinstance(value, dict) else value


def _expected_failures(path: str | None) -> dict[str, set[str]]:
    if path is None or not os.path.exists(path):
        return {}
    with open(path) as file:
        text = "\n".join(line for line in file.read().split("\n") if not line.startswith("#"))
    table = json.loads(text).get("data", {})
    return {op: {t.rsplit(".", 1)[-1] for t in tests} for op, tests in table.items()}


def generate_opcheck_tests(
    testcase: Any,
    namespaces: Sequence[str],
    failures_dict_path: str | None = None,
    additional_decorators: dict[str, Sequence[Callable]] | None = None,
    test_utils: Sequence[str] = DEFAULT_TEST_UTILS,
) -> None:
    """Adds ``{util}__{test}`` to the class for each of its tests: the test with the check on every operator it calls.

    ``failures_dict_path``: a JSON file of tests that may fail, by operator.
    """
    expected = _expected_failures(failures_dict_path)
    names = [n for n in dir(testcase) if n.startswith("test_") and callable(getattr(testcase, n))]
    for util in test_utils:
        for name in names:
            method = _checked(getattr(testcase, name), f"{util}__{name}", util, namespaces, expected)
            for decorator in (additional_decorators or {}).get(method.__name__, ()):
                method = decorator(method)
            setattr(testcase, f"{util}__{name}", method)


def _checked(
    test: Callable, name: str, util: str, namespaces: Sequence[str], expected: dict[str, set[str]]
) -> Callable:
    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> Any:
        if util not in CHECKS:
            raise unittest.SkipTest(f"{util} checks what PyTorch's compilers need; there is none here")
        _active.append(util)
        try:
            with _Checking(namespaces, util, expected, name):
                return test(*args, **kwargs)
        finally:
            _active.pop()

    run.__name__ = name
    return run
