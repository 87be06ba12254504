"""Programs as CUDA graphs: what is read in its place, copied, captured again, and void after the next replay."""

import pytest
from recording import Recording

import shim_torch as torch


def layers(x, w, depth=3):
    """A recording of products and what is between them."""
    r, y = Recording(x, w), x
    for _ in range(depth):
        y = r.step("add.Tensor", r.step("relu", r.step("mm", y, w)), 0.5)
    return r.returns(y)


@pytest.mark.devices("cpu")
def test_on_the_cpu_calls_run_as_they_are(device):
    x, w = torch.randn(4, 4), torch.randn(4, 4)
    r = layers(x, w)
    for _ in range(4):
        torch.testing.assert_close(r.run_replay(), r.run_steps())
    assert r.counts == {
        "plain": 4,
        "captured": 0,
        "replayed": 0,
        "copied": 0,
        "why_not": "it has tensors of cpu",
    }


@pytest.mark.devices("cuda")
def test_inputs_are_read_where_they_are_or_copied(device):
    x, w = torch.randn(32, 32), torch.randn(32, 32) / 6
    r = layers(x, w)
    for _ in range(4):
        x.normal_()
        torch.testing.assert_close(r.run_replay()[0].cpu(), r.run_steps()[0].cpu(), rtol=1e-4, atol=1e-4)
    assert r.counts["captured"] == 1 and r.counts["replayed"] == 2 and r.counts["copied"] == 0
    for _ in range(3):
        other = torch.randn(32, 32)
        got = r.run_replay([other, w])[0].cpu()
        torch.testing.assert_close(got, r.run_steps([other, w])[0].cpu(), rtol=1e-4, atol=1e-4)
    counts = r.counts
    assert counts["captured"] == 2 and counts["copied"] == 3 and counts["why_not"] == ""


@pytest.mark.devices("cuda")
def test_results_are_void_after_the_next_replay(device):
    x, w = torch.randn(32, 32), torch.randn(32, 32)
    r = layers(x, w)
    r.run_replay(), r.run_replay()
    (first,) = r.run_replay()
    kept = first.clone()
    (second,) = r.run_replay()
    torch.testing.assert_close(second.cpu(), kept.cpu())
    with pytest.raises(RuntimeError):
        first.cpu()


@pytest.mark.devices("cuda")
def test_writes_and_numbers(device):
    x = torch.zeros(100)
    r = Recording(x)
    r.step("add_.Tensor", x, 1.0)
    r.parameter(1, 1.0)
    r.returns(r.step("mul.Tensor", x, 2))
    x.zero_()
    for i in range(6):
        (doubled,) = r.run_replay(numbers=[1.0 if i < 4 else 3.0])
    assert x[0].item() == 4 + 6 and doubled[0].item() == 20
    assert r.counts["captured"] == 2
