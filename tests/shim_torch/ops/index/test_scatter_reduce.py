"""Values reduced at places of a tensor: sums, products, means, extremes and their gradients."""

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.records.index.scatter_reduce import _extreme_at


@pytest.mark.parametrize("along", [False, True])
def test_products_with_several_zeros_in_a_place_have_one_gradient_only(along: bool) -> None:
    src = torch.tensor([0.0, 0.0, 3.0], requires_grad=True)
    whole = torch.tensor([1.0, 2.0], requires_grad=True)
    index = torch.tensor([0, 0, 1])
    made = whole.index_reduce(0, index, src, "prod") if along else whole.scatter_reduce(0, index, src, "prod")
    (of_src,) = torch.autograd.grad(made.sum(), src, create_graph=True)
    assert of_src.tolist() == [0, 0, 2]
    with pytest.raises(RuntimeError, match="Double backward is unsupported for (src|source) when >1 zeros"):
        torch.autograd.grad(of_src.sum(), whole)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8", "uint8", "bool"])
def test_extremes_by_words(dtype, largest):
    random = np.random.default_rng(0)
    out = (random.standard_normal((5, 7)) * 100).astype(dtype)
    source = (random.standard_normal(40) * 100).astype(dtype)
    if dtype.startswith("float"):
        out[0, 0], source[3:6] = np.inf, (np.nan, -np.inf, -0.0)
    key = (random.integers(0, 5, 40), random.integers(0, 7, 40))
    wanted = out.copy()
    (np.maximum if largest else np.minimum).at(wanted, key, source)
    got = _extreme_at(np, out, key, source, largest)
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


def test_means_of_complex_numbers_are_sums_over_counts():
    torch.manual_seed(0)
    places, source = torch.arange(199) % 40, torch.randn(199, dtype=torch.complex64)
    zeros = torch.zeros(40, dtype=torch.complex64)
    found = zeros.scatter_reduce(0, places, source, "mean", include_self=False)
    assert torch.equal(found, zeros.scatter_add(0, places, source) / torch.bincount(places))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin"])
def test_scatter_reduce(dtype, reduce):
    r = np.random.default_rng(0)
    x, src, index = (
        r.integers(-4, 5, (5, 6)).astype(dtype),
        r.integers(-4, 5, (4, 6)).astype(dtype),
        r.integers(0, 5, (4, 6)),
    )
    two = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[reduce]
    wanted = x.copy()
    two.at(wanted, (index, np.arange(6)), src)
    t, s, i = (torch.from_numpy(a) for a in (x, src, index))
    assert np.array_equal(t.scatter_reduce(0, i, s, reduce).numpy(), wanted)
    assert np.array_equal(t.t().scatter_reduce(1, i.t(), s.t(), reduce).numpy(), wanted.T)
    assert np.array_equal(t.clone().scatter_reduce_(0, i, s, reduce).numpy(), wanted)
    with pytest.raises(RuntimeError, match="index 5 is out of bounds"):
        t.scatter_reduce(0, torch.full((4, 6), 5), s, reduce)


def test_scatter_reduce_keeps_nan():
    x, s = torch.tensor([float("nan"), 1.0]), torch.tensor([2.0, float("nan"), 3.0])
    assert x.scatter_reduce(0, torch.tensor([0, 1, 1]), s, "amax").isnan().all()
    assert x.scatter_reduce(0, torch.tensor([0, 1, 1]), s, "amin").isnan().all()
