"""Tensors compared, and the pairs that nested structures are made of."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch
from shim_torch._impl.testing.mismatch import (
    ErrorMeta,
    Identifier,
    UnsupportedInputs,
    make_scalar_mismatch_msg,
    make_tensor_mismatch_msg,
)
from shim_torch._impl.testing.pairs import _UNSIGNED, Pair, Tensor, _ClosePair


class TensorLikePair(_ClosePair):
    """Tensors, and values of one type that ``torch.as_tensor`` takes. Options: those of ``assert_close``."""

    _OPTIONS: ClassVar[dict[str, Any]] = {
        **_ClosePair._OPTIONS,
        "check_device": True,
        "check_dtype": True,
        "check_layout": True,
        "check_stride": False,
    }
    _FOR_INPUTS: ClassVar[dict[str, Any]] = {"allow_subclasses": True}
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def _process_inputs(
        self, actual: Any, expected: Any, *, id: tuple[Any, ...], allow_subclasses: bool
    ) -> tuple[Any, Any]:
        as_wanted = allow_subclasses or type(actual) is type(expected)
        if not (as_wanted and self._takes(actual, expected)):
            self._inputs_not_supported()
        first, second = self._as_tensors(actual, expected)
        self._check_supported(first, id=id)
        self._check_supported(second, id=id)
        return first, second

    def _takes(self, actual: Any, expected: Any) -> bool:
        return isinstance(actual, type(expected)) or isinstance(expected, type(actual))

    def _as_tensors(self, actual: Any, expected: Any) -> tuple[Any, Any]:
        return self._to_tensor(actual), self._to_tensor(expected)

    def _to_tensor(self, tensor_like: Any) -> Any:
        from shim_torch._impl.tensor.from_data import as_tensor

        if isinstance(tensor_like, Tensor):
            return tensor_like
        try:
            return as_tensor(tensor_like)
        except Exception:
            self._inputs_not_supported()

    def _check_supported(self, tensor: Any, *, id: tuple[Any, ...]) -> None:
        if str(tensor.layout) == "torch._mkldnn":
            raise ErrorMeta(ValueError, f"Unsupported tensor layout {tensor.layout}", id=id)

    def compare(self) -> None:
        """Errors: ErrorMeta where attributes or values differ; values of meta tensors are not compared."""
        actual, expected = self.actual, self.expected
        if actual.is_nested and expected.is_nested and actual.layout == _core.strided:
            self._compare_parts(actual, expected)
            return
        self._compare_attributes(actual, expected)
        if actual.is_nested and expected.is_nested:
            self._compare_parts(actual, expected)
            return
        if actual.is_meta or expected.is_meta:
            return
        self._compare_values(*self._equalize_attributes(actual, expected))

    def _compare_attributes(self, actual: Any, expected: Any) -> None:
        same_layout = actual.layout == expected.layout
        checks = [
            ("shape", True, lambda t: t.shape),
            ("layout", self.check_layout, lambda t: t.layout),
            ("stride()", self.check_stride and same_layout, lambda t: t.stride()),
            ("device", self.check_device, lambda t: t.device),
            ("dtype", self.check_dtype, lambda t: t.dtype),
        ]
        for name, wanted, read in checks:
            if wanted and read(actual) != read(expected):
                text = f"The values for attribute '{name}' do not match: {read(actual)} != {read(expected)}."
                self._fail(AssertionError, text)

    def _compare_parts(self, actual: Any, expected: Any) -> None:
        """Nested tensors, part by part."""
        one, two = actual.unbind(), expected.unbind()
        if len(one) != len(two):
            self._fail(AssertionError, f"The numbers of parts do not match: {len(one)} != {len(two)}.")
        for a, b in zip(one, two, strict=True):
            if a.shape != b.shape:
                self._fail(AssertionError, f"The shapes of two parts do not match: {a.shape} != {b.shape}.")
            self._compare_values(*self._equalize_attributes(a, b))

    def _equalize_attributes(self, actual: Any, expected: Any) -> tuple[Any, Any]:
        if actual.device != expected.device:
            actual, expected = actual.cpu(), expected.cpu()
        if actual.dtype != expected.dtype:
            # Unsigned types have no common type with signed ones; int64 holds nearly all of their values.
            dtypes = [_core.int64 if t.dtype in _UNSIGNED else t.dtype for t in (actual, expected)]
            dtype = _core.promote_types(*dtypes)
            actual, expected = actual.to(dtype), expected.to(dtype)
        if actual.layout != expected.layout:  # compared as dense tensors
            dense = [t.to_dense() if t.layout != _core.strided else t for t in (actual, expected)]
            return dense[0], dense[1]
        if actual.is_sparse and actual.is_coalesced() != expected.is_coalesced():
            return actual.coalesce(), expected.coalesce()
        return actual, expected

    def _compare_values(self, actual: Any, expected: Any) -> None:
        dtype = actual.dtype
        if dtype.is_floating_point and dtype.itemsize == 1 and (self.rtol or self.atol):
            text = f"Rtol={self.rtol} and atol={self.atol} are not supported for bitwise comparison of low dimensional"
            self._fail(AssertionError, f"{text} floats. Please use rtol=0.0 and atol=0.0.")
        options: dict[str, Any] = {"rtol": self.rtol, "atol": self.atol, "equal_nan": self.equal_nan}
        if actual.layout != _core.strided:
            self._compare_sparse_values(actual, expected, options)
            return
        self._compare_regular_values_close(actual, expected, **options)

    def _compare_sparse_values(self, actual: Any, expected: Any, options: dict[str, Any]) -> None:
        kind = "COO" if actual.is_sparse else str(actual.layout)[-3:].upper()
        if actual._nnz() != expected._nnz():
            text = f"The number of specified values in sparse {kind} tensors does not match: "
            self._fail(AssertionError, f"{text}{actual._nnz()} != {expected._nnz()}")
        if actual.is_sparse:
            names, values = ["_indices"], "_values"
        else:
            by_row = kind[2] == "R"
            names = ["crow_indices", "col_indices"] if by_row else ["ccol_indices", "row_indices"]
            values = "values"
        for name in names:
            ours, theirs = getattr(actual, name)(), getattr(expected, name)()
            if ours.dtype != theirs.dtype:
                dtype = _core.promote_types(ours.dtype, theirs.dtype)
                ours, theirs = ours.to(dtype), theirs.to(dtype)
            label = f"Sparse {kind} {name.removeprefix('_')}"
            self._compare_regular_values_equal(ours, theirs, identifier=label)
        ours, theirs = getattr(actual, values)(), getattr(expected, values)()
        self._compare_regular_values_close(ours, theirs, **options, identifier=f"Sparse {kind} values")

    def _compare_regular_values_equal(
        self, actual: Any, expected: Any, *, equal_nan: bool = False, identifier: Identifier = None
    ) -> None:
        self._compare_regular_values_close(actual, expected, rtol=0, atol=0, equal_nan=equal_nan, identifier=identifier)

    def _compare_regular_values_close(
        self,
        actual: Any,
        expected: Any,
        *,
        rtol: float,
        atol: float,
        equal_nan: bool,
        identifier: Identifier = None,
    ) -> None:
        matches = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
        if bool(matches.all()):
            return
        options: dict[str, Any] = {"rtol": rtol, "atol": atol, "identifier": identifier}
        if actual.dim():
            text = make_tensor_mismatch_msg(actual, expected, matches, **options)
        else:
            text = make_scalar_mismatch_msg(actual.item(), expected.item(), **options)
        self._fail(AssertionError, text)


def originate_pairs(
    actual: Any,
    expected: Any,
    *,
    pair_types: Sequence[type[Pair]],
    sequence_types: tuple[type, ...] = (Sequence,),
    mapping_types: tuple[type, ...] = (Mapping,),
    id: tuple[Any, ...] = (),
    **options: Any,
) -> list[Pair]:
    """The pairs of nested sequences and mappings, each made by the first of ``pair_types`` that takes its values.

    Errors: ErrorMeta for other lengths or keys (AssertionError), and values that no pair takes (TypeError).
    """
    kinds: dict[str, Any] = {"pair_types": pair_types, "sequence_types": sequence_types, "mapping_types": mapping_types}

    def inside(keys: Collection[Any]) -> list[Pair]:
        return [p for k in keys for p in originate_pairs(actual[k], expected[k], id=(*id, k), **kinds, **options)]

    def both(types: tuple[type, ...]) -> bool:
        return isinstance(actual, types) and isinstance(expected, types)

    if both(sequence_types) and not isinstance(actual, str) and not isinstance(expected, str):
        if len(actual) != len(expected):
            text = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise ErrorMeta(AssertionError, text, id=id)
        return inside(range(len(actual)))
    if both(mapping_types):
        ours, theirs = set(actual), set(expected)
        if ours != theirs:
            text = f"Missing keys in the actual mapping: {_sorted(theirs - ours)}\n"
            text += f"Additional keys in the actual mapping: {_sorted(ours - theirs)}"
            raise ErrorMeta(AssertionError, f"The keys of the mappings do not match:\n{text}", id=id)
        return inside(_sorted(ours))
    for pair_type in pair_types:
        with contextlib.suppress(UnsupportedInputs):
            return [pair_type(actual, expected, id=id, **options)]
    text = f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
    raise ErrorMeta(TypeError, text, id=id)


def _sorted(keys: set[Any]) -> list[Any]:
    try:
        return sorted(keys)
    except Exception:  # keys that do not compare, tensors among them
        return list(keys)
