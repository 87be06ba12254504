"""torch.einsum where sizes of one wait for a later operand, and what it says of equations that are none."""

import numpy as np
import pytest

import shim_torch as torch


@pytest.mark.parametrize(
    ("equation", "sizes"),
    [
        ("ia,ib,a->iab", [(1, 3), (6, 2), (3,)]),
        ("ia,ib,ia->ba", [(1, 3), (6, 2), (6, 1)]),
        ("ab,bc,ad->cd", [(1, 3), (3, 2), (5, 4)]),
        ("...a,b,...b->...ab", [(1, 3), (2,), (4, 2)]),
        ("ab,c,ab->c", [(1, 1), (2,), (4, 5)]),
    ],
)
def test_a_size_of_one_is_broadcast_by_a_later_operand(equation, sizes):
    generator = np.random.default_rng(0)
    arrays = [generator.standard_normal(size) for size in sizes]
    found = torch.einsum(equation, *map(torch.from_numpy, arrays))
    np.testing.assert_allclose(found.numpy(), np.einsum(equation, *arrays), rtol=1e-12)


@pytest.mark.parametrize(
    ("equation", "sizes", "message"),
    [
        (". ..", [(2,)], "found '.' for operand 0 that is not part of any ellipsis"),
        ("...,... a...", [(2,), (2, 3)], "found '.' for operand 1 for which an ellipsis was already found"),
        ("1", [(2,)], "invalid subscript given at index 0 in the equation string, subscripts must be in [a-zA-Z]"),
        ("ab,bc- >ac", [(2, 3), (3, 4)], "invalid subscript given at index 5 in the equation string"),
        ("ab, bc -> ac,", [(2, 3), (3, 4)], "invalid subscript given at index 12 in the equation string"),
        ("a,", [(2,)], "fewer operands were provided than specified in the equation"),
        ("", [(2,), (2,)], "more operands were provided than specified in the equation"),
        (
            "ai...",
            [(2,)],
            "the number of subscripts in the equation (2) is more than the number of dimensions (1) for operand 0",
        ),
        (
            "ai",
            [(2,)],
            "the number of subscripts in the equation (2) does not match the number of dimensions (1) for operand 0",
        ),
        ("a->... .", [(2,)], "found '.' for output but an ellipsis (...) was already found"),
        ("a->. ..", [(2,)], "found '.' for output that is not part of any ellipsis (...)"),
        ("a->aa", [(2,)], "output subscript a appears more than once in the output"),
        ("a->bb", [(2,)], "output subscript b does not appear in the equation for any input operand"),
        ("aaa", [(2, 2, 3)], "subscript a is repeated for operand 0 but the sizes don't match, 3 != 2"),
    ],
)
def test_of_several_mistakes_the_leftmost_is_named(equation, sizes, message):
    with pytest.raises(RuntimeError) as raised:
        torch.einsum(equation, *(torch.ones(s) for s in sizes))
    assert str(raised.value).startswith("einsum(): " + message)


@pytest.mark.parametrize("args", [(), ("",), ("a", []), ("->", []), (torch.ones(2),)])
def test_no_operand_or_no_subscripts_are_refused(args):
    with pytest.raises(ValueError, match="must specify the equation string and at least one operand"):
        torch.einsum(*args)
