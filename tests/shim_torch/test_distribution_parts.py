"""Draws by seed, refusals, transforms and constraints of distribution_part_cases.py against PyTorch 2.13."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from distribution_cases import same
from distribution_part_cases import values

import shim_torch as torch
import shim_torch.distributions as D

EXPECTED = json.loads((Path(__file__).parent / "data" / "distribution_parts.json").read_text())
GROUPS = sorted({name.rpartition(".")[0] or name.partition("_")[0] for name in EXPECTED})


@pytest.fixture(scope="module")
def found():
    return values(torch, D)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("group", GROUPS)
def test_parts(found, group):
    for name, value in EXPECTED.items():
        if (name.rpartition(".")[0] or name.partition("_")[0]) == group:
            assert same(found[name], value), (name, found[name], value)


def test_batches_that_vmap_hides():
    x = torch.tensor([[0.3, -0.2, 0.7], [1.0, 0.5, -2.0]])
    t = D.CorrCholeskyTransform()
    torch.testing.assert_close(torch.func.vmap(t)(x), t(x))
    counts = torch.func.vmap(lambda p: D.Multinomial(7, p, validate_args=False).sample(), randomness="different")(
        x.exp()
    )
    assert counts.sum(-1).tolist() == [7.0, 7.0]


def test_no_case_is_left_out(found):
    assert set(found) == set(EXPECTED)
