"""Learning-rate schedules: the chained form against the closed one, cycles against their definition, errors."""

from __future__ import annotations

import math
import warnings

import pytest

import shim_torch as torch
from shim_torch import nn
from shim_torch.optim import lr_scheduler as schedules


def optimizer(lr=(0.05, 0.5), kind="SGD", **kwargs):
    groups = [{"params": [torch.nn.Parameter(torch.ones(2))], "lr": rate} for rate in lr]
    return getattr(torch.optim, kind)(groups, **({"momentum": 0.9} if kind == "SGD" else {}), **kwargs)


def rates(optimizer, schedule, steps):
    found = []
    for _ in range(steps):
        found.append([float(group["lr"]) for group in optimizer.param_groups])
        optimizer.step()
        schedule.step()
    return found


CLOSED = [
    lambda o: schedules.StepLR(o, 3, 0.2),
    lambda o: schedules.MultiStepLR(o, [2, 2, 5], 0.3),
    lambda o: schedules.ConstantLR(o, 0.5, 4),
    lambda o: schedules.LinearLR(o, 0.2, 0.9, 4),
    lambda o: schedules.ExponentialLR(o, 0.7),
    lambda o: schedules.PolynomialLR(o, 7, 2.0),
    lambda o: schedules.CosineAnnealingLR(o, 5, 1e-3),
]


@pytest.mark.parametrize("number", range(len(CLOSED)))
def test_chained_and_closed_forms_agree(number):
    o, other = optimizer(), optimizer()
    chained = rates(o, CLOSED[number](o), 14)
    closed = CLOSED[number](other)
    for epoch, expected in enumerate(chained):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other.step()
            closed.step(epoch)
        assert closed.get_last_lr() == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_rate_held_in_a_tensor_is_changed_in_place():
    rate = torch.tensor(0.1)
    o = torch.optim.Adam([torch.nn.Parameter(torch.ones(1))], lr=rate, foreach=False)
    schedule = schedules.ExponentialLR(o, 0.5)
    o.step()
    schedule.step()
    assert o.param_groups[0]["lr"] is rate and rate.item() == pytest.approx(0.05)
    assert schedule.base_lrs[0].item() == pytest.approx(0.1)


def test_one_cycle():
    o = optimizer((0.1,))
    found = [r[0] for r in rates(o, schedules.OneCycleLR(o, 1.0, total_steps=11, pct_start=0.5), 11)]
    assert found[0] == pytest.approx(1 / 25) and max(found) == pytest.approx(1.0, abs=0.05)
    assert found[-1] == pytest.approx(1 / 25 / 1e4)
    assert found.index(max(found)) in (4, 5)
    assert o.param_groups[0]["momentum"] == pytest.approx(0.942062676641559)  # one step past the cycle, as PyTorch


def test_one_cycle_ends():
    o = optimizer((0.1,))
    schedule = schedules.OneCycleLR(o, 1.0, total_steps=2)
    rates(o, schedule, 2)
    with pytest.raises(ValueError, match="Tried to step 3 times. The specified number of total steps is 2"):
        schedule.step()


def test_cyclic_rates_and_momentum():
    o = optimizer((0.1,))
    schedule = schedules.CyclicLR(o, 1.0, 3.0, step_size_up=2, mode="triangular2")
    assert [r[0] for r in rates(o, schedule, 9)] == pytest.approx([1, 2, 3, 2, 1, 1.5, 2, 1.5, 1])
    assert o.param_groups[0]["momentum"] == pytest.approx(0.9 - 0.1 * 0.5 * 0.25)


def test_warm_restarts():
    o = optimizer((1.0,))
    schedule = schedules.CosineAnnealingWarmRestarts(o, 2, 2)
    half = [(1 + math.cos(math.pi * e / 4)) / 2 for e in range(4)]
    assert [r[0] for r in rates(o, schedule, 7)] == pytest.approx([1, 0.5, *half, 1.0])
    schedule.step(3.5)
    assert (schedule.T_i, schedule.T_cur, schedule.last_epoch) == (4, 1.5, 3)


def test_schedules_after_one_another():
    o = optimizer((1.0,))
    parts = [schedules.ConstantLR(o, 0.1, 2), schedules.ExponentialLR(o, 0.5)]
    sequence = schedules.SequentialLR(o, parts, [3])
    assert [r[0] for r in rates(o, sequence, 6)] == pytest.approx([0.1, 0.1, 1.0, 1.0, 0.5, 0.25])
    again = optimizer((1.0,))
    other = schedules.SequentialLR(
        again, [schedules.ConstantLR(again, 0.1, 2), schedules.ExponentialLR(again, 0.5)], [3]
    )
    other.load_state_dict(sequence.state_dict())
    assert other.last_epoch == 6 and other._schedulers[1].last_epoch == parts[1].last_epoch


def test_schedules_at_once():
    o = optimizer((1.0,))
    chain = schedules.ChainedScheduler([schedules.ConstantLR(o, 0.1, 2), schedules.ExponentialLR(o, 0.5)])
    assert [r[0] for r in rates(o, chain, 4)] == pytest.approx([0.1, 0.05, 0.25, 0.125])


def test_plateau():
    o = optimizer((1.0,))
    schedule = schedules.ReduceLROnPlateau(o, patience=1, factor=0.5, cooldown=1, min_lr=0.2)
    found = []
    for metric in [1, 1, 1, 1, 1, 1, 1, 1, 1, 0.5]:
        schedule.step(metric)
        found.append(o.param_groups[0]["lr"])
    assert found == pytest.approx([1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda o: schedules.ReduceLROnPlateau(o, factor=1.0), "Factor should be < 1.0."),
        (lambda o: schedules.LinearLR(o, 0), "Starting multiplicative factor expected"),
        (lambda o: schedules.OneCycleLR(o, 1.0), "You must define either total_steps"),
        (lambda o: schedules.CyclicLR(o, [1.0], 2.0), "base_lr must have the same length as optimizer.param_groups"),
        (lambda o: schedules.CosineAnnealingWarmRestarts(o, 0), "Expected positive integer T_0, but got 0"),
        (lambda o: schedules.SequentialLR(o, [], []), "expects at least one scheduler"),
        (lambda o: schedules.ChainedScheduler([schedules.ReduceLROnPlateau(o)]), "does not support `ReduceLROnPlat"),
        (lambda o: schedules.LambdaLR(o, [abs]), "Expected 2 lr_lambdas, but got 1"),
    ],
)
def test_errors(build, message):
    with pytest.raises(ValueError, match=message):
        build(optimizer())


def test_steps_in_the_wrong_order_warn():
    o = optimizer()
    schedule = schedules.StepLR(o, 2)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        schedule.step()
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        schedule.get_lr()


def test_a_one_cycle_checkpoint_of_before_strategies_had_names():
    def schedule():
        optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1, momentum=0.9)
        return torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)

    new, old = schedule(), schedule()
    del old._anneal_func_type
    state = old.state_dict()
    state["anneal_func"] = torch.optim.lr_scheduler.OneCycleLR._annealing_cos
    old.load_state_dict(state)
    for _ in range(6):
        for s in (new, old):
            s.optimizer.step()
            s.step()
    assert new.get_last_lr() == old.get_last_lr() and 0 < new.get_last_lr()[0] < 1
