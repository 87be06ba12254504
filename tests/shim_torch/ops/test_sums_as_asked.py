"""Sums and means whose dtype= and out= disagree, complex logarithms of sums at their edges, resizing without elements."""

import math

import pytest

import shim_torch as torch


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "sum", "prod", "mean"])
def test_a_given_dtype_is_that_of_out(name):
    function, x = getattr(torch, name), torch.arange(1.0, 4.0)
    out = torch.empty(0, dtype=torch.float64)
    assert function(x, 0, dtype=torch.float64, out=out) is out
    with pytest.raises(RuntimeError, match="^Expected out tensor to have dtype float, but got double instead$"):
        function(x, 0, dtype=torch.float32, out=out)


def test_sums_without_nan_take_the_dtype_of_out():
    x = torch.tensor([1.0, math.nan, 2.0])
    assert torch.nansum(x, out=torch.empty((), dtype=torch.float64)).item() == 3.0
    with pytest.raises(RuntimeError, match="nansum: provided dtype must match dtype of result. Got Double and Float."):
        torch.nansum(x, dtype=torch.float32, out=torch.empty((), dtype=torch.float64))
    with pytest.raises(NotImplementedError, match="\"nansum_cpu\" not implemented for 'Long'"):
        torch.nansum(x, out=torch.empty((), dtype=torch.int64))
    assert torch.nansum(x[:0], out=torch.ones((), dtype=torch.int64)).item() == 0
    whole = torch.tensor([1, -9])  # integers have no NaN: it is sum
    assert torch.nansum(whole, out=torch.empty((), dtype=torch.int64)).item() == -8
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float, but got long int instead"):
        torch.nansum(whole, dtype=torch.float32, out=torch.empty((), dtype=torch.int64))


def test_a_mean_says_what_its_output_cannot_take():
    with pytest.raises(
        RuntimeError, match=r"mean.dtype_out\(\): input types can't be cast to the desired output type Long"
    ):
        torch.mean(torch.ones(3), out=torch.empty((), dtype=torch.int64))


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


def test_resizing_what_has_no_elements_makes_no_tables():
    x = torch.empty(2, 3, 10**9, device="meta")
    assert torch.nn.functional.interpolate(x, scale_factor=2).shape == (2, 3, 2 * 10**9)
    y = torch.empty(1, 1, 10**6, 10**6, device="meta", requires_grad=True)
    for mode, settings in (("bilinear", {}), ("bicubic", {}), ("nearest-exact", {})):
        assert torch.nn.functional.interpolate(y, scale_factor=2, mode=mode, **settings).shape == (
            1,
            1,
            2 * 10**6,
            2 * 10**6,
        )


def test_a_linear_combination_takes_real_coefficients():
    x = torch.randn(3, 2, 2, dtype=torch.complex64)
    c = torch.randn(4, 3)
    torch.testing.assert_close(torch._compute_linear_combination(x, c), (x * c.view(4, 3, 1, 1)).sum(1))
