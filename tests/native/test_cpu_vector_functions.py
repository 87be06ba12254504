"""Float32 loops of special functions, reductions of narrow floats and copies of short innermost dims, against SciPy and NumPy in double."""

import math

import numpy as np
import pytest
import scipy.special

import shim_torch as torch

S = torch.special
INF, NAN = math.inf, math.nan
rng = np.random.default_rng(0)
WIDE = np.concatenate([rng.standard_normal(5000) * 5, rng.uniform(-14, 14, 5000), rng.uniform(-88, 88, 2000)]).astype(
    np.float32
)
CHANCES = np.concatenate(
    [rng.uniform(0, 1, 5000), np.exp(rng.uniform(-103, 0, 5000)), 1 - np.exp(rng.uniform(-16, -1, 2000))]
).astype(np.float32)


@pytest.mark.parametrize(
    "name", ["i0", "i0e", "i1", "i1e", "modified_bessel_i0", "modified_bessel_i1", "ndtr", "erfc", "ndtri"]
)
def test_errors_are_few_units(name):
    x = CHANCES if name == "ndtri" else WIDE
    expected = getattr(scipy.special, name.replace("modified_bessel_", ""))(x.astype(np.float64))
    found = getattr(S, name)(torch.from_numpy(x)).numpy()
    fine = np.abs(expected) > 1.2e-38  # of others a float has fewer digits
    units = np.abs(found - expected) / np.spacing(np.abs(expected).astype(np.float32))
    assert units[fine].max() < 6
    assert np.abs(found - expected)[~fine].max(initial=0) < 1e-38


def test_ends():
    x = torch.tensor([INF, -INF, NAN, 0.0, 3e38, -3e38])
    tiny = float(np.float32(0.3989422804 / 3e38**0.5))
    for name, expected in {
        "i0": [INF, INF, NAN, 1.0, INF, INF],
        "i0e": [0.0, 0.0, NAN, 1.0, tiny, tiny],
        "i1": [NAN, NAN, NAN, 0.0, INF, -INF],
        "i1e": [0.0, 0.0, NAN, 0.0, tiny, -tiny],
        "modified_bessel_i0": [NAN, NAN, NAN, 1.0, INF, INF],
        "ndtr": [1.0, 0.0, NAN, 0.5, 1.0, 0.0],
        "erfc": [0.0, 2.0, NAN, 1.0, 0.0, 2.0],
        "gammaln": [INF, INF, NAN, INF, INF, INF],
    }.items():
        assert getattr(S, name)(x).tolist() == pytest.approx(expected, rel=1e-6, abs=0, nan_ok=True), name
    assert S.ndtri(torch.tensor([0.0, 1.0, 0.5])).tolist() == [-INF, INF, 0.0]
    assert bool(S.ndtri(torch.tensor([-0.5, 1.5, NAN, INF])).isnan().all())


def test_log_gamma_left_of_zero():
    x = np.concatenate([rng.uniform(-30, 30, 20000), [-1e-30, 1e-30, -1e6 - 0.5, 1e30]]).astype(np.float32)
    expected = scipy.special.gammaln(x.astype(np.float64))
    np.testing.assert_allclose(torch.lgamma(torch.from_numpy(x)).numpy(), expected, rtol=2e-7, atol=1e-9)
    assert torch.lgamma(torch.tensor([-1.0, -2.0, -8388609.0, 0.0])).tolist() == [INF] * 4
    assert torch.lgamma(torch.tensor([1.0, 2.0])).abs().max() < 1e-9


@pytest.mark.parametrize("shape", [(1000, 3), (7, 300), (65, 130), (129, 1)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_columns_of_narrow_floats(shape, dtype):
    x = torch.from_numpy(rng.standard_normal(shape)).to(dtype)
    wide = x.double().numpy()
    torch.testing.assert_close(x.sum(0, dtype=torch.float32).numpy(), wide.sum(0).astype(np.float32))
    torch.testing.assert_close(x.mean(0), torch.from_numpy(wide.mean(0)).to(dtype))
    assert np.array_equal(x.amax(0).double().numpy(), wide.max(0))
    x[1, 0] = NAN
    assert x.amin(0)[0].isnan() and not x.amin(0)[1:].isnan().any()


def test_sums_and_products_of_any_length():
    for n in (0, 1, 15, 16, 17, 63, 64, 65, 200, 16385, 100003):
        x = rng.uniform(0.5, 1.5, n)
        x[::7] = NAN
        found = torch.from_numpy(x).nansum().item(), torch.from_numpy(x.astype(np.float32)).nansum().item()
        assert found == pytest.approx((np.nansum(x), np.nansum(x.astype(np.float32), dtype=np.float64)), rel=1e-6)
        y = np.nan_to_num(x, nan=1.0) ** (1 / max(n, 1))
        assert torch.from_numpy(y).sum().item() == pytest.approx(y.sum(), rel=1e-12)
        assert torch.from_numpy(y).prod().item() == pytest.approx(y.prod(), rel=1e-10)
    assert torch.full((3, 100000), 0.5).prod(1).tolist() == [0.0] * 3


def test_all_and_any_of_none():
    none = torch.empty(3, 0, dtype=torch.bool)
    assert none.all(1).tolist() == [True] * 3 and none.any(1).tolist() == [False] * 3
    assert (
        torch.empty(0, 2, dtype=torch.bool).all(0).tolist() == [True, True]
        and torch.tensor([], dtype=torch.uint8).all().item() == 1
    )
    some = torch.tensor([[True, False], [True, True]])
    assert (
        some.all(0).tolist() == [True, False]
        and some.all(1).tolist() == [False, True]
        and some.any(1).tolist() == [True, True]
    )


@pytest.mark.parametrize("cast", [None, torch.float64])
def test_copies_whose_innermost_dim_is_short(cast):
    x = torch.from_numpy(rng.standard_normal((3, 8, 9, 10)).astype(np.float32))
    for source in (
        x.reshape(3, 2, 2, 2, 9, 10).permute(0, 1, 4, 2, 5, 3),  # pixel_shuffle's
        x.reshape(-1).unfold(0, 3, 2),
        torch.arange(30000.0).reshape(6000, 5)[:, 1:4],
        torch.arange(14002.0).reshape(7001, 2).flip(0)[:, :1].expand(7001, 3),
        x.permute(1, 0, 3, 2)[..., ::4],
    ):
        expected = np.ascontiguousarray(source.numpy())
        found = source.to(cast) if cast else source.contiguous()
        assert np.array_equal(found.numpy(), expected)
        target = torch.zeros(*reversed(source.shape), dtype=found.dtype).permute(*reversed(range(source.dim())))
        assert np.array_equal(target.copy_(source).numpy(), expected)
