"""What was given to an operator may be written to before backward wherever PyTorch 2.13 allows it."""

import json
from pathlib import Path

import pytest
from saved import CASES, may_write

import shim_torch

REFUSED = json.loads(Path(__file__).with_name("saved_expected.json").read_text())
# Where more is kept than PyTorch keeps: 1 / p keeps p (PyTorch: its result), ndtr is one operator (PyTorch: three), a linear
# layer keeps a strided input (PyTorch: a copy).
MORE = {("1 / p", "p"), ("torch.special.ndtr(a)", "a"), ("F.linear(n.transpose(1, 2), s, c)", "n")}


@pytest.mark.devices("cpu", "cuda")
@pytest.mark.parametrize("expression", CASES)
def test_inputs_may_be_written_to(expression, device):
    for name, allowed in may_write(shim_torch, expression, device).items():
        if name not in REFUSED.get(expression, ()) and (expression, name) not in MORE:
            assert allowed, name
