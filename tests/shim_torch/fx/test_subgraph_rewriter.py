"""Parts of graphs replaced by pattern; codes and matches are PyTorch's."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.fx import replace_pattern, symbolic_trace
from shim_torch.fx.subgraph_rewriter import replace_pattern_with_filters


def _code(gm):
    return gm.code.strip().splitlines()


def test_a_part_in_the_middle():
    def f(x):
        a = torch.relu(x)
        b = torch.neg(a)
        return b + torch.relu(b)

    gm = symbolic_trace(f)
    found = replace_pattern(gm, lambda x: torch.neg(torch.relu(x)), lambda x: torch.sigmoid(x).cos())
    assert _code(gm)[1:] == [
        "    sigmoid = torch.sigmoid(x);  x = None",
        "    cos = sigmoid.cos();  sigmoid = None",
        "    relu_1 = torch.relu(cos)",
        "    add = cos + relu_1;  cos = relu_1 = None",
        "    return add",
    ]
    assert repr(found) == "[Match(anchor=neg, nodes_map={neg: neg, relu: relu, x: x})]"
    x = torch.randn(3)
    expected = x.sigmoid().cos()
    assert torch.allclose(gm(x), expected + expected.relu())


def test_chains_and_several_inputs():
    gm = symbolic_trace(lambda x: torch.relu(torch.relu(torch.relu(x))))
    found = replace_pattern(gm, lambda x: torch.relu(x), lambda x: torch.sigmoid(x))
    assert len(found) == 3 and "relu" not in gm.code and "return sigmoid_2" in gm.code
    gm = symbolic_trace(lambda x, a, b: x + torch.cat([a, b]).sum() + torch.cat([b, a]).sum())
    replace_pattern(gm, lambda a, b: torch.cat([a, b]).sum(), lambda a, b: a.sum() + b.sum())
    x = torch.ones(2)
    assert "cat" not in gm.code and gm(x, x, 2 * x).tolist() == [13.0, 13.0]


def test_what_is_used_elsewhere_stays():
    gm = symbolic_trace(lambda x: (lambda r: (r + 1, r * 2))(torch.relu(x)))
    assert replace_pattern(gm, lambda x: torch.relu(x) + 1, lambda x: x) == []


def test_several_results():
    def two(x):
        a = x.sin()
        return a + 1, a * 2

    gm = symbolic_trace(lambda x: [y * 3 for y in two(x)])
    assert len(replace_pattern(gm, two, lambda x: (x - 1, x - 2))) == 1
    assert [y.tolist() for y in gm(torch.tensor([4.0]))] == [[9.0], [6.0]]


def test_filters_and_literals():
    gm = symbolic_trace(lambda x: x * 2 + x * 3)
    found = replace_pattern_with_filters(
        gm, lambda x, y: x * y, lambda x, y: torch.add(x, y), [lambda match, graph, pattern: True], ignore_literals=True
    )
    assert repr(found[0]) == "ReplacedPatterns(anchor=mul, nodes_map={mul: mul, x: x, y: 2}, replacements=[add_1])"
    assert gm(torch.tensor(1.0)) == 7
    gm = symbolic_trace(lambda x: x * 2)
    assert not replace_pattern_with_filters(gm, lambda x: x * 2, lambda x: x, [lambda *_: False])
    with pytest.raises(AssertionError, match="to take 1 inputs"):
        replace_pattern(gm, lambda x: x * 2, lambda x, y: x)
