"""What out= computes in, what has no gradient or no kernel, and functions near the edges of their numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.autograd import forward_ad

F = torch.nn.functional


def test_sums_are_added_up_in_the_dtype_of_out():
    x = torch.tensor([1.7, 1.7])
    assert torch.cumsum(x, 0, out=torch.zeros(2, dtype=torch.int64)).tolist() == [1, 2]
    assert torch.sum(x, 0, out=torch.zeros((), dtype=torch.int64)).item() == 2
    low = torch.full((9,), 1.0078125, dtype=torch.bfloat16)
    wide = torch.cumprod(low, 0, out=torch.zeros(9))
    np.testing.assert_allclose(wide.numpy(), 1.0078125 ** np.arange(1, 10), rtol=1e-6)


def test_absolute_values_of_complex_numbers():
    c = torch.tensor([3 + 4j])
    assert torch.abs(c, out=torch.zeros(1, dtype=torch.float64)).tolist() == [5.0]
    assert torch.abs(c, out=torch.zeros(1, dtype=torch.complex64)).tolist() == [5 + 0j]
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        torch.abs(c, out=torch.zeros(1, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="In-place abs is not supported for complex tensors."):
        c.abs_()


def test_histogram_counts_into_its_own_dtype():
    outs = (torch.zeros(3, dtype=torch.float64), torch.zeros(4))
    text = "torch.histogram: input tensor and hist tensor should have the same dtype, but got input float and hist double"
    with pytest.raises(RuntimeError, match=text):
        torch.histogram(torch.ones(3), 3, out=outs)


def test_what_has_no_derivative_writes_into_any_out():
    out = torch.zeros(2).requires_grad_()
    torch.special.bessel_j0(torch.tensor([0.0, 1.0]), out=out)
    np.testing.assert_allclose(out.detach().numpy(), [1.0, 0.76519769], rtol=1e-6)
    with pytest.raises(RuntimeError, match=r"sin\(\): functions with out=... arguments don't support"):
        torch.sin(torch.ones(2), out=out)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("embedding", lambda w: F.embedding(torch.tensor([0]), w)),
        ("silu", F.silu),
        ("select_scatter", lambda x: torch.select_scatter(x, torch.ones(2), 0, 0)),
        ("scatter_reduce", lambda x: x.scatter_reduce(0, torch.zeros(1, 2).long(), x.detach(), "sum")),
        ("soft_margin_loss", lambda x: F.soft_margin_loss(x, torch.ones(2, 2))),
    ],
)
def test_no_gradient_for_complex_numbers(name, call):
    x = torch.ones(2, 2, dtype=torch.complex64)
    call(x)
    text = f"{name} does not support automatic differentiation for outputs with complex dtype."
    with pytest.raises(RuntimeError, match=text):
        call(x.requires_grad_())


def test_kernels_that_low_precision_does_not_have():
    with pytest.raises(NotImplementedError, match="\"i1_backward\" not implemented for 'BFloat16'"):
        torch.special.i1(torch.ones(2).bfloat16().requires_grad_()).sum().backward()
    with pytest.raises(NotImplementedError, match="\"multilabel_margin_loss_forward_out_frame\" not implemented for 'Half'"):
        F.multilabel_margin_loss(torch.ones(2, 3).half(), torch.zeros(2, 3).long())


def test_neighbours_of_half_precision_numbers():
    x = torch.tensor([-8.5, 1.0, 0.0, 0.0, 2.0, math.nan])
    y = torch.tensor([0.0, 0.0, 1.0, -1.0, 2.0, 1.0])
    b = torch.nextafter(x.bfloat16(), y.bfloat16())
    assert b.dtype == torch.bfloat16
    np.testing.assert_array_equal(b.float().numpy(), np.float32([-8.4375, 0.99609375, 2**-133, -(2.0**-133), 2, math.nan]))
    h = torch.nextafter(x.half(), y.half())
    np.testing.assert_array_equal(h.float().numpy(), np.float32([-8.4921875, 0.99951171875, 2**-24, -(2.0**-24), 2, math.nan]))


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


def test_tangents_of_running_log_sums():
    x = torch.tensor([1.0, 2.0, 3.0])
    with forward_ad.dual_level():
        y = torch.logcumsumexp(forward_ad.make_dual(x, torch.tensor([1.0, 0.5, -1.0])), 0)
        np.testing.assert_allclose(forward_ad.unpack_dual(y).tangent.numpy(), [1.0, 0.6345, -0.4528], atol=1e-4)
    assert torch.autograd.gradgradcheck(lambda t: torch.logcumsumexp(t, 0), x.double().requires_grad_())


def test_statistics_of_half_precision_layers():
    x = torch.ones(2, 3).bfloat16()
    assert [t.dtype for t in torch.native_layer_norm(x, [3], None, None, 1e-5)] == [torch.bfloat16] * 3
    mixed = torch.native_layer_norm(x, [3], torch.ones(3), None, 1e-5)
    assert [t.dtype for t in mixed] == [torch.bfloat16, torch.float32, torch.float32]


def test_small_corners():
    nothing = torch.zeros(0)
    assert F.batch_norm(nothing, nothing, nothing, training=True).shape == (0,)
    assert F.threshold(torch.tensor([1, 200], dtype=torch.uint8), 5, -9).tolist() == [247, 200]
