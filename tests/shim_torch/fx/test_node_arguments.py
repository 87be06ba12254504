"""Arguments of nodes: mapped, as text, by name, and of which types."""

from __future__ import annotations

import numbers
import typing
from collections import namedtuple

import pytest

import shim_torch as torch
from shim_torch import nn
from shim_torch.fx import node, operator_schemas

Named = namedtuple("Named", "a b")


def test_arguments_are_mapped_through_containers():
    found = node.map_aggregate(
        [1, (2, {"a": 3}), slice(4, 5), Named(6, [7]), {8}, ()], lambda x: -x if isinstance(x, int) else x
    )
    assert found == [-1, (-2, {"a": -3}), slice(-4, -5), Named(-6, [-7]), {8}, ()]
    assert [type(x).__name__ for x in (found, found[1], found[1][1], found[3])] == [
        "immutable_list",
        "tuple",
        "immutable_dict",
        "Named",
    ]
    assert type(node.map_aggregate(found, lambda x: x)) is type(found)
    with pytest.raises(AssertionError, match="fn must be a callable"):
        node.map_arg([1], None)


class Shown:
    def _custom_fx_repr_fn(self):
        return "shown"


@pytest.mark.parametrize(
    "argument, whole, cut",
    [
        ([1, 2, (3,)], "[1, 2, (3,)]", "[1, 2, ...[total_len=3]]"),
        ((1,), "(1,)", "(1,)"),
        ((), "()", "()"),
        ({"a": [1]}, "{a: [1]}", "{a: [1]}"),
        ({1: (2, 3, 4)}, "{1: (2, 3, 4)}", "{1: (2, 3, 4)}"),
        ("s", "s", "s"),
        ([Shown()], "[shown]", "[shown]"),
    ],
)
def test_arguments_as_text(argument, whole, cut):
    assert (node._format_arg(argument), node._format_arg(argument, 2)) == (whole, cut)


LIST, TUPLE, UNION = typing.List, typing.Tuple, typing.Union  # noqa: UP006


@pytest.mark.parametrize(
    "wanted, given, fits",
    [
        (int, bool, True),
        (int, torch.dtype, True),
        (numbers.Number, float, True),
        (float, int, False),
        (UNION[int, None], type(None), True),
        (UNION[int, float], str, False),
        (UNION[LIST[int], None], int, True),
        (LIST[int], int, True),
        (LIST[float], int, False),
        (LIST[int], LIST[bool], True),
        (LIST[int], TUPLE[int, ...], True),
        (LIST[int], TUPLE[int, str], False),
        (LIST[torch.Tensor], LIST[nn.Parameter], True),
        (LIST[torch.Tensor], torch.Tensor, False),
        (torch.Tensor, nn.Parameter, True),
        (typing.Any, int, False),
        (int, typing.Any, False),
    ],
)
def test_types_that_a_signature_takes(wanted, given, fits):
    assert operator_schemas.type_matches(wanted, given) is fits


def test_lists_of_lists_are_no_types_of_arguments():
    with pytest.warns(UserWarning, match="Does not support nested parametric types"):
        assert not operator_schemas.type_matches(LIST[LIST[int]], LIST[int])
