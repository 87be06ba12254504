"""Pointwise formulas that are called seldom: values as PyTorch's, special ones too, and what is left to the records."""

import math

import numpy as np
import pytest

import shim_torch as torch

INF, NAN = math.inf, math.nan
X = [-30.0, -3.0, -0.5, 0.0, 0.25, 0.75, 3.0, 30.0, NAN, INF, -INF]
# PyTorch 2.13, float32; functions of two are of X and of X turned round.
EXPECTED = {
    "angle": [3.1415927410125732, 3.1415927410125732, 3.1415927410125732, 0.0, 0.0, 0.0, 0.0, 0.0, NAN, 0.0, 3.1415927410125732],
    "sgn": [-1.0, -1.0, -1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, -1.0],
    "logaddexp2": [-30.0, INF, NAN, 30.0, 3.1999404430389404, 1.75, 3.1999404430389404, 30.0, NAN, INF, -30.0],
    "nextafter": [-30.000001907348633, -2.999999761581421, NAN, 1.401298464324817e-45, 0.2500000298023224, 0.75, 2.999999761581421, 29.999998092651367, NAN, 3.4028234663852886e+38, -3.4028234663852886e+38],
    "clamp_min": [-30.0, INF, NAN, 30.0, 3.0, 0.75, 3.0, 30.0, NAN, INF, -30.0],
    "clamp_max": [-INF, -3.0, NAN, 0.0, 0.25, 0.75, 0.25, 0.0, NAN, -3.0, -INF],
    "xlog1py": [NAN, -INF, NAN, 0.0, 0.3465735912322998, 0.4197118282318115, 0.6694306135177612, 0.0, NAN, NAN, NAN],
    "logit": [NAN, NAN, NAN, -INF, -1.0986123085021973, 1.0986123085021973, NAN, NAN, NAN, NAN, NAN],
    "logit_kept": [-1.3862943649291992, -1.3862943649291992, -1.3862943649291992, -1.3862943649291992, -1.0986123085021973, 1.0986123085021973, 1.3862944841384888, 1.3862944841384888, NAN, 1.3862944841384888, -1.3862943649291992],
    "round_1": [-37.0, -3.700000047683716, -0.6000000238418579, 0.0, 0.30000001192092896, 0.8999999761581421, 3.700000047683716, 37.0, NAN, INF, -INF],
    "round_-1": [-40.0, -0.0, -0.0, 0.0, 0.0, 0.0, 0.0, 40.0, NAN, INF, -INF],
}  # fmt: skip
CALLS = {
    "angle": lambda x, y: torch.angle(x),
    "sgn": lambda x, y: torch.sgn(x),
    "xlog1py": torch.special.xlog1py,
    "logit": lambda x, y: torch.logit(x),
    "logit_kept": lambda x, y: torch.logit(x, 0.2),
    "round_1": lambda x, y: torch.round(x * 1.2345, decimals=1),
    "round_-1": lambda x, y: torch.round(x * 1.2345, decimals=-1),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_values(name):
    call = CALLS.get(name) or getattr(torch, name)
    for times in (1, 40):
        x, y = torch.tensor(X * times), torch.tensor(X[::-1] * times)
        np.testing.assert_allclose(call(x, y).numpy(), np.float32(EXPECTED[name] * times), rtol=3e-7)
        wide = call(x.double(), y.double())
        assert wide.dtype == torch.float64
        if name != "nextafter":
            np.testing.assert_allclose(wide.numpy(), np.float32(EXPECTED[name] * times), rtol=1e-6)
            half = call(x.bfloat16(), y.bfloat16())
            np.testing.assert_allclose(half.float().numpy(), np.float32(EXPECTED[name] * times), rtol=2e-2)


def test_other_dtypes_are_as_before():
    assert torch.angle(torch.tensor([1, -2])).tolist() == [0.0, np.float32(math.pi)]
    assert torch.angle(torch.tensor([1j, -1.0])).tolist() == [np.float32(math.pi / 2), np.float32(math.pi)]
    assert torch.sgn(torch.tensor([3 + 4j, 0])).tolist() == [torch.tensor(0.6 + 0.8j).item(), 0]
    assert torch.sgn(torch.tensor([True, False])).tolist() == [True, False]
    assert torch.isposinf(torch.tensor([1, 2])).tolist() == [False, False]
    assert torch.isposinf(torch.tensor([INF, -INF, NAN, 1.0])).tolist() == [True, False, False, False]
    assert torch.isneginf(torch.tensor([INF, -INF, NAN, 1.0], dtype=torch.bfloat16)).tolist() == [
        False,
        True,
        False,
        False,
    ]
    one = torch.tensor([1.0], dtype=torch.bfloat16)
    assert torch.nextafter(one, 2 * one).item() == 1.0078125
    whole = torch.tensor([1, 5, -3])
    assert torch.clamp_min(whole, whole.flip(0)).tolist() == [1, 5, 1]
    assert torch.clamp_max(whole, torch.tensor([0.5])).tolist() == [0.5, 0.5, -3.0]


def test_in_place_and_gradients():
    x = torch.tensor([0.3, 0.9, 0.05])
    assert x.clone().logit_(0.1).tolist() == torch.logit(x, 0.1).tolist()
    assert (x * 37).round_(decimals=1).tolist() == torch.round(x * 37, decimals=1).tolist()
    leaf = torch.tensor([0.3, 0.9, 0.2], dtype=torch.float64, requires_grad=True)
    other = torch.tensor([0.4, 0.1, 0.25], dtype=torch.float64, requires_grad=True)
    for call in (
        torch.clamp_min,
        torch.clamp_max,
        torch.logaddexp2,
        torch.special.xlog1py,
        lambda a, b: torch.logit(a) * b,
    ):
        assert torch.autograd.gradcheck(call, (leaf, other))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_with_numbers_and_their_signs(dtype):
    x = torch.tensor((X + [-0.0, 6e4, 1e-7, 0.3]) * 7).to(dtype)
    near = torch.tensor(0.7).to(dtype).item()  # numbers of sums are rounded, those of products are not
    calls = [lambda t: -t, torch.abs, lambda t: t * 0.3, lambda t: 2.5 * t, lambda t: 3 + t]
    for given in (x, x[::2], x.view(15, 7).t()):
        for call, exact in [*zip(calls, calls, strict=True), (lambda t: t + 0.7, lambda t: t + near)]:
            found, expected = call(given), exact(given.float()).to(dtype)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found.float().numpy(), expected.float().numpy())
    assert np.signbit((-x).float().numpy()[3]) and x.clone().mul_(0.3).tolist()[:3] == (x * 0.3).tolist()[:3]
