"""Calls on CUDA that ask the GPU nothing, or once, and draws of other distributions in one kernel."""

from __future__ import annotations

import math

import pytest

import shim_torch as torch


def test_a_number_at_a_mask(seeded):
    x = torch.randn(5, 6, 7, device="cuda")
    for mask in (x > 0, x[:, :, 0] > 0, x[:, 0, 0] > 0):
        mine, theirs = x.clone(), x.cpu()
        mine[mask] = 2.5
        theirs[mask.cpu()] = 2.5
        assert torch.equal(mine.cpu(), theirs)
    mine, theirs = x.clone(), x.cpu()
    mine[1:, x[0] > 0] = -1
    theirs[1:, x[0].cpu() > 0] = -1
    assert torch.equal(mine.cpu(), theirs)
    whole = torch.arange(6, device="cuda")
    whole[whole > 2] = 7.9
    assert whole.tolist() == [0, 1, 2, 7, 7, 7]
    leaf = torch.ones(4, device="cuda", requires_grad=True)
    y = leaf * 2
    y[torch.tensor([True, False, True, False], device="cuda")] = 0
    y.sum().backward()
    assert leaf.grad.tolist() == [0, 2, 0, 2]
    with pytest.raises(IndexError):
        x[torch.ones(4, dtype=torch.bool, device="cuda")] = 1


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.int64, torch.bool), ids=str)
def test_masked_fill_in_place(dtype, seeded):
    for x in (
        torch.randn(33, 7),
        torch.randn(7, 33).t(),
        torch.randn(40, 7)[3:36],
        torch.randn(33, 1).expand(33, 7).clone(),
    ):
        for mask in (
            torch.rand(33, 7) > 0.5,
            torch.rand(7) > 0.5,
            torch.rand(33, 1) > 0.5,
            torch.rand(7, 33).t() > 0.5,
        ):
            theirs, mine = x.to(dtype), x.cuda().to(dtype)
            view, version = mine[1:], mine._version
            assert mine.masked_fill_(mask.cuda(), 1) is mine and mine._version == version + 1
            assert torch.equal(mine.cpu(), theirs.masked_fill_(mask, 1)) and torch.equal(view.cpu(), theirs[1:])
    whole = torch.zeros(5, 6, device="cuda")
    whole[1:4, ::2].masked_fill_(torch.ones(3, dtype=torch.bool, device="cuda"), 2.5)
    assert whole.sum() == 2.5 * 9
    with pytest.raises(RuntimeError):
        torch.zeros(3, device="cuda").masked_fill_(torch.ones(2, 3, dtype=torch.bool, device="cuda"), 1)


def test_equal(seeded):
    x = torch.randn(5, 6, device="cuda")
    x[0, 0] = math.nan
    assert torch.equal(x, x) and torch.equal(x, x.view(5, 6)) and not torch.equal(x, x.clone())
    assert not torch.equal(x[:, :5].contiguous(), x[:, :5].t().contiguous().t() + 1) and not torch.equal(
        x[:5, :5], x[:5, :5].t()
    )


@pytest.mark.parametrize("dtype", (torch.float64, torch.float32, torch.float16, torch.bfloat16), ids=str)
@pytest.mark.parametrize("nan", (False, True))
def test_isclose(nan, dtype, seeded):
    odd = torch.tensor([0.0, 1.0, -2.0, math.inf, -math.inf, math.nan, 1e-9, 300.0], dtype=dtype)
    a, b = odd.unsqueeze(1), odd
    for x, y in (
        (a, b),
        (torch.randn(37, 5).to(dtype), torch.randn(37, 5).to(dtype)),
        (odd, odd * 1.01),
        (a.expand(8, 8).t(), b),
    ):
        for settings in ({}, {"rtol": 0.0, "atol": 0.0}, {"rtol": 0.02}, {"atol": 1.5, "rtol": 0.0}):
            mine = torch.isclose(x.cuda(), y.cuda(), equal_nan=nan, **settings)
            assert torch.equal(mine.cpu(), torch.isclose(x, y, equal_nan=nan, **settings))
    assert torch.allclose(a.cuda(), a.cuda(), equal_nan=True) and not torch.allclose(a.cuda(), a.cuda())
    assert torch.isclose(torch.empty(0, device="cuda"), torch.empty(0, device="cuda")).shape == (0,)


@pytest.mark.parametrize("dtype", (torch.int64, torch.int32), ids=str)
def test_repeat_interleave_by_counts(dtype, seeded):
    x, counts = torch.randn(6, 4), torch.tensor([0, 3, 1, 0, 0, 2], dtype=dtype)
    expected = torch.repeat_interleave(x, counts, 0)
    assert torch.equal(torch.repeat_interleave(x.cuda(), counts.cuda(), 0).cpu(), expected)
    assert torch.equal(torch.repeat_interleave(x.cuda(), counts.cuda(), 0, output_size=6).cpu(), expected)
    assert torch.repeat_interleave(x.cuda(), torch.zeros_like(counts).cuda(), 0).shape == (0, 4)
    with pytest.raises(RuntimeError, match="repeats can not be negative"):
        torch.repeat_interleave(x.cuda(), counts.cuda() - 1, 0)


@pytest.mark.parametrize("known", [True, False])
def test_repeat_interleave_in_a_compiled_function(known, seeded):
    """How often is a shape that depends on values, which a setting lets a whole graph have; it is no value that is read."""

    def f(counts):
        rows = torch.arange(counts.numel(), device="cuda")
        return torch.repeat_interleave(rows, counts, output_size=6 if known else None) * 2

    compiled = torch.compile(f, fullgraph=True)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        for counts in ([1, 2, 3], [4, 0, 2], [6], [1, 1, 4]):
            counts = torch.tensor(counts, device="cuda")
            assert torch.equal(compiled(counts), f(counts))


def test_clip_grad_value(seeded):
    parameters = [torch.randn(3, 4, device="cuda", requires_grad=True) for _ in range(3)]
    for p in parameters:
        p.grad = torch.randn_like(p) * 3
    expected = [p.grad.clamp(-1, 1) for p in parameters]
    torch.nn.utils.clip_grad_value_(parameters, 1)
    assert all(torch.equal(p.grad, e) for p, e in zip(parameters, expected, strict=True))


def test_multinomial(seeded):
    weights = torch.tensor([[0.0, 1.0, 3.0], [2.0, 0.0, 0.0]], device="cuda")
    one = torch.multinomial(weights.expand(1000, 2, 3).reshape(-1, 3), 1).view(1000, 2)
    assert set(one[:, 0].tolist()) == {1, 2} and set(one[:, 1].tolist()) == {0}
    assert abs(float((one[:, 0] == 2).float().mean()) - 0.75) < 0.06
    many = torch.multinomial(weights, 4000, True)
    assert (
        many.shape == (2, 4000)
        and set(many[1].tolist()) == {0}
        and abs(float((many[0] == 2).float().mean()) - 0.75) < 0.04
    )
    assert sorted(torch.multinomial(weights[0, 1:], 2).tolist()) == [0, 1]
    for bad, text in (
        ([math.nan, 1.0], "contains either"),
        ([math.inf, 1.0], "contains either"),
        ([-1.0, 1.0], "contains either"),
        ([0.0, 0.0], "sum of probabilities"),
    ):
        with pytest.raises(RuntimeError, match=text):
            torch.multinomial(torch.tensor(bad, device="cuda"), 1)


DRAWS = {
    "exponential_": ((2.0,), lambda u: (-(1 - u).log()).clamp(min=2.0**-24) / 2.0),
    "cauchy_": ((1.0, 3.0), lambda u: 1.0 + 3.0 * (math.pi * (u - 0.5)).tan()),
    "geometric_": ((0.3,), lambda u: ((1 - u).log() / math.log1p(-0.3)).ceil().clamp(min=1)),
    "bernoulli_": ((0.3,), lambda u: (u < 0.3).double()),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("dtype", (torch.float64, torch.float32, torch.bfloat16, torch.float16), ids=str)
@pytest.mark.parametrize("shape", ((1,), (5,), (1003,), (300, 77)), ids=str)
def test_draws_are_the_uniform_ones_shaped(shape, dtype, name):
    settings, shaped = DRAWS[name]
    wide = torch.float64 if dtype == torch.float64 and name != "bernoulli_" else torch.float32
    torch.manual_seed(5)
    x = torch.empty(shape, dtype=dtype, device="cuda")
    getattr(x, name)(*settings)
    after = torch.rand(3, device="cuda")
    torch.manual_seed(5)
    u = torch.rand(shape, dtype=wide, device="cuda")
    assert torch.equal(torch.rand(3, device="cuda"), after)
    expected = shaped(u.cpu().double())
    bound = {torch.float64: 1e-9, torch.float32: 2e-4, torch.bfloat16: 1e-2, torch.float16: 2e-3}[dtype]
    allowed = (
        bound * (1 + expected.abs()) + (1e-6 if dtype != torch.float64 else 0) * expected.square()
    )  # tan near its poles
    near = ((x.cpu().double() - expected).abs() <= allowed) | (expected.abs() > 6e4)
    assert float(near.double().mean()) > (0.999 if name == "geometric_" else 0.9999) or int((~near).sum()) <= (
        name == "geometric_"
    )


def test_draws_of_other_kinds(seeded):
    assert int(torch.empty(1000, dtype=torch.int64, device="cuda").geometric_(0.5).min()) == 1
    mask = torch.empty(10000, dtype=torch.bool, device="cuda").bernoulli_(0.25)
    assert abs(float(mask.float().mean()) - 0.25) < 0.03
    turned = torch.empty(40, 30, device="cuda").t().exponential_()
    assert turned.stride() == (1, 30) and float(turned.min()) > 0
    with pytest.raises(RuntimeError, match="lambda > 0.0"):
        turned.exponential_(-1)
