"""The operators of fused optimizers against PyTorch 2.13, and against the optimizers that take single steps."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import fused_optimizers_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("Adam", {"weight_decay": 0.1}),
        ("Adam", {"amsgrad": True, "maximize": True}),
        ("AdamW", {}),
        ("SGD", {"momentum": 0.9, "nesterov": True}),
        ("SGD", {}),
        ("Adagrad", {"lr_decay": 0.1}),
    ],
)
def test_fused_steps_are_single_steps(name, settings):
    start = torch.tensor([1.0, -2.0, 0.5])
    ends = []
    for fused in (False, True):
        p = torch.nn.Parameter(start.clone())
        optimizer = getattr(torch.optim, name)([p], lr=0.1, fused=fused, **settings)
        for _ in range(4):
            optimizer.zero_grad()
            (p.square().sum() + p.prod()).backward()
            optimizer.step()
        ends.append(p.detach())
    assert not torch.equal(ends[0], start)
    torch.testing.assert_close(ends[1], ends[0], rtol=2e-6, atol=1e-6)
