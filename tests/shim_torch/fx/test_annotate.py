"""Types that traced values are given."""

from __future__ import annotations

from typing import Any

import pytest

import shim_torch as torch
from shim_torch.fx.annotate import annotate


def test_a_traced_value_gets_a_type_once() -> None:
    def f(x: Any) -> Any:
        return annotate(x + 1, torch.Tensor)

    graph = torch.fx.symbolic_trace(f)
    (node,) = [n for n in graph.graph.nodes if n.op == "call_function"]
    assert node.type is torch.Tensor and graph(torch.ones(1)).item() == 2
    assert annotate(3, int) == 3
    with pytest.raises(RuntimeError, match="already had a type"):
        torch.fx.symbolic_trace(lambda x: annotate(annotate(x + 1, int), float))
