"""Which schemas serve the calls of older ones, as PyTorch 2.13 answers."""

import pytest

import shim_torch as torch

OLD = "a::b(Tensor x, int y=3) -> Tensor"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (OLD, OLD, True),
        (OLD, "a::b(Tensor x) -> Tensor", False),
        ("a::b(Tensor x) -> Tensor", OLD, True),
        ("a::b(Tensor x) -> Tensor", "a::b(Tensor x, int y) -> Tensor", False),
        (OLD, "a::b(Tensor z, int y=3) -> Tensor", False),
        (OLD, "a::b(Tensor x, int y=4) -> Tensor", False),
        (OLD, "a::b(Tensor? x, int y=3) -> Tensor", True),
        ("a::b(Tensor? x) -> Tensor", "a::b(Tensor x) -> Tensor", False),
        ("a::b(Tensor x) -> Tensor", "a::b(Tensor x) -> Tensor?", False),
        ("a::b(Tensor x) -> Tensor?", "a::b(Tensor x) -> Tensor", True),
        ("a::b(Tensor x) -> Tensor", "a::c(Tensor x) -> Tensor", False),
        ("a::b(Tensor x) -> Tensor", "a::b(Tensor(a!) x) -> Tensor(a!)", False),
        ("a::b(Tensor x, *, int k) -> Tensor", "a::b(Tensor x, *, int j=2, int k) -> Tensor", False),
        ("a::b(*, Tensor(a!) out) -> Tensor(a!)", "a::b(int q=2, *, Tensor(a!) out) -> Tensor(a!)", True),
        ("a::b(int x) -> Tensor", "a::b(SymInt x) -> Tensor", True),
        ("a::b(SymInt x) -> Tensor", "a::b(int x) -> Tensor", True),
        ("a::b.x(int x) -> Tensor", "a::b(int x) -> Tensor", False),
        ("a::b(int x, int y) -> Tensor", "a::b(int x, *, int y) -> Tensor", False),
        ("a::b(int x, *, int y) -> Tensor", "a::b(int x, int y) -> Tensor", True),
        ("a::b(int x) -> Tensor", "a::b(int x=2) -> Tensor", True),
        ("a::b(Tensor x) -> Tensor y", "a::b(Tensor x) -> Tensor z", False),
    ],
)
def test_backward_compatible(old, new, expected):
    parse = torch._C.parse_schema
    assert parse(new).is_backward_compatible_with(parse(old)) is expected
