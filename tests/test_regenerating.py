"""How tools/regenerate.py tells that a file no longer holds what PyTorch gives."""

import importlib
import json
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
EXPECTED = "tests/some/expected.json"
OPS = "tests/shim_torch/ops/expected/some_cases.json"


@pytest.fixture
def difference(monkeypatch):
    monkeypatch.syspath_prepend(TOOLS)
    yield importlib.import_module("regenerating.comparing").difference
    for name in [name for name in sys.modules if name.startswith("regenerating")]:
        del sys.modules[name]


def _json(**values):
    return json.dumps(values).encode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (1.0, 1.0000001),
        ([1e-9, 3.0], [-2e-9, 3.0]),  # what is left of larger numbers
        (float("nan"), float("nan")),
        ([["torch.float32", [2], [0.1, -float("inf")]]], [["torch.float32", [2], [0.1000001, -float("inf")]]]),
    ],
)
def test_rounding_is_no_difference(difference, old, new):
    assert not difference(EXPECTED, _json(case=old), _json(case=new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (1.0, 1.001),
        (1, 2),
        (True, 1),
        (True, False),
        ("text", "other"),
        ([1.0], [1.0, 1.0]),
        ([1e-3, 2.0], [2e-3, 2.0]),
        (float("nan"), 0.0),
        (float("inf"), -float("inf")),
        ({"a": [1]}, {"a": [2]}),
        (None, 0),
    ],
)
def test_other_values_are_a_difference(difference, old, new):
    (line,) = difference(EXPECTED, _json(case=old), _json(case=new))
    assert line.startswith("['case']")


def test_cases_that_come_and_go(difference):
    assert difference(EXPECTED, _json(a=1), _json(b=1)) == ["cases: without ['a'], with ['b']"]
    assert difference(EXPECTED, _json(a=1, b=1), _json(b=1, a=1)) == ["cases: in another order"]


def test_narrow_dtypes_are_compared_as_their_tests_do(difference):
    assert not difference(OPS, json.dumps({"x.half()": 1.0}).encode(), json.dumps({"x.half()": 1.005}).encode())
    assert difference(OPS, json.dumps({"x": 1.0}).encode(), json.dumps({"x": 1.005}).encode())


def test_tables_are_compared_by_line_and_word(difference):
    assert (
        difference("table.txt", b"a b\nc\n", b"a\nb d c\n")[-1] == "+d"
    )  # the same words in other lines alone are not told
    long = b"x" * 200
    assert difference("table.txt", long + b"\na b\n", long + b"\na c\n")[-2:] == ["-a b", "+a c"]
