"""Models and functions as programs have them, compiled in each way: each call equals the function's own."""

from __future__ import annotations

import programs_of_functions
import pytest
from test_adversarial_programs import outcome, same

import shim_torch as torch

CASES = programs_of_functions.CASES

WAYS = {
    "default": {},
    "static": {"dynamic": False},
    "dynamic": {"dynamic": True},
    "operator by operator": {"backend": "eager"},
    "a function": {"backend": lambda graph, inputs: graph.forward},
    "graphs": {"mode": "reduce-overhead"},
}


def calls(function, arguments):
    for i in range(12):
        torch.manual_seed(i)
        yield outcome(function, arguments(i))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_each_call_equals_the_functions(name, way):
    (plain, given), (function, given_again) = CASES[name](), CASES[name]()
    both = zip(calls(plain, given), calls(torch.compile(function, **WAYS[way]), given_again), strict=True)
    for i, (wanted, got) in enumerate(both):
        assert isinstance(wanted[0], (tuple, list, torch.Tensor)), wanted  # no error
        within = 1e-5 if way == "a function" else 0.0  # its graph's operators are parts of what eager has
        assert same(wanted, got, within), (i, wanted, got)
