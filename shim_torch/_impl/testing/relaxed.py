"""The pairs of ``TestCase.assertEqual``: what PyTorch's tests take for equal is wider than ``assert_close``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from shim_torch._impl.native import _core
from shim_torch._impl.tensor.from_data import as_tensor
from shim_torch.testing._comparison import BooleanPair, NumberPair, ObjectPair, Pair, TensorLikePair, UnsupportedInputs


def _is_scalar_tensor(x: Any) -> bool:
    return isinstance(x, _core.Tensor) and x.numel() == 1 or isinstance(x, np.ndarray) and x.size == 1


def _check_one_element(pair: Any, *inputs: Any) -> None:
    """At least one input is of the pair's types, and the others have one element."""
    plain = [isinstance(x, pair._supported_types) for x in inputs]
    if not any(plain) or not all(p or _is_scalar_tensor(x) for p, x in zip(plain, inputs, strict=True)):
        pair._inputs_not_supported()


class RelaxedBooleanPair(BooleanPair):
    """A bool against a bool, or against a tensor or array of one element."""

    def _process_inputs(self, actual: Any, expected: Any, *, id: tuple[Any, ...]) -> tuple[bool, bool]:
        _check_one_element(self, actual, expected)
        return self._to_bool(actual, id=id), self._to_bool(expected, id=id)

    def _to_bool(self, bool_like: Any, *, id: tuple[Any, ...]) -> bool:
        return bool(bool_like.item()) if _is_scalar_tensor(bool_like) else bool(bool_like)


class RelaxedNumberPair(NumberPair):
    """A number against a number of any type, or against a tensor or array of one element."""

    def __init__(self, actual: Any, expected: Any, *, check_dtype: bool = False, **others: Any) -> None:
        super().__init__(actual, expected, check_dtype=False, **others)

    def _process_inputs(self, actual: Any, expected: Any, *, id: tuple[Any, ...]) -> tuple[Any, Any]:
        _check_one_element(self, actual, expected)
        return self._to_number(actual, id=id), self._to_number(expected, id=id)

    def _to_number(self, number_like: Any, *, id: tuple[Any, ...]) -> Any:
        number = number_like.item() if hasattr(number_like, "item") else number_like
        return int(number) if isinstance(number, bool) else number


class TensorOrArrayPair(TensorLikePair):
    """A tensor against a tensor, an array, or a sequence of numbers."""

    def _takes(self, actual: Any, expected: Any) -> bool:
        return any(isinstance(x, (_core.Tensor, np.ndarray)) for x in (actual, expected))

    def _as_tensors(self, actual: Any, expected: Any) -> tuple[Any, Any]:
        return _as_tensor(actual, expected), _as_tensor(expected, actual)


def _as_tensor(x: Any, other: Any) -> Any:
    if isinstance(x, _core.Tensor):
        return x
    if not isinstance(x, (np.ndarray, Sequence)):
        raise UnsupportedInputs
    like = other if isinstance(other, _core.Tensor) and not isinstance(x, np.ndarray) else None
    return as_tensor(x, dtype=None if like is None else like.dtype)


class SetPair(Pair):
    """Sets, with what is missing and what is too much."""

    def __init__(self, actual: Any, expected: Any, **others: Any) -> None:
        self._check_inputs_isinstance(actual, expected, cls=set)
        super().__init__(actual, expected, **others)

    def compare(self) -> None:
        """Fails where the sets differ, and names the elements."""
        if self.actual != self.expected:
            text = f"Missing elements in the actual set: {sorted(self.expected - self.actual, key=str)}"
            text += f"\nAdditional elements in the actual set: {sorted(self.actual - self.expected, key=str)}"
            self._fail(AssertionError, f"Set mismatch:\n{text}")


class ObjectOfOneTypePair(ObjectPair):
    """Anything else (types, strings, dtypes, storages): ``==``."""

    def compare(self) -> None:
        """Fails where the objects differ; patterns, and one and the same object, are equal."""
        if isinstance(self.actual, re.Pattern) or self.actual is self.expected:
            return
        super().compare()


PAIRS = (RelaxedBooleanPair, RelaxedNumberPair, TensorOrArrayPair, SetPair, ObjectOfOneTypePair)
