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
    text = (
        "torch.histogram: input tensor and hist tensor should have the same dtype, but got input float and hist double"
    )
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
    with pytest.raises(
        NotImplementedError, match="\"multilabel_margin_loss_forward_out_frame\" not implemented for 'Half'"
    ):
        F.multilabel_margin_loss(torch.ones(2, 3).half(), torch.zeros(2, 3).long())


def test_neighbours_of_half_precision_numbers():
    x = torch.tensor([-8.5, 1.0, 0.0, 0.0, 2.0, math.nan])
    y = torch.tensor([0.0, 0.0, 1.0, -1.0, 2.0, 1.0])
    b = torch.nextafter(x.bfloat16(), y.bfloat16())
    assert b.dtype == torch.bfloat16
    np.testing.assert_array_equal(
        b.float().numpy(), np.float32([-8.4375, 0.99609375, 2**-133, -(2.0**-133), 2, math.nan])
    )
    h = torch.nextafter(x.half(), y.half())
    np.testing.assert_array_equal(
        h.float().numpy(), np.float32([-8.4921875, 0.99951171875, 2**-24, -(2.0**-24), 2, math.nan])
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


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda out: torch.quantile(torch.ones(3), 0.5, out=out),
            "a leaf Variable that requires grad is being used in an in-place",
        ),
        (lambda out: torch.fft.irfft(torch.ones(3), out=out), r"^_fft_c2r\(\): functions with out="),
        (lambda out: torch.linalg.det(torch.eye(2), out=out), r"^_linalg_det\(\): functions with out="),
        (lambda out: torch.max(torch.ones(3), torch.ones(3), out=out), r"^maximum\(\): functions with out="),
        (lambda out: torch.diag(torch.ones(2), out=out), r"^aten::diag_embed\(\): functions with out="),
        (lambda out: torch.randn(3, out=out), "cannot resize variables that require grad"),
        (lambda out: torch.frexp(torch.ones(3), out=(out, torch.ones(3).int())), r"^frexp\(\): functions with out="),
    ],
)
def test_outputs_that_want_gradients(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(torch.zeros(3, requires_grad=True))


def test_three_outputs_of_batch_norm():
    x = torch.arange(12.0).reshape(2, 3, 2)
    outs = tuple(torch.zeros(0) for _ in range(3))
    given = torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5, out=outs)
    assert all(a is b for a, b in zip(given, outs, strict=True))
    torch.testing.assert_close(outs[1], torch.tensor([3.5, 5.5, 7.5]))
    torch.testing.assert_close(outs[0], F.batch_norm(x, None, None, training=True))


def test_results_of_frexp_have_their_own_type():
    out = torch.frexp(torch.tensor([8.0]), out=(torch.zeros(1), torch.zeros(1, dtype=torch.int32)))
    assert type(out).__name__ == "frexp_out" and (out.mantissa.item(), out.exponent.item()) == (0.5, 4)
    with pytest.raises(RuntimeError, match="expects mantissa to have dtype float but got double"):
        torch.frexp(torch.ones(1), out=(torch.zeros(1).double(), torch.zeros(1, dtype=torch.int32)))


def test_addbmm_takes_the_shape_of_the_products():
    x = torch.tensor([2.0])
    x.addbmm_(torch.ones(2, 2, 3), torch.ones(2, 3, 2))
    assert x.tolist() == [[8.0, 8.0], [8.0, 8.0]]
    with pytest.raises(RuntimeError, match="self and mat2 must have the same dtype, but got Double and Float"):
        torch.addbmm(torch.zeros(1), torch.ones(2, 2, 3), torch.ones(2, 3, 2), out=torch.zeros(2, 2).double())


def test_strides_of_what_lapack_writes():
    a, tau = torch.geqrf(torch.arange(9.0).reshape(3, 3) + torch.eye(3))
    assert torch.ormqr(a, tau, torch.eye(3)).stride() == (1, 3)
    solved = torch.triangular_solve(torch.ones(3, 2), torch.eye(3))
    assert solved.solution.stride() == (1, 3) and solved.cloned_coefficient.stride() == (1, 3)
    assert torch.linalg.svd(torch.ones(0, 2, 2))[0].stride() == (4, 1, 2)


def test_scatters_keep_the_layout_of_the_tensor():
    x = torch.zeros(4, 8)[:, ::2]
    assert torch.select_scatter(x, torch.ones(4), 0, 1).stride() == (8, 2)
    assert torch.slice_scatter(x, torch.ones(1, 4), 0, 1, 2).tolist() == [[0] * 4, [1] * 4, [0] * 4, [0] * 4]


def test_meta_tensors_where_pytorch_needs_values():
    weight, index = torch.ones(10, 3, device="meta"), torch.tensor([1, 2, 3]).to("meta")
    assert F.embedding_bag(index, weight, torch.tensor([0, 2]).to("meta")).shape == (2, 3)
    for call in (lambda: torch.cov(weight), lambda: torch.combinations(index), lambda: weight.to_sparse()):
        with pytest.raises(NotImplementedError, match="attempted to run this operator with Meta tensors"):
            call()


def test_references_of_layers_write_to_outputs():
    import shim_torch._refs.nn.functional as references

    x, out = torch.tensor([-1.0, 2.0]), torch.zeros(2)
    assert references.relu6(x, out=out) is out and out.tolist() == [0.0, 2.0]
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        references.elu(x, out=torch.zeros(3))


KTH_PLACES = [
    0, 14, 7, 45, 52, 33, 26, 21, 40, 47, 28, 59, 2, 9, 35, 61, 23, 54, 4, 42, 16, 30, 37, 49, 56, 63, 18, 11, 51, 6, 58, 44,
    13, 25, 32, 27, 8, 1, 53, 46, 39, 20, 3, 48, 60, 22, 34, 15, 41, 17, 55, 29, 62, 10, 43, 36, 5, 38, 12, 50, 31, 24, 57, 19,
]  # fmt: skip


def test_selections_choose_among_equal_values():
    x = torch.tensor([3, 1, 2, 1, 3, 1, 2, 2])
    assert [torch.kthvalue(x, k).indices.item() for k in range(1, 9)] == [3, 5, 1, 6, 7, 2, 4, 0]
    longer = (torch.arange(64) * 37 % 64) // 7
    assert [torch.kthvalue(longer, k).indices.item() for k in range(1, 65)] == KTH_PLACES
    assert torch.topk(x, 3).values.tolist() == [3, 3, 2] and torch.topk(x, 3, largest=False).values.tolist() == [
        1,
        1,
        1,
    ]
    assert torch.special.airy_ai(torch.ones(4, 3).T).stride() == (1, 3)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: F.prelu(x, torch.ones(1)), RuntimeError, "Type promoting not supported. Got Long and Float"),
        (
            lambda x: F.group_norm(x, 1, torch.ones(3)),
            RuntimeError,
            "mixed dtype .CPU.: all inputs must share same datatype",
        ),
        (
            lambda x: F.interpolate(x, size=(3, 3), mode="bilinear"),
            NotImplementedError,
            "upsample_bilinear2d_channels_last",
        ),
        (lambda x: F.interpolate(x, size=(3, 3), mode="bicubic"), NotImplementedError, "compute_indices_weights_cubic"),
        (lambda x: F.triplet_margin_loss(x[0], x, x), RuntimeError, "anchor 3D, positive 4D, and negative 4D inputs"),
        (lambda x: F.hinge_embedding_loss(x.bool(), x.bool()), RuntimeError, "with two bool tensors is not supported"),
        (lambda x: torch.signal.windows.blackman(-1), ValueError, "blackman requires non-negative window length"),
        (lambda x: torch.signal.windows.general_cosine(3, a=None), TypeError, "Coefficients must be a list/tuple"),
    ],
)
def test_dtypes_that_layers_refuse(call, error, text):
    with pytest.raises(error, match=text):
        call(torch.ones(1, 3, 4, 4, dtype=torch.int64))


def test_hinge_losses_are_of_the_dtype_of_the_input():
    loss = F.hinge_embedding_loss(torch.tensor([1, 5]), torch.tensor([-1, 1]), margin=8.4, reduction="none")
    assert loss.dtype is torch.int64 and loss.tolist() == [7, 5]


def test_bounds_of_rrelu_are_checked_where_nothing_is_drawn_too():
    with pytest.raises(RuntimeError, match="Lower bound should be less than or equal to the upper bound"):
        F.rrelu(torch.ones(2), lower=0.3, upper=0.1)


def test_what_kl_div_says_of_its_mean():
    with pytest.warns(
        UserWarning, match=r"the support size\.'batchmean' divides .* math definition\.'mean' will be changed"
    ):
        F.kl_div(torch.zeros(2), torch.ones(2))


@pytest.mark.parametrize(("norm", "text"), [(F.rms_norm, r"shape \[\*2, 2\]"), (F.layer_norm, r"shape \[\*, 2, 2\]")])
def test_shapes_that_norms_want(norm, text):
    with pytest.raises(
        RuntimeError,
        match=rf"Given normalized_shape=\[2, 2\], expected input with {text}, but got input of size\[2, 2, 3\]",
    ):
        norm(torch.ones(2, 2, 3), (2, 2))
