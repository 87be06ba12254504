"""Norms by running statistics in programs: parts of the groups around them."""

import pytest
from recording import Recording

import shim_torch as torch
from shim_torch._impl.native import _core

pytestmark = pytest.mark.devices("cpu", "cuda")


def test_statistics_that_somebody_has_are_steps():
    x, mean, variance = torch.randn(2, 3, 4, 5), torch.randn(3), torch.rand(3)
    r = Recording(x, mean, variance)
    norm = torch.ops.shim.channel_norm
    y, *statistics = _core.record_step(r.recorder, "shim::channel_norm", "", x, None, None, mean, variance, False, 1e-5)
    r.returns(y, *statistics)
    found = r.run([x, mean, variance])
    assert [t.shape for t in found[1:]] == [(0,), (0,)]
    torch.testing.assert_close(found[0], norm(x, None, None, mean, variance, False, 1e-5)[0])
    assert "channel_norm.default" in r.lines[-1]
