"""Norms by running statistics in programs: parts of the groups around them."""

import pytest
from recording import Recording
from test_programs import check

import shim_torch as torch
from shim_torch._impl.native import _core

pytestmark = pytest.mark.devices("cpu", "cuda")


def test_statistics_that_somebody_has_are_steps():
    x, mean, variance = torch.randn(2, 3, 4, 5), torch.randn(3), torch.rand(3)
    torch.nn.functional.batch_norm(x, mean, variance)  # which loads the operator
    r = Recording(x, mean, variance)
    norm = "shim::channel_norm"
    y, *statistics = _core.record_step(r.recorder, norm, "", x, None, None, mean, variance, False, 1e-5)
    assert [t.shape for t in statistics] == [(0,), (0,)]
    check(r.returns(y, *statistics))
    assert "channel_norm.default" in r.lines[-1]
