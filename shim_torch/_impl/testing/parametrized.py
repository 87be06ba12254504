"""``parametrize`` and ``subtest`` for classes of unittest: one test method for each combination of values."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from shim_torch._impl.native import _core


class subtest:
    """Values of one test, its ``name``, and decorators for it alone."""

    def __init__(self, arg_values: Any, name: str | None = None, decorators: Iterable[Callable] | None = None) -> None:
        self.arg_values, self.name, self.decorators = arg_values, name, list(decorators or ())


class parametrize:
    """``@parametrize("a,b", [(1, 2), subtest((3, 4), name="large")])``: one test for each row.

    Several of them on one function multiply. ``name_fn`` makes a row's suffix of its values. The class that holds the
    test goes through ``instantiate_parametrized_tests``.
    """

    def __init__(self, arg_str: str, arg_values: Iterable[Any], name_fn: Callable[..., str] | None = None) -> None:
        self.names = [name.strip() for name in arg_str.split(",") if name.strip()]
        self.values, self.name_fn = list(arg_values), name_fn

    def __call__(self, fn: Callable) -> Callable:
        fn.__dict__.setdefault("parametrize_rows", []).insert(0, self)
        return fn

    def rows(self) -> Iterator[tuple[str, dict[str, Any], list[Callable]]]:
        """(suffix, arguments, decorators) of each row."""
        for number, value in enumerate(self.values):
            row = value if isinstance(value, subtest) else subtest(value)
            values = list(row.arg_values) if len(self.names) > 1 else [row.arg_values]
            if len(self.names) == 1 and isinstance(value, subtest) and isinstance(row.arg_values, (tuple, list)):
                values = [row.arg_values[0]] if len(row.arg_values) == 1 else [row.arg_values]
            if len(values) != len(self.names):
                raise RuntimeError(f"Expected # values == # arg names, but got: {len(values)} values and {self.names}")
            yield self._suffix(row, values, number), dict(zip(self.names, values, strict=True)), row.decorators

    def _suffix(self, row: subtest, values: list[Any], number: int) -> str:
        if row.name is not None:
            return row.name
        if self.name_fn is not None:
            return self.name_fn(*values)
        return "_".join(_named(name, value, number) for name, value in zip(self.names, values, strict=True))


def _named(name: str, value: Any, number: int) -> str:
    """A value's part of the name, as PyTorch's tests are called: dtypes and devices alone, what has no short text by its row."""
    if isinstance(value, _core.dtype):
        return str(value).split(".")[1]
    if isinstance(value, _core.device):
        return str(value)
    if isinstance(value, (bool, int, float, str)) and not isinstance(value, np.generic):
        return f"{name}_{str(value).replace('.', '_')}"
    return f"{name}{number}"


def instantiate_parametrized_tests(generic_cls: type) -> type:
    """Puts the tests of ``parametrize`` in the class under names of their own; returns the class."""
    for name in dir(generic_cls):
        test = inspect.getattr_static(generic_cls, name)
        if name.startswith("test") and hasattr(test, "parametrize_rows"):
            if name in vars(generic_cls):
                delattr(generic_cls, name)
            for suffix, arguments, decorators in _combinations(test.parametrize_rows):
                setattr(generic_cls, f"{name}_{suffix}", _bound(test, f"{name}_{suffix}", arguments, decorators))
    return generic_cls


def _combinations(rows: list[parametrize]) -> Iterator[tuple[str, dict[str, Any], list[Callable]]]:
    for parts in itertools.product(*(list(r.rows()) for r in rows)):
        arguments = {k: v for _, given, _ in parts for k, v in given.items()}
        yield "_".join(p[0] for p in parts), arguments, [d for p in parts for d in p[2]]


def _bound(test: Callable, name: str, arguments: dict[str, Any], decorators: list[Callable]) -> Callable:
    @functools.wraps(test)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return test(self, *args, **arguments, **kwargs)

    del run.__wrapped__, run.__dict__["parametrize_rows"]
    run.__name__ = name
    run.__dict__["parametrized_with"] = arguments
    for decorator in decorators:
        run = decorator(run)
    return run
