"""torch.special's kernels of the CPU against the bodies of their records, which serve elsewhere, and at their ends."""

import math

import numpy as np
import pytest
import scipy.special

import shim_torch as torch
from shim_torch._impl.arrays import bessel
from shim_torch._impl.arrays.gamma_incomplete import gamma_incomplete
from shim_torch._impl.arrays.special import special
from shim_torch._impl.records.pointwise import special_functions

S = torch.special
ENDS = [0.0, -0.0, 1.0, -1.0, 2.0, 25.0, 30.0, -30.0, 1e-8, 104.0, math.inf, -math.inf, math.nan]
POINTS = np.concatenate([np.random.default_rng(0).standard_normal(200) * s for s in (0.01, 1, 5, 30)] + [ENDS])

BODIES = {
    "i0e": lambda x: bessel.modified_i(np, x, 0, True),
    "i1e": lambda x: bessel.modified_i(np, x, 1, True),
    "bessel_j0": lambda x: bessel.bessel_j(np, x, 0),
    "bessel_j1": lambda x: bessel.bessel_j(np, x, 1),
    "bessel_y0": lambda x: bessel.bessel_y(np, x, 0),
    "bessel_y1": lambda x: bessel.bessel_y(np, x, 1),
    "modified_bessel_k0": lambda x: bessel.modified_k(np, x, 0, False),
    "modified_bessel_k1": lambda x: bessel.modified_k(np, x, 1, False),
    "scaled_modified_bessel_k0": lambda x: bessel.modified_k(np, x, 0, True),
    "scaled_modified_bessel_k1": lambda x: bessel.modified_k(np, x, 1, True),
    "modified_bessel_i0": lambda x: special_functions._finite_i(np, x, 0),
    "i1": lambda x: special_functions._finite_i(np, x, 1),
    "airy_ai": lambda x: bessel.airy_ai(np, x),
    "erfcx": lambda x: special_functions._erfcx(np, x),
    "log_ndtr": lambda x: special_functions._log_ndtr(np, x),
    "entr": lambda x: special_functions._entropy(np, x),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BODIES)
def test_functions_of_one(name):
    x = torch.from_numpy(POINTS)
    theirs = torch.from_numpy(np.asarray(BODIES[name](POINTS)))
    torch.testing.assert_close(getattr(S, name)(x), theirs, rtol=1e-9, atol=1e-10, equal_nan=True)
    narrow = getattr(S, name)(x.float())
    assert narrow.dtype is torch.float32
    exact = torch.from_numpy(np.asarray(BODIES[name](POINTS.astype("float32").astype("float64")))).float()
    torch.testing.assert_close(narrow, exact, rtol=1e-5, atol=1e-6, equal_nan=True)
    assert getattr(S, name)(torch.tensor([1, 2])).dtype is torch.float32  # of integers by the record
    strided = torch.from_numpy(POINTS.reshape(-1, 1).repeat(2, 1))[:, 0]
    torch.testing.assert_close(getattr(S, name)(strided), getattr(S, name)(x), equal_nan=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("upper", [False, True])
def test_incomplete_gamma(upper):
    rng = np.random.default_rng(1)
    a = np.concatenate(
        [
            rng.uniform(0, 5, 200),
            rng.uniform(15, 400, 200),
            rng.uniform(200, 5000, 100),
            [0, 0, 1, math.inf, 2, math.nan],
        ]
    )
    x = a * np.concatenate([rng.uniform(0, 3, 200), rng.uniform(0.6, 1.4, 200), rng.uniform(0.9, 1.1, 100), np.ones(6)])
    x[-6:] = [0, 1, 0, 1, math.inf, 1]
    theirs = gamma_incomplete(np, a, x, upper, special(np, "lgamma"), special(np, "erfc"))
    mine = (torch.igammac if upper else torch.igamma)(torch.from_numpy(a), torch.from_numpy(x))
    torch.testing.assert_close(mine, torch.from_numpy(theirs), rtol=1e-9, atol=1e-12, equal_nan=True)
    with pytest.raises(NotImplementedError, match="igamma"):
        torch.igamma(torch.tensor([1]), torch.tensor([1]))


# (a, x, P, Q), summed with 40 digits. In the tails of large a a power series ends too early.
GAMMAS = [
    (0.3, 0.1, 0.5459128495917965, 0.4540871504082035), (5.0, 7.5, 0.8679381437122794, 0.1320618562877206),
    (20.5, 14.5, 0.07976405262069458, 0.9202359473793054), (200.0, 201.0, 0.5375075509172329, 0.4624924490827671),
    (200.0, 150.0, 5.7096885742082446e-05, 0.9999429031142579), (3000.0, 2500.0, 1.7368408303344988e-22, 1.0),
    (5000000.0, 4986000.0, 1.8439647018199312e-10, 0.9999999998156035), (5000000.0, 5001000.0, 0.6726826253284162, 0.32731737467158384),
]  # fmt: skip


def test_values_of_the_incomplete_gamma_functions():
    a, x, lower, upper = torch.tensor(GAMMAS, dtype=torch.float64).unbind(1)
    for device in ("cuda", "cpu") if torch.cuda.is_available() else ("cpu",):
        torch.testing.assert_close(torch.igamma(a.to(device), x.to(device)).cpu(), lower, rtol=1e-10, atol=0)
        torch.testing.assert_close(torch.igammac(a.to(device), x.to(device)).cpu(), upper, rtol=1e-10, atol=0)
    theirs = [
        gamma_incomplete(np, a.numpy(), x.numpy(), up, special(np, "lgamma"), special(np, "erfc"))
        for up in (False, True)
    ]
    assert np.allclose(theirs[0], lower.numpy(), rtol=1e-10, atol=0) and np.allclose(
        theirs[1], upper.numpy(), rtol=1e-10, atol=0
    )


@pytest.mark.filterwarnings("ignore")
def test_zeta_and_polygamma():
    rng = np.random.default_rng(2)
    s = np.concatenate([rng.uniform(1.01, 10, 100), [2, 3, 4, 1, 0.5, math.inf, 2, 2, 2.5]])
    q = np.concatenate([rng.uniform(0.01, 20, 100), [-2.5, -0.5, -7.25, 1, 1, 1, -3, math.nan, -0.5]])
    found = S.zeta(torch.from_numpy(s), torch.from_numpy(q))
    torch.testing.assert_close(found[:103], torch.from_numpy(bessel.zeta(np, s, q))[:103], rtol=1e-12, atol=0)
    assert found[103:].tolist()[:4] == [math.inf, pytest.approx(math.nan, nan_ok=True), 1.0, math.inf] and bool(
        found[-2:].isnan().all()
    )
    assert S.zeta(torch.tensor(2.0), torch.tensor(1.0)).item() == pytest.approx(math.pi**2 / 6, rel=1e-6)
    x = torch.tensor([0.5, 1.0, 3.0, 10.0], dtype=torch.float64, requires_grad=True)
    assert torch.polygamma(1, x)[1].item() == pytest.approx(math.pi**2 / 6, rel=1e-14)
    for n in (1, 2, 5):
        scaled = (-1) ** (n + 1) * math.factorial(n) * S.zeta(torch.tensor(n + 1.0).double(), x)
        torch.testing.assert_close(torch.polygamma(n, x), scaled, rtol=1e-12, atol=0)
        assert torch.autograd.gradcheck(lambda t, n=n: torch.polygamma(n, t), (x,))
    assert torch.polygamma(1, torch.tensor([math.inf])).item() == 0


def test_quantiles_are_inverse():
    p = torch.tensor([1e-300, 1e-10, 0.01, 0.3, 0.5, 0.7, 0.999, 1 - 1e-10], dtype=torch.float64)
    torch.testing.assert_close(S.ndtr(S.ndtri(p)), p, rtol=1e-9, atol=0)
    assert S.ndtri(torch.tensor([0.0, 1.0, -0.1, 1.1])).tolist()[:2] == [-math.inf, math.inf]
    assert bool(S.ndtri(torch.tensor([-0.1, 1.1])).isnan().all())


# (s, q, value); the values were summed with 40 digits.
ZETAS = [
    (1.0000001, 0.3, 10000003.496685948), (1.25, 0.001, 5628.006540092934), (1.5, 1.0, 2.612375348685488), (2.0, 100.0, 0.010050166663333571),
    (3.0, 12345.5, 3.2808608793906967e-09), (4.7, 0.9, 1.6992412395018717), (7.5, 30.0, 4.287769275306338e-11), (24.0, 60.0, 6.630806917098293e-43),
    (60.0, 10.0, 1.0033021647079859e-60), (59.5, 99.0, 4.077149521067697e-119), (300.0, 0.8, 1.183052186166755e29), (2.0, -0.5, 8.934802200544679),
    (3.0, -2.5, 0.0541020258208637), (6.0, -19.7, 1380.5014537187494), (7.0, -3.0625, -268435455.07940972), (2.0, -1e-20, 1e40), (3.0, -1e-20, -1e60),
    (2.0, -1e15 - 0.5, math.pi**2),
]  # fmt: skip
# What PyTorch 2.13 gives at the ends.
ZETA_ENDS = [
    (1.0, math.nan, math.inf), (math.nan, 1.0, math.nan), (math.nan, -1.0, math.inf), (math.nan, -0.5, math.nan), (2.0, math.nan, math.nan),
    (math.inf, 1.0, 1.0), (math.inf, 0.5, math.inf), (math.inf, -2.5, math.inf), (2.0, math.inf, math.nan), (2.0, -math.inf, math.inf),
    (0.5, 1.0, math.nan), (0.5, -1.0, math.nan), (1.0, -0.5, math.inf), (-math.inf, 1.0, math.nan), (2.0, 0.0, math.inf), (2.5, -0.0, math.inf),
    (2.5, -1.0, math.inf), (2.5, -0.5, math.nan), (1e20, 0.9, math.inf), (1e20, 1.0, 1.0),
]  # fmt: skip


def test_values_of_zeta():
    s, q, wanted = torch.tensor(ZETAS, dtype=torch.float64).unbind(1)
    torch.testing.assert_close(S.zeta(s, q), wanted, rtol=2e-14, atol=0)
    s, q, wanted = torch.tensor(ZETA_ENDS, dtype=torch.float64).unbind(1)
    assert np.array_equal(S.zeta(s, q).numpy(), wanted.numpy(), equal_nan=True)
    assert np.array_equal(S.zeta(s.float(), q.float()).numpy(), wanted.float().numpy(), equal_nan=True)


@pytest.mark.parametrize("name", ["j0", "j1", "y0", "y1"])
def test_bessel_functions_over_all_sizes(name):
    special = pytest.importorskip("scipy.special")
    x = np.concatenate([np.linspace(1e-6, 60, 500), 10.0 ** np.arange(2, 6)])
    found = getattr(torch.special, f"bessel_{name}")(torch.from_numpy(x))
    assert np.allclose(found.numpy(), getattr(special, name)(x), rtol=1e-12, atol=1e-12)
    ends = getattr(torch.special, f"bessel_{name}")(torch.tensor([0.0, math.inf, math.nan]))
    assert ends[0].item() == {"j0": 1, "j1": 0}.get(name, -math.inf)
    assert math.isnan(ends[1]) and math.isnan(ends[2])  # at infinity too, as PyTorch has it


def test_digamma_at_the_ends():
    found = torch.digamma(torch.tensor([math.inf, -math.inf, 0.0, -1.0]))
    assert found[0] == math.inf and math.isnan(found[1]) and found[2] == -math.inf and math.isnan(found[3])


def test_ndtri():
    special = pytest.importorskip("scipy.special")
    p = np.concatenate([np.linspace(0, 1, 101), [1e-300, 1e-30, 1e-8, 1 - 1e-12]])
    assert np.allclose(torch.special.ndtri(torch.from_numpy(p)).numpy(), special.ndtri(p), rtol=1e-12, atol=1e-14)


def test_erfc_is_right_in_its_tail():
    import math

    x = torch.linspace(-5, 9.5, 3001)
    wanted = np.array([math.erfc(v) for v in x.tolist()])
    assert np.allclose(x.erfc().numpy(), wanted, rtol=2e-6, atol=1e-44)
    assert (
        x[[0]].mul(float("inf")).erfc().item() == 2
        and torch.tensor(float("inf")).erfc().item() == 0
        and torch.tensor(float("nan")).erfc().isnan()
    )


# P(a, x) of scipy.special.gammainc.
_INCOMPLETE = [
    (0.5, 0.3, 0.5614219739190003),
    (5.0, 12.0, 0.992399609318933),
    (100.0, 95.0, 0.3173568111698001),
    (1e6, 1000500.0, 0.6915504757714972),
]


@pytest.mark.parametrize(("a", "x", "lower"), _INCOMPLETE)
def test_incomplete_gamma_functions(a, x, lower):
    p = torch.igamma(torch.tensor(a, dtype=torch.float64), torch.tensor(x, dtype=torch.float64)).item()
    q = torch.igammac(torch.tensor(a, dtype=torch.float64), torch.tensor(x, dtype=torch.float64)).item()
    assert p == pytest.approx(lower, rel=1e-6) and p + q == pytest.approx(1.0, abs=1e-14)


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


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("erfc", (0.0, 1.0, -3.0, 6.475, 9.9)),
        ("ndtr", (0.0, -1.0, 2.0, -4.4767766, -13.0)),
        ("gammaln", (1.0, 2.0, 1.9999957, 0.5, 1.5, 2.5, -0.7, -2.4570247, -2.7476826, 7.999, 1e-20, 3e5)),
    ],
)
def test_errors_are_half_a_unit(name, places):
    """As exact as a float can be; scipy's are in double, whose own errors weigh nearer to a zero than the floats that are taken."""
    near = np.concatenate([p * (1 + rng.uniform(-1e-2, 1e-2, 4000)) for p in places] + [rng.uniform(-9, 9, 20000)])
    x = near.astype(np.float32)
    expected = getattr(scipy.special, name)(x.astype(np.float64))
    fine = np.isfinite(expected) & (np.abs(expected) > 1e-5)
    if name == "gammaln":  # the zeros that are no fraction's multiple, where x alone is too coarse
        fine |= (x > 0) & (np.abs(expected) > 1e-7)
    else:
        fine = np.abs(expected) > 1.2e-38
    found = getattr(S, name)(torch.from_numpy(x)).numpy().astype(np.float64)
    units = np.abs(found - expected)[fine] / np.spacing(np.abs(expected[fine]).astype(np.float32))
    assert fine.mean() > 0.85 and units.max() < 0.51
