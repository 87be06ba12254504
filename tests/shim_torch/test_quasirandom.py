"""torch.quasirandom.SobolEngine; values of PyTorch."""

from __future__ import annotations

import pytest

import shim_torch as torch

pytest.importorskip("scipy")
SobolEngine = torch.quasirandom.SobolEngine


def test_the_first_points() -> None:
    engine = SobolEngine(3)
    assert engine.draw(4).tolist() == [[0, 0, 0], [0.5, 0.5, 0.5], [0.75, 0.25, 0.25], [0.25, 0.75, 0.75]]
    assert engine.num_generated == 4
    assert engine.sobolstate[2, :6].tolist() == [536870912, 805306368, 402653184, 603979776, 973078528, 385875968]
    assert repr(SobolEngine(3, scramble=True, seed=1)) == "SobolEngine(dimension=3, scramble=True, seed=1)"


@pytest.mark.parametrize("scramble", [False, True])
def test_pieces_and_skips_give_the_same_sequence(scramble: bool) -> None:
    whole = SobolEngine(5, scramble, seed=3).draw(64, dtype=torch.float64)
    engine = SobolEngine(5, scramble, seed=3)
    parts = [engine.draw(n, dtype=torch.float64) for n in (1, 2, 20, 41)]
    assert torch.equal(torch.cat(parts), whole)
    assert torch.equal(engine.reset().fast_forward(7).draw(57, dtype=torch.float64), whole[7:])
    assert (whole >= 0).all() and (whole < 1).all()
    for k in (2, 4, 8):  # every dimension has one point in each of 64 cells
        assert torch.bincount(whole[:, 0].mul(k).long()).tolist() == [64 // k] * k
    assert sorted(whole[:, 4].mul(64).long().tolist()) == list(range(64))


def test_out_and_base2_and_errors() -> None:
    engine = SobolEngine(2)
    out = torch.empty(0)
    assert engine.draw_base2(2, out=out) is out and out.shape == (4, 2)
    with pytest.raises(ValueError, match="require n to be a power of 2"):
        engine.draw_base2(3)
    with pytest.raises(ValueError, match=r"Supported range of dimensionality for SobolEngine is \[1, 21201\]"):
        SobolEngine(21202)
