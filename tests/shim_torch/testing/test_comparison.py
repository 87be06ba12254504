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
