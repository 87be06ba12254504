"""Pairs of values that are compared: one class for each kind of value, as test suites subclass them."""

from __future__ import annotations

import abc
import cmath
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np

from shim_torch._impl.native import _core
from shim_torch._impl.testing.mismatch import (
    ErrorMeta,
    UnsupportedInputs,
    get_tolerances,
    make_scalar_mismatch_msg,
)

Tensor = _core.Tensor
_UNSIGNED = (_core.uint16, _core.uint32, _core.uint64)


class Pair(abc.ABC):
    """Two values and how they are compared. A constructor raises UnsupportedInputs for values of other kinds."""

    def __init__(self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), **unknown_parameters: Any) -> None:
        self.actual, self.expected, self.id = actual, expected, id
        self._unknown_parameters = unknown_parameters

    @staticmethod
    def _inputs_not_supported() -> NoReturn:
        raise UnsupportedInputs

    @staticmethod
    def _check_inputs_isinstance(*inputs: Any, cls: type | tuple[type, ...]) -> None:
        if not all(isinstance(x, cls) for x in inputs):
            raise UnsupportedInputs

    def _fail(self, type: type[Exception], msg: str, *, id: tuple[Any, ...] = ()) -> NoReturn:
        raise ErrorMeta(type, msg, id=id or getattr(self, "id", ()))

    @abc.abstractmethod
    def compare(self) -> None:
        """Errors: ErrorMeta where the values differ."""

    def extra_repr(self) -> Sequence[str | tuple[str, Any]]:
        """Names of attributes, or (name, value) pairs, that ``repr`` shows too."""
        return ()

    def __repr__(self) -> str:
        extra = [(e, getattr(self, e)) if isinstance(e, str) else e for e in self.extra_repr()]
        rows = [("id", self.id), ("actual", self.actual), ("expected", self.expected), *extra]
        return "\n".join([f"{type(self).__name__}(", *(f"    {name}={value!s}," for name, value in rows), ")"])


class ObjectPair(Pair):
    """Anything, compared with ``==``."""

    def compare(self) -> None:
        """Errors: ErrorMeta of AssertionError unless the values are equal, of ValueError where ``==`` raises."""
        try:
            equal = self.actual == self.expected
        except Exception as error:
            text = f"{self.actual} == {self.expected} failed with:\n{error}."
            raise ErrorMeta(ValueError, text, id=self.id) from error
        if not equal:
            self._fail(AssertionError, f"{self.actual} != {self.expected}")


class NonePair(Pair):
    """Values of which one is None."""

    def __init__(self, actual: Any, expected: Any, **other_parameters: Any) -> None:
        if actual is not None and expected is not None:
            self._inputs_not_supported()
        super().__init__(actual, expected, **other_parameters)

    def compare(self) -> None:
        """Errors: ErrorMeta unless both are None."""
        if self.actual is not self.expected:
            self._fail(AssertionError, f"None mismatch: {self.actual} is not {self.expected}")


class BooleanPair(Pair):
    """``bool`` and ``numpy.bool_``."""

    def __init__(self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), **other_parameters: Any) -> None:
        actual, expected = self._process_inputs(actual, expected, id=id)
        super().__init__(actual, expected, id=id, **other_parameters)

    @property
    def _supported_types(self) -> tuple[type, ...]:
        return (bool, np.bool_)

    def _process_inputs(self, actual: Any, expected: Any, *, id: tuple[Any, ...]) -> tuple[bool, bool]:
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return self._to_bool(actual, id=id), self._to_bool(expected, id=id)

    def _to_bool(self, bool_like: Any, *, id: tuple[Any, ...]) -> bool:
        return bool(bool_like)

    def compare(self) -> None:
        """Errors: ErrorMeta unless both are the same."""
        if self.actual is not self.expected:
            self._fail(AssertionError, f"Booleans mismatch: {self.actual} is not {self.expected}")


class _ClosePair(Pair):
    """What the pairs with tolerances share: options by name, each an attribute and in ``repr``, and rtol with atol.

    Errors: ErrorMeta (ValueError) for only one of rtol and atol.
    """

    _OPTIONS: ClassVar[dict[str, Any]] = {"rtol": None, "atol": None, "equal_nan": False}
    _FOR_INPUTS: ClassVar[dict[str, Any]] = {}  # options that only choose which values are taken
    rtol: Any
    atol: Any
    equal_nan: bool
    _process_inputs: Callable[..., tuple[Any, Any]]

    def __init__(self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), **options: Any) -> None:
        for name, default in self._OPTIONS.items():
            setattr(self, name, options.pop(name, default))
        taking = {name: options.pop(name, default) for name, default in self._FOR_INPUTS.items()}
        super().__init__(*self._process_inputs(actual, expected, id=id, **taking), id=id, **options)
        if self.rtol is None or self.atol is None:
            dtypes = self._dtype(self.actual), self._dtype(self.expected)
            self.rtol, self.atol = get_tolerances(*dtypes, rtol=self.rtol, atol=self.atol, id=id)

    def _dtype(self, value: Any) -> Any:
        return value.dtype

    def extra_repr(self) -> Sequence[str]:
        return tuple(self._OPTIONS)


class NumberPair(_ClosePair):
    """``int``, ``float``, ``complex`` and NumPy's numbers, within tolerances. Options: rtol, atol, equal_nan, check_dtype."""

    _TYPE_TO_DTYPE = {int: _core.int64, float: _core.float64, complex: _core.complex128}
    _NUMBER_TYPES = tuple(_TYPE_TO_DTYPE)
    _OPTIONS: ClassVar[dict[str, Any]] = {**_ClosePair._OPTIONS, "check_dtype": False}
    check_dtype: bool

    def _dtype(self, value: Any) -> Any:
        return next(d for t, d in self._TYPE_TO_DTYPE.items() if isinstance(value, t))

    @property
    def _supported_types(self) -> tuple[type, ...]:
        return (*self._NUMBER_TYPES, np.number)

    def _process_inputs(self, actual: Any, expected: Any, *, id: tuple[Any, ...]) -> tuple[Any, Any]:
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return self._to_number(actual, id=id), self._to_number(expected, id=id)

    def _to_number(self, number_like: Any, *, id: tuple[Any, ...]) -> Any:
        return number_like.item() if isinstance(number_like, np.number) else number_like

    def compare(self) -> None:
        """Errors: ErrorMeta for numbers that are not close, or of different types where ``check_dtype`` asks."""
        text = self._mismatch()
        if text:
            self._fail(AssertionError, text)

    def _mismatch(self) -> str:
        """How the numbers differ; empty where they do not."""
        a, e = self.actual, self.expected
        if self.check_dtype and type(a) is not type(e):
            return f"The (d)types do not match: {type(a)} != {type(e)}."
        return "" if self._is_close(a, e) else make_scalar_mismatch_msg(a, e, rtol=self.rtol, atol=self.atol)

    def _is_close(self, a: Any, e: Any) -> bool:
        if a == e or self.equal_nan and a != a and e != e:  # NaN is not itself
            return True
        difference = abs(a - e)
        return cmath.isfinite(difference) and bool(difference <= self.atol + self.rtol * abs(e))
