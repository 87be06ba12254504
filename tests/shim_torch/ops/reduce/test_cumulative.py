"""Running sums, products, extremes and logarithms of sums: values, tangents, dtypes of out=."""

import math

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.autograd import forward_ad

C = torch.tensor([1 + 3j, 4 + 6j])


def test_complex_logcumsumexp_keeps_the_larger_imaginary_part():
    found = torch.logcumsumexp(C, 0).numpy()
    assert np.allclose(found, [1 + 3j, 3.9495 + 5.9926j], atol=1e-4)


def test_complex_logcumsumexp_of_zeros():
    lowest = torch.tensor([complex(-math.inf, 0)] * 2)
    assert torch.logcumsumexp(lowest, 0).real.tolist() == [-math.inf] * 2


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "sum", "prod", "mean"])
def test_a_given_dtype_is_that_of_out(name):
    function, x = getattr(torch, name), torch.arange(1.0, 4.0)
    out = torch.empty(0, dtype=torch.float64)
    assert function(x, 0, dtype=torch.float64, out=out) is out
    with pytest.raises(RuntimeError, match="^Expected out tensor to have dtype float, but got double instead$"):
        function(x, 0, dtype=torch.float32, out=out)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_logarithms_of_sums_at_their_edges(dtype):
    inf, nan = math.inf, math.nan

    def pair(a, b):
        return torch.view_as_real(torch.logcumsumexp(torch.tensor([a, b], dtype=dtype), 0)).tolist()

    assert pair(complex(-inf, inf), 0j)[0] == [-inf, 0.0]  # the angle of log 0 is not kept
    assert [math.isnan(v) for v in pair(complex(0, nan), 1j)[0]] == [True, True]
    assert pair(-1.5j, 2.4j)[1][1] == pytest.approx(
        3.5916, abs=1e-4
    )  # of equal magnitudes the new one gives the branch
    both = torch.logaddexp(torch.tensor(complex(0, nan), dtype=dtype), torch.tensor(1j, dtype=dtype))
    assert math.isnan(both.real.item()) and math.isnan(both.imag.item())
    whole = torch.logsumexp(torch.tensor([complex(inf, inf)], dtype=dtype), 0)
    assert whole.real.item() == inf and math.isnan(whole.imag.item())


def test_sums_are_added_up_in_the_dtype_of_out():
    x = torch.tensor([1.7, 1.7])
    assert torch.cumsum(x, 0, out=torch.zeros(2, dtype=torch.int64)).tolist() == [1, 2]
    assert torch.sum(x, 0, out=torch.zeros((), dtype=torch.int64)).item() == 2
    low = torch.full((9,), 1.0078125, dtype=torch.bfloat16)
    wide = torch.cumprod(low, 0, out=torch.zeros(9))
    np.testing.assert_allclose(wide.numpy(), 1.0078125 ** np.arange(1, 10), rtol=1e-6)


def test_tangents_of_running_log_sums():
    x = torch.tensor([1.0, 2.0, 3.0])
    with forward_ad.dual_level():
        y = torch.logcumsumexp(forward_ad.make_dual(x, torch.tensor([1.0, 0.5, -1.0])), 0)
        np.testing.assert_allclose(forward_ad.unpack_dual(y).tangent.numpy(), [1.0, 0.6345, -0.4528], atol=1e-4)
    assert torch.autograd.gradgradcheck(lambda t: torch.logcumsumexp(t, 0), x.double().requires_grad_())


DTYPES = ["uint8", "int16", "int64", "float32", "float64"]


SHAPES = [(1,), (7, 9), (4, 5, 6), (3, 130), (130, 33)]


def array(shape, dtype, seed=0):
    r = np.random.default_rng(seed)
    return (
        r.integers(0, 9, shape).astype(dtype)
        if "float" not in dtype
        else np.round(r.standard_normal(shape) * 3, 1).astype(dtype)
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_running_and_selected(shape, dtype):
    a = array(shape, dtype)
    for dim in range(len(shape)):
        for t, x in ((torch.from_numpy(a), a), (torch.from_numpy(a).transpose(0, -1), np.swapaxes(a, 0, -1))):
            values, places = t.cummax(dim)
            assert np.array_equal(values.numpy(), np.maximum.accumulate(x, dim))
            assert np.array_equal(np.take_along_axis(x, places.numpy(), dim), values.numpy())
            n = x.shape[dim]
            last = np.maximum.accumulate(
                np.where(x == values.numpy(), np.moveaxis(np.arange(n).reshape((n,) + (1,) * (x.ndim - 1)), 0, dim), 0),
                dim,
            )
            assert np.array_equal(places.numpy(), last)
            assert np.array_equal(t.cummin(dim)[0].numpy(), np.minimum.accumulate(x, dim))
            ranked = np.sort(x, dim, kind="stable")
            for k in {1, (n + 1) // 2, n}:
                value, place = t.kthvalue(k, dim)
                assert np.array_equal(value.numpy(), np.take(ranked, k - 1, dim))
                assert np.array_equal(
                    np.squeeze(np.take_along_axis(x, np.expand_dims(place.numpy(), dim), dim), dim), value.numpy()
                )
            assert np.array_equal(t.median(dim, keepdim=True)[0].numpy(), np.take(ranked, [(n - 1) // 2], dim))
            assert np.allclose(
                t[..., :5].cumprod(dim).double().numpy(),
                np.cumprod(x[..., :5].astype("float64" if "float" in dtype else "int64"), dim),
                rtol=1e-5,
            )
            assert np.allclose(
                t[..., :9].prod(dim).double().numpy(),
                np.prod(x[..., :9].astype("float64" if "float" in dtype else "int64"), dim),
                rtol=1e-5,
            )


def test_out_dtypes_of_cumulative_functions():
    assert torch.cumsum(torch.tensor([1.0, 2.0]), 0, out=torch.empty(2, dtype=torch.int16)).tolist() == [1, 3]
    with pytest.raises(RuntimeError, match="expected scalar_type Double but found Float"):
        torch.logcumsumexp(torch.ones(2).double(), 0, out=torch.empty(2))
    with pytest.raises(RuntimeError, match="expects exponent to have int dtype but got long int"):
        torch.frexp(torch.ones(1), out=(torch.empty(1), torch.empty(1, dtype=torch.int64)))
