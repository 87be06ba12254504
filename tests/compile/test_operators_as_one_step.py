"""Operators of ``torch.library`` in compiled functions."""

import pytest

import shim_torch as torch


def adding(name, by):
    def body(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.detach().numpy() + by)

    return torch.library.custom_op(name, body, mutates_args=())


def test_a_compiled_function_takes_an_operator_as_one_step():
    plus = adding("ops_of_libs::plus", 1)
    x = torch.zeros(3)
    assert torch.compile(plus, fullgraph=True)(x).tolist() == [1, 1, 1]
    twice = torch.compile(lambda x: plus(x * 1) * 2, fullgraph=True)
    assert [twice(x).tolist(), twice(x + 1).tolist()] == [[2, 2, 2], [4, 4, 4]]
    reads = torch.compile(lambda x: torch.from_numpy((plus(x) * 2).numpy()), fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="reads the values of a tensor"):
        reads(x)
