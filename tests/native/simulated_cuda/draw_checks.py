"""Draws that are one launch on the simulated driver, and the numbers of the stream that they give."""

import sys
from pathlib import Path

from launch_checks import once, same, work

import shim_torch as torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "gpu"))
import philox


def draws():
    g = torch.Generator("cuda")
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.empty(1003, dtype=dtype, device="cuda")
        whole = torch.from_numpy(philox.integers(7, 1003, -3, 100)).to(dtype)
        same(once(lambda t: t.random_(-3, 97, generator=g.manual_seed(7)), x), whole)
        plain = torch.empty_like(x).normal_(0.5, 2.0, generator=g.manual_seed(7)).cpu()
        found = once(lambda t: t.log_normal_(0.5, 2.0, generator=g.manual_seed(7)), x)
        same(found, plain.exp(), rtol=1e-5 if dtype != torch.bfloat16 else 0.01, atol=0)
        unit = x.exponential_(generator=g.manual_seed(7)).cpu()
        found = once(lambda t: t.exponential_(2.0, generator=g.manual_seed(7)), x)
        same(found, unit / 2)


def draws_of_inputs():
    torch.manual_seed(0)
    g = torch.Generator("cuda")
    for dtype in (torch.float32, torch.float64):
        chances = torch.rand(301, dtype=torch.float64).to(dtype)
        u = torch.from_numpy(philox.uniform(7, 301, dtype is torch.float64))
        found = once(lambda t: torch.bernoulli(t, generator=g.manual_seed(7)), chances.cuda())
        same(found, (u < chances).to(dtype))
        x = torch.randn(301, dtype=torch.float64).to(dtype).requires_grad_()
        slopes = torch.from_numpy(philox.uniform(7, 301, False)) * torch.tensor(0.3 - 0.1, dtype=torch.float32) + 0.1
        slopes = torch.where(x > 0, 1.0, slopes.to(dtype))
        run = lambda t: torch.rrelu(t, 0.1, 0.3, True, g.manual_seed(7))
        on_gpu = x.detach().cuda().requires_grad_()
        found = once(run, on_gpu)
        same(found, (x * slopes).detach())
        same(torch.autograd.grad(found.sum(), on_gpu)[0], slopes)
        means = torch.randn(50, dtype=torch.float64).to(dtype).cuda()
        plain = torch.empty_like(means).normal_(generator=g.manual_seed(7))
        found, told = work(lambda m: torch.normal(m, 2.0, generator=g.manual_seed(7)), means)
        same(found, means + plain * 2, rtol=1e-6, atol=1e-6)
        assert told == ["launch"] * 2


def permutations():
    g = torch.Generator("cuda")
    for n in (1, 2, 127, 1025, 4096):
        keys = torch.from_numpy(philox.integers(7, n, 0, 1 << 62))
        found = once(lambda n: torch.randperm(n, device="cuda", generator=g.manual_seed(7)), n)
        same(found, keys.argsort())
        same(torch.ops.shim.permutation(torch.empty(n), 7, 0), keys.argsort())
    assert torch.randperm(0, device="cuda").shape == (0,)
    assert torch.randperm(9, device="cuda", dtype=torch.int16).sort()[0].tolist() == list(range(9))
    g.manual_seed(7)
    torch.randperm(5, device="cuda", generator=g)
    after = torch.rand(3, device="cuda", generator=g)
    g.manual_seed(7)
    torch.rand(5, device="cuda", generator=g)
    same(after, torch.rand(3, device="cuda", generator=g))


def places_of_weights():
    kernels = torch.ops.shim
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.float64):
        for rows, n in ((1, 1), (3, 5), (2, 300), (1, 4096), (4, 1025)):
            weights = torch.rand(rows, n, dtype=torch.float64).to(dtype)
            weights[:, n // 2 :: 7] = 0
            weights[:, 0] = 0.5
            on_gpu = weights.cuda()
            (found, faults), told = work(kernels.multinomial_one, on_gpu, 7, 3)
            expected = kernels.multinomial_one(weights, 7, 3)
            assert torch.equal(found.cpu(), expected[0]) and int(faults) == 0 and told == ["launch"]
            found = once(lambda w: torch.multinomial(w, 70, True), on_gpu).cpu()
            assert found.shape == (rows, 70) and bool((weights.gather(1, found) > 0).all())
            found = once(kernels.multinomial_many, on_gpu, 70, 7, 3)
            agree = (found.cpu() == kernels.multinomial_many(weights, 70, 7, 3)).double().mean()
            assert agree > 0.98, agree  # sums are added up in another order
            places = torch.multinomial(on_gpu, min(n, 3)).cpu()
            assert all(len(set(row)) == min(n, 3) for row in places.tolist())
    long = torch.zeros(2, 5000)
    long[0, 4000], long[1, 4999] = 2, 1e-30
    assert torch.multinomial(long.cuda(), 1).flatten().tolist() == [4000, 4999]
    shares = torch.multinomial(torch.tensor([1.0, 0.0, 3.0]).cuda(), 4000, True).bincount(minlength=3).tolist()
    assert shares[1] == 0 and abs(shares[2] / 4000 - 0.75) < 0.04
    for bad, text in (([float("nan"), 1.0], "contains"), ([-1.0, 2.0], "contains"), ([0.0, 0.0], "sum of prob")):
        for draws in (1, 2):
            state = torch.cuda.get_rng_state()
            try:
                torch.multinomial(torch.tensor([[1.0, 1.0], bad]).cuda(), draws)
            except RuntimeError as error:
                assert text in str(error)
            else:
                raise AssertionError(bad)
            assert torch.equal(state, torch.cuda.get_rng_state())
