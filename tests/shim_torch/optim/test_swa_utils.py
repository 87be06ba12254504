"""torch.optim.swa_utils against the numbers of PyTorch 2.13."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.optim import swa_utils

RATES = {"cos": [1.0, 0.868198, 0.55, 0.231802, 0.1, 0.1], "linear": [1.0, 0.775, 0.55, 0.325, 0.1, 0.1]}


@pytest.mark.parametrize("strategy", RATES)
def test_rates(strategy):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = swa_utils.SWALR(optimizer, 0.1, anneal_epochs=4, anneal_strategy=strategy)
    found = []
    for _ in range(6):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    assert found == pytest.approx(RATES[strategy], abs=1e-6)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1.0, 1.5, 3.0]),
        ({"avg_fn": swa_utils.get_ema_avg_fn(0.9)}, [1.0, 1.1, 1.59]),
        ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.5)}, [1.0, 1.5, 3.75]),
    ],
)
def test_averages(options, expected):
    model = torch.nn.Linear(1, 1)
    averaged = swa_utils.AveragedModel(model, **options)
    found = []
    for value in (1.0, 2.0, 6.0):
        with torch.no_grad():
            model.weight.fill_(value)
        averaged.update_parameters(model)
        found.append(averaged.module.weight.item())
    assert found == pytest.approx(expected, rel=1e-5)
    assert averaged.n_averaged.item() == 3
    assert set(averaged.state_dict()) == {"n_averaged", "module.weight", "module.bias"}


def test_update_bn():
    norm = torch.nn.BatchNorm1d(2)
    swa_utils.update_bn([torch.arange(8.0).reshape(4, 2), torch.ones(4, 2)], norm)
    assert norm.running_mean.tolist() == [2.0, 2.5]
    assert norm.running_var.tolist() == pytest.approx([10 / 3, 10 / 3])
    assert norm.momentum == 0.1


def test_rates_follow_the_steps_whatever_the_epoch():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = swa_utils.SWALR(optimizer, 0.1, anneal_epochs=4, anneal_strategy="linear")
    optimizer.step()
    with pytest.warns(UserWarning, match="The epoch parameter"):
        scheduler.step(9)
    assert scheduler.get_last_lr() == pytest.approx([0.775])
    assert scheduler.state_dict()["_anneal_strategy"] == "linear"
    with pytest.raises(ValueError, match="anneal_strategy must be one of 'cos' or 'linear', instead got x"):
        swa_utils.SWALR(optimizer, 0.1, anneal_strategy="x")


@pytest.mark.parametrize(
    ("options", "whole", "real"),
    [
        ({}, [0, 7, 14, 21], [0, 7, 14, 21]),  # buffers are the model's
        ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.3)}, [0, 4, 11, 18], [0, 4.9, 11.27, 18.081]),
        ({"avg_fn": swa_utils.get_ema_avg_fn(0.3)}, [0, 4, 11, 18], [0, 4.9, 11.27, 18.081]),
        ({"avg_fn": swa_utils.get_swa_avg_fn()}, [0, 3, 6, 9], [0, 3.5, 7, 10.5]),  # of what was rounded down
    ],
)
def test_averages_of_buffers(options, whole, real):
    model = torch.nn.Module()
    model.register_buffer("count", torch.tensor(0))
    model.register_buffer("value", torch.tensor(0.0))
    averaged = swa_utils.AveragedModel(model, **options, use_buffers=bool(options))
    found = []
    for value in (0, 7, 14, 21):
        model.count.fill_(value)
        model.value.fill_(value)
        averaged.update_parameters(model)
        found.append((averaged.module.count.item(), averaged.module.value.item()))
    assert [n for n, _ in found] == whole
    assert [v for _, v in found] == pytest.approx(real)
