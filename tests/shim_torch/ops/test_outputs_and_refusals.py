"""What out= computes in, what has no gradient or no kernel, and functions near the edges of their numbers."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch

F = torch.nn.functional


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


def test_strides_of_what_lapack_writes():
    a, tau = torch.geqrf(torch.arange(9.0).reshape(3, 3) + torch.eye(3))
    assert torch.ormqr(a, tau, torch.eye(3)).stride() == (1, 3)
    solved = torch.triangular_solve(torch.ones(3, 2), torch.eye(3))
    assert solved.solution.stride() == (1, 3) and solved.cloned_coefficient.stride() == (1, 3)
    assert torch.linalg.svd(torch.ones(0, 2, 2))[0].stride() == (4, 1, 2)


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
