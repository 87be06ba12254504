"""Every schedule's rates, momenta and state against those of PyTorch 2.13: stepped, moved to an epoch, resumed, stored."""

import json
from pathlib import Path

import pytest
from schedules_cases import MANY, ONE, PLATEAUS, answers, optimizer, plateau

EXPECTED = Path(__file__).with_name("schedules_expected.json")


def expected(name):
    return json.loads(EXPECTED.read_text())[name]


def the_same(got, wanted):
    """Numbers to the last bits of a float, everything else exactly."""
    if isinstance(wanted, float) and not isinstance(got, bool):
        return got == pytest.approx(wanted, rel=1e-13, abs=1e-15, nan_ok=True)
    if isinstance(wanted, dict):
        return got.keys() == wanted.keys() and all(the_same(got[k], wanted[k]) for k in wanted)
    if isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(the_same, got, wanted))
    return got == wanted


@pytest.mark.filterwarnings("ignore:The epoch parameter", "ignore:Detected call", "ignore:To get the last")
@pytest.mark.parametrize("name", [*ONE, *MANY])
def test_as_pytorch(name):
    import shim_torch

    got = answers(shim_torch, name)
    for what, wanted in expected(name).items():
        assert the_same(got[what], wanted), (what, got[what], wanted)


@pytest.mark.parametrize("number", range(len(PLATEAUS)))
def test_plateaus_as_pytorch(number):
    import shim_torch

    assert the_same(plateau(shim_torch, PLATEAUS[number]), expected("plateaus")[number])


def test_groups_added_to_a_plateaus_optimizer():
    import shim_torch

    def reduced(**settings):
        of = optimizer(shim_torch)
        schedule = shim_torch.optim.lr_scheduler.ReduceLROnPlateau(of, patience=0, **settings)
        of.add_param_group({"params": [shim_torch.nn.Parameter(shim_torch.ones(1))]})
        schedule.step(1)
        schedule.step(2)
        return schedule.get_last_lr()

    assert reduced(min_lr=0.02) == pytest.approx([0.02, 0.05, 0.001])  # what is below the least rate is not raised
    with pytest.raises(RuntimeError, match=r"\(3\) differs from when `ReduceLROnPlateau` was initialized \(2\)"):
        reduced(min_lr=[0.1, 0.2])
