"""``torch.testing``: what compares equal, the texts of mismatches, and the pairs that suites subclass."""

from __future__ import annotations

import re

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.testing import assert_close
from shim_torch.testing._comparison import NumberPair, TensorLikePair, not_close_error_metas

t = torch.tensor

MISMATCHES = [
    (
        t([1.0, 2, 3]),
        t([1.0, 2, 4]),
        {},
        "Tensor-likes are not close!\n\nMismatched elements: 1 / 3 (33.3%)\n"
        "Greatest absolute difference: 1.0 at index (2,) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.25 at index (2,) (up to 1.3e-06 allowed)",
    ),
    (t([200], dtype=torch.uint8), t([100], dtype=torch.uint8), {}, "Greatest absolute difference: 100 at index (0,)"),
    (t(1.0), t(2.0), {}, "Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 (up to"),
    ({"a": t(1.0)}, {"a": t(2.0)}, {}, "The failure occurred for item ['a']"),
    ([1, [2]], [1, [3]], {}, "The failure occurred for item [1][0]"),
    ([1], [1, 2], {}, "The length of the sequences mismatch: 1 != 2"),
    ({"a": 1}, {"b": 1}, {}, "Missing keys in the actual mapping: ['b']"),
    (t([1.0]), t([1]), {}, "The values for attribute 'dtype' do not match: torch.float32 != torch.int64."),
    (t([1.0]), t([1.0, 1.0]), {}, "The values for attribute 'shape' do not match"),
    (None, 1, {}, "None mismatch: None is not 1"),
    (t([2.0]), t([1.0]), {"msg": "mine"}, "mine"),
    (t([2.0]), t([1.0]), {"msg": lambda text: "before " + text}, "before Tensor-likes"),
]


@pytest.mark.parametrize("actual,expected,options,text", MISMATCHES)
def test_mismatches_say_what_pytorch_says(actual, expected, options, text):
    with pytest.raises(AssertionError, match=re.escape(text)):
        assert_close(actual, expected, **options)


def test_what_cannot_be_compared():
    for pair in (("a", "a"), (1, t(1)), (t([1.0]), [1.0])):
        with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
            assert_close(*pair)
    with pytest.raises(ValueError, match="Both 'rtol' and 'atol' must be either specified or omitted, but got no atol"):
        assert_close(t(1.0), t(1.0), rtol=0.1)


def test_equal_values_of_many_kinds():
    assert_close((t([1.0, float("nan")]), {"a": 3}), (t([1.0, float("nan")]), {"a": 3}), equal_nan=True)
    assert_close(np.float32(1), np.float32(1))
    assert_close(t([1], dtype=torch.uint16), t([1]), check_dtype=False)
    assert_close(torch.empty(3, device="meta"), torch.empty(3, device="meta"))


def test_a_pair_of_its_own():
    class Mean(TensorLikePair):
        def compare(self):
            self._compare_attributes(self.actual, self.expected)
            if abs(float((self.actual - self.expected).mean())) > self.atol:
                self._fail(AssertionError, "other means")

    options = {"pair_types": (NumberPair, Mean), "atol": 0.1, "rtol": 0.0}
    assert not not_close_error_metas([t([0.0, 2.0]), 1], [t([1.0, 1.0]), 1], **options)
    (meta,) = not_close_error_metas([t([0.0, 2.0])], [t([1.0, 2.0])], **options)
    assert str(meta.to_error()) == "other means\n\nThe failure occurred for item [0]"


def _allclose(*args, **options):
    with pytest.warns(FutureWarning, match="`torch.testing.assert_allclose\\(\\)` is deprecated since 1.12"):
        torch.testing.assert_allclose(*args, **options)


def test_the_older_comparison_has_tolerances_of_its_own():
    for dtype, rtol, atol in ((torch.float16, 1e-3, 1e-3), (torch.float32, 1e-4, 1e-5), (torch.float64, 1e-5, 1e-8)):
        _allclose(torch.tensor([1.0], dtype=torch.float64), torch.tensor([1.0 + atol + 0.5 * rtol]).to(dtype))
        with pytest.raises(AssertionError, match=re.escape(f"(up to {rtol} allowed)")):
            _allclose(torch.ones(1, dtype=dtype), torch.tensor([2.0], dtype=torch.float64))
    with pytest.raises(AssertionError, match="are not equal"):
        _allclose(torch.ones(1, dtype=torch.bfloat16), torch.full((1,), 1.01, dtype=torch.bfloat16))
    _allclose([1, 2], np.array([1.0, 2.0]))
    _allclose(1.0, 2.0, rtol=1, atol=1)
    _allclose(float("nan"), float("nan"))
    for args, options, error, text in (
        ((float("nan"), float("nan")), {"equal_nan": False}, AssertionError, "Expected nan but got nan"),
        ((1.0, 2.0), {"rtol": 1}, ValueError, "got no atol"),
        ((1.0, 2.0), {"msg": "mine"}, AssertionError, "mine"),
        (([1, 2], [1]), {}, AssertionError, "attribute 'shape' do not match"),
    ):
        with pytest.raises(error, match=text):
            _allclose(*args, **options)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "actual, expected, options, text",
    [
        (1, 1.0, {}, r"The \(d\)types do not match: <class 'int'> != <class 'float'>."),
        (1, 1.0, {"check_dtype": False}, None),
        (NAN, NAN, {"equal_nan": True}, None),
        (NAN, NAN, {}, "Expected nan but got nan"),
        (INF, INF, {}, None),
        (1.0, INF, {"rtol": 1.0, "atol": 0.0}, "Expected inf but got 1.0"),
        (complex(1, NAN), complex(NAN, 1), {"equal_nan": True}, None),
        (1 + 1e-8, 1.0, {}, None),
        (10**400, 10**400, {}, None),
        (np.int8(1), np.int8(2), {}, "Expected 2 but got 1"),
        (np.float32(1), np.float64(1), {}, None),
    ],
)
def test_numbers(actual, expected, options, text):
    if text is None:
        assert_close(actual, expected, **options)
        return
    with pytest.raises(AssertionError, match=text):
        assert_close(actual, expected, **options)


def test_pairs_and_their_options():
    pair = NumberPair(1, 2.0, id=("x",), rtol=1.0, atol=2.0, check_dtype=True, other=3)
    assert repr(pair) == (
        "NumberPair(\n    id=('x',),\n    actual=1,\n    expected=2.0,\n    rtol=1.0,\n    atol=2.0,\n"
        "    equal_nan=False,\n    check_dtype=True,\n)"
    )
    tensors = TensorLikePair([1], [1])
    assert tuple(tensors.extra_repr()) == (
        "rtol", "atol", "equal_nan", "check_device", "check_dtype", "check_layout", "check_stride")  # fmt: skip
    assert (tensors.rtol, tensors.atol, tensors.check_stride, tensors.check_layout) == (0.0, 0.0, False, True)
    parameter = torch.nn.Parameter(torch.ones(2))
    assert_close(parameter, torch.ones(2))
    with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
        assert_close(parameter, torch.ones(2), allow_subclasses=False)


def test_all_mismatches_are_told_and_other_errors_explained():
    from shim_torch.testing._comparison import ObjectPair

    assert len(not_close_error_metas([1, 2, 3], [1, 3, 4])) == 2
    assert len(not_close_error_metas([1.0, 2.0], [1.05, 3.0], pair_types=(NumberPair,), rtol=0.1, atol=0.0)) == 1

    class Fails(ObjectPair):
        def compare(self):
            raise KeyError("x")

    with pytest.raises(RuntimeError, match="Comparing\n\nFails(.*\n)*.*resulted in the unexpected exception above"):
        not_close_error_metas([1], [1], pair_types=(Fails,))
    with pytest.raises(AssertionError, match="The length of the sequences mismatch: 2 != 1"):
        not_close_error_metas([1, 2], [1], pair_types=(Fails,))
