"""Counts drawn with a parameter each, and gammas beside them: PyTorch's numbers for a seed on a CPU."""

import numpy as np
import pytest

import shim_torch as torch

COUNTS = [0.0, 2.0, 4.0, 9.0, 7.0, 31.0, 9915.0]


GAMMAS = [4.408132389056028e-05, 0.023724266948233135, 0.8360383792967233, 4.234063615439605, 185.46718616554446]


SHARES = [0.018791074753576442, 0.3148077553400247, 0.6664011699063989]


SUCCESSES = [0.0, 3.0, 11.5, 17.0, 31.0, 89.0, 480.0, 9.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_seed_gives_pytorchs_numbers(dtype):
    torch.manual_seed(0)
    assert torch.poisson(torch.tensor([0.0, 0.5, 3.0, 9.5, 10.0, 40.0, 1e4], dtype=dtype)).tolist() == COUNTS
    gammas = torch._standard_gamma(torch.tensor([0.0, 0.1, 0.7, 1.0, 3.5, 200.0], dtype=dtype))
    assert gammas[0] == torch.finfo(dtype).tiny
    np.testing.assert_allclose(gammas[1:].numpy(), GAMMAS, rtol=1e-7)
    shares = torch._sample_dirichlet(torch.tensor([[0.5, 2.0, 9.0], [1e-3, 1.0, 1.0]], dtype=dtype))
    np.testing.assert_allclose(shares[0].numpy(), SHARES, rtol=1e-6)
    trials = torch.tensor([0.0, 5.0, 12.5, 40.0, 40.0, 500.0, 500.0, 9.0], dtype=dtype)
    chances = torch.tensor([0.5, 0.3, 0.9, 0.4, 0.6, 0.2, 0.97, 1.0], dtype=dtype)
    assert torch.binomial(trials, chances).tolist() == SUCCESSES
    assert torch.rand(1).item() == 0.6011906862258911


# Sums of 3000 numbers by Poisson, binomial and gamma, and the uniform number after each: one that is rejected instead of kept moves all.
STREAMS = {
    torch.float32: [
        (1633036205.0, 0.4833614230155945),
        (141664384.0, 0.31991833448410034),
        (163291783.11360058, 0.9029095768928528),
    ],
    torch.float64: [
        (1633036196.0, 0.4833614230155945),
        (141664387.0, 0.31991833448410034),
        (163291781.7207838, 0.9029095768928528),
    ],
}


@pytest.mark.parametrize("dtype", STREAMS)
def test_streams_of_pytorchs_numbers(dtype):
    torch.manual_seed(3)
    rates, shapes = (torch.logspace(*ends, 3000, dtype=torch.float64).to(dtype) for ends in ((-1, 7), (-2, 6)))
    trials = torch.logspace(0, 6, 3000, dtype=torch.float64).floor().to(dtype)
    chances = torch.linspace(0.01, 0.99, 3000, dtype=torch.float64).to(dtype)[torch.arange(3000) * 7 % 3000]
    calls = (
        lambda: torch.poisson(rates),
        lambda: torch.binomial(trials, chances),
        lambda: torch._standard_gamma(shapes),
    )
    for call, (total, after) in zip(calls, STREAMS[dtype], strict=True):
        assert call().double().sum().item() == pytest.approx(total, rel=1e-14)
        assert torch.rand(1).item() == after


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda t: torch.binomial(t.float(), t.double()), RuntimeError, "Found dtype Double but expected Float"),
        (
            lambda t: torch.binomial(t.half(), t.half()),
            NotImplementedError,
            "\"binomial_cpu\" not implemented for 'Half'",
        ),
        (
            lambda t: torch._standard_gamma(t.bfloat16()),
            NotImplementedError,
            "\"gamma_cpu\" not implemented for 'BFloat16'",
        ),
        (lambda t: torch._sample_dirichlet(t.half()), NotImplementedError, "\"dirichlet\" not implemented for 'Half'"),
        (lambda t: torch.poisson(-t), RuntimeError, "invalid Poisson rate, expected rate to be non-negative"),
    ],
)
def test_refusals(call, kind, text):
    with pytest.raises(kind, match=text):
        call(torch.ones(2))


def test_meta_tensors_have_shapes():
    assert torch.poisson(torch.ones(2, 3, device="meta")).shape == (2, 3)
    assert torch._standard_gamma(torch.ones(2, 3, device="meta")).shape == (2, 3)
