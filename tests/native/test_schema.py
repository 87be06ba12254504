"""The schema parser: PyTorch's dialect, its normal form, and what a bad schema says."""

import pytest
from schema_forms import ALREADY_NORMAL, NORMAL_FORMS

from shim_torch._impl.native import _core


@pytest.mark.parametrize("text", NORMAL_FORMS)
def test_normal_form(text):
    assert _core.normalize_schema(text) == NORMAL_FORMS[text]


@pytest.mark.parametrize("text", ALREADY_NORMAL)
def test_normal_form_is_kept(text):
    assert _core.normalize_schema(text) == text


def test_arguments_as_data():
    *_, arguments, returns, mutable, _, _ = _core.parse_schema_data(
        "ns::f.over(Tensor(a!) self, int[2] pad=1, *, ScalarType? dtype=None, str mode='x') -> (Tensor(a!) out, int n)"
    )
    assert mutable is True
    assert [a[0] for a in arguments] == ["self", "pad", "dtype", "mode"]
    assert [a[1] for a in arguments] == ["Tensor", "List[int]", "Optional[int]", "str"]
    assert [a[2] for a in arguments] == [None, (1, 1), None, "x"]
    assert [a[4] for a in arguments] == [False, False, True, True]
    assert arguments[0][6] == (True, {"a"}, {"a"})
    assert [r[0] for r in returns] == ["out", "n"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f(Tensor x -> Tensor", r"expected '\)' here"),
        ("f(Tensor x)", "expected '->' here"),
        ("f(Tensor x) -> Tensor y z", "unexpected text after the schema"),
        ("f(int a=1, Tensor b) -> ()", "Non-default positional argument follows default argument"),
        ("f(int a=1, int[]? b) -> ()", "Non-default positional argument follows default argument"),
        ("f(int a=one) -> ()", "invalid default value 'one'"),
    ],
)
def test_bad_schema(text, message):
    with pytest.raises(RuntimeError, match=message) as caught:
        _core.normalize_schema(text)
    assert "<--- HERE" in str(caught.value)
