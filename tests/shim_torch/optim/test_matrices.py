"""LBFGS, Adafactor and Muon against the parameters that PyTorch 2.13 reached after the same steps."""

import json
from pathlib import Path

import numpy as np
import pytest
from matrices_cases import RUNS, reached

import shim_torch as torch


@pytest.mark.parametrize(("name", "settings"), RUNS, ids=lambda v: str(v))
def test_as_pytorch(name, settings):
    expected = json.loads(Path(__file__).with_name("matrices_expected.json").read_text())[str((name, settings))]
    rounding = 2e-2 if name == "Muon" else 1e-3 if name == "LBFGS" else 2e-5  # Muon's products are in bfloat16
    for got, wanted in zip(reached(torch, name, settings), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=rounding, atol=rounding)


def test_what_they_refuse():
    p = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="LBFGS doesn't support per-parameter options"):
        torch.optim.LBFGS([{"params": [p]}, {"params": [torch.ones(1, requires_grad=True)]}])
    with pytest.raises(ValueError, match="Muon only supports 2D parameters"):
        torch.optim.Muon([p])
    with pytest.raises(ValueError, match="Clipping threshold d should be >= 1 but is: 0.5"):
        torch.optim.Adafactor([p], d=0.5)
    p.grad = torch.ones(2)
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        torch.optim.SparseAdam([p]).step()


@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"]
)
def test_a_complex_parameter_moves_as_its_two_parts(name):
    start = torch.tensor([1 + 2j, -0.5 + 0.1j])
    whole, parts = start.clone().requires_grad_(), torch.view_as_real(start).clone().requires_grad_()
    optimizers = [getattr(torch.optim, name)([p], lr=0.1) for p in (whole, parts)]
    for _ in range(3):
        for p, optimizer in zip((torch.view_as_real(whole), parts), optimizers, strict=True):
            optimizer.zero_grad()
            (p**2 * 0.7 + p.sin()).sum().backward()
            optimizer.step()
    torch.testing.assert_close(torch.view_as_real(whole.detach()), parts.detach())
    state = optimizers[0].state[whole]
    assert all(v.is_complex() for v in state.values() if isinstance(v, torch.Tensor) and v.shape == whole.shape)


def test_a_step_can_be_differentiated():
    def stepped(rate):
        p = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True).clone()
        p.grad = p.detach().clone() * rate
        torch.optim.Adam([p], lr=0.1, differentiable=True, amsgrad=True, eps=1.0).step()
        return p

    rate = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(stepped, (rate,))
    p = torch.ones(1, requires_grad=True)
    with pytest.warns(UserWarning, match="contains a parameter group with duplicate parameters"):
        torch.optim.SGD([p, p], lr=0.1)


def test_a_loaded_adafactor_has_no_option_it_does_not_know():
    parameter = torch.nn.Parameter(torch.ones(2, 2))
    optimizer = torch.optim.Adafactor([parameter])
    options = set(optimizer.param_groups[0])
    for _ in range(2):
        optimizer.load_state_dict(optimizer.state_dict())
    assert set(optimizer.param_groups[0]) == options and "differentiable" not in options
