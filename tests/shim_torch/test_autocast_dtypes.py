"""Dtypes of results under autocast on the CPU, as PyTorch 2.13 gives them: of float32 inputs, and of bfloat16 ones."""

from __future__ import annotations

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F

L, nn = torch.linalg, torch.nn
CLASSES = torch.tensor([0, 1, 2])
EVEN = 2 * torch.eye(3)
IMAGE = torch.ones(1, 2, 4, 4)
CPU_ALONE = "float32", "float32"  # raised on the CPU
NEITHER = "float32", "bfloat16"  # left as they are
LOWERED = "bfloat16", "bfloat16"

CASES = {
    "binary_cross_entropy_with_logits": (lambda x: F.binary_cross_entropy_with_logits(x, x), CPU_ALONE),
    "multilabel_margin_loss": (lambda x: F.multilabel_margin_loss(x, CLASSES.expand(3, 3)), CPU_ALONE),
    "ctc_loss": (lambda x: F.ctc_loss(x[:, None].log_softmax(-1), torch.tensor([[1]]), [3], [1]), CPU_ALONE),
    "svd": (lambda x: L.svd(x)[1], CPU_ALONE),
    "qr": (lambda x: L.qr(x)[0], CPU_ALONE),
    "solve": (lambda x: L.solve(EVEN.to(x.dtype), x), CPU_ALONE),
    "eigh": (lambda x: L.eigh(x)[0], CPU_ALONE),
    "cholesky": (lambda x: L.cholesky(EVEN.to(x.dtype)), CPU_ALONE),
    "lstsq": (lambda x: L.lstsq(EVEN.to(x.dtype), x)[0], CPU_ALONE),
    "quantile": (lambda x: x.quantile(0.5), CPU_ALONE),
    "trace": (lambda x: x.trace(), CPU_ALONE),
    "grid_sample": (
        lambda x: F.grid_sample(IMAGE.to(x.dtype), torch.zeros(1, 2, 2, 2, dtype=x.dtype), align_corners=False),
        CPU_ALONE,
    ),
    "max_unpool2d": (lambda x: F.max_unpool2d(x[None, None], torch.arange(9).view(1, 1, 3, 3), 1), CPU_ALONE),
    "avg_pool3d": (lambda x: F.avg_pool3d(x[None, None], (1, 3, 3)), CPU_ALONE),
    "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x[None, None], 1), CPU_ALONE),
    "max_pool3d": (lambda x: F.max_pool3d(x[None, None], (1, 3, 3)), CPU_ALONE),
    "adaptive_max_pool3d": (lambda x: F.adaptive_max_pool3d(x[None, None], 1), CPU_ALONE),
    "pad reflect": (lambda x: F.pad(x, (1, 1), mode="reflect"), CPU_ALONE),
    "pad replicate": (lambda x: F.pad(x, (1, 1), mode="replicate"), CPU_ALONE),
    "pad circular": (lambda x: F.pad(x, (1, 1), mode="circular"), NEITHER),
    "fft": (lambda x: torch.fft.fft(x), ("complex64", "complex64")),
    "irfft2": (lambda x: torch.fft.irfft2(x), CPU_ALONE),
    "matrix_power -1": (lambda x: L.matrix_power(x + EVEN.to(x.dtype), -1), CPU_ALONE),
    "pinverse": (lambda x: x.pinverse(), CPU_ALONE),
    "bilinear": (lambda x: F.bilinear(x.float(), x.float(), x.float()[None]).to(x.dtype), NEITHER),
    "matrix_exp": (lambda x: torch.matrix_exp(x), NEITHER),
    "tensordot of all dims": (lambda x: torch.tensordot(x, x, 2), NEITHER),
    "tensordot": (lambda x: torch.tensordot(x, x, 1), LOWERED),
    "mv": (lambda x: x.mv(x[0]), NEITHER),
    "addmv": (lambda x: torch.addmv(x[0], x, x[0]), NEITHER),
    "addr": (lambda x: torch.addr(x, x[0], x[0]), NEITHER),
    "renorm": (lambda x: x.renorm(2, 0, 1), NEITHER),
    "dot": (lambda x: x[0].dot(x[0]), NEITHER),
    "addcmul": (lambda x: torch.addcmul(x, x, x), NEITHER),
    "atan2": (lambda x: torch.atan2(x, x), NEITHER),
    "mm": (lambda x: x @ x, LOWERED),
    "lstm": (lambda x: nn.LSTM(3, 2)(x)[0], LOWERED),
    "rnn": (lambda x: nn.RNN(3, 2)(x)[0], LOWERED),
    "gru": (lambda x: nn.GRU(3, 2)(x)[0], NEITHER),
}


@pytest.mark.parametrize("name", CASES)
def test_dtypes_under_autocast(name):
    run, expected = CASES[name]
    x = torch.arange(1.0, 10.0).reshape(3, 3) / 10
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = tuple(str(run(t).dtype).removeprefix("torch.") for t in (x, x.bfloat16()))
    assert found == expected


@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float16))
@pytest.mark.parametrize("hermitian", (False, True))
def test_a_pseudo_inverse_is_a_product_of_the_lower_dtype(dtype, hermitian):
    x = (torch.arange(9.0).reshape(3, 3) + EVEN * 3).requires_grad_()
    x = x + x.mT if hermitian else x
    with torch.autocast("cpu", dtype=dtype):
        found = L.pinv(x, hermitian=hermitian)
        assert L.pinv(x.double()).dtype == torch.float64
        with pytest.raises(RuntimeError, match="expected a tensor with 2 or more dimensions of float"):
            L.pinv(x.to(dtype))
    assert found.dtype == dtype and found.grad_fn.name() == "LinalgPinvBackward0"
    torch.testing.assert_close(found.float(), L.pinv(x, hermitian=hermitian), atol=1e-2, rtol=1e-2)
    assert torch.autograd.grad(found.sum(), x)[0].dtype == torch.float32


OTHER = {
    "bilinear": lambda x: F.bilinear(x, x, x[None]),
    "cross": lambda x: torch.cross(x, x, 1),
    "block_diag": lambda x: torch.block_diag(x, x),
    "tensordot": lambda x: torch.tensordot(x, x, 2),
}


@pytest.mark.parametrize("name", OTHER)
def test_what_autocast_leaves_alone_is_not_cast_by_its_parts(name):
    """Neither of float32 nor of the low dtype that is not autocast's."""
    with torch.autocast("cpu", dtype=torch.float16):
        for dtype in (torch.float32, torch.float64, *([] if name == "bilinear" else [torch.bfloat16])):
            assert OTHER[name](torch.ones(3, 3, dtype=dtype)).dtype == dtype


@pytest.mark.parametrize("order", ("nuc", 2, -2))
def test_matrix_norms_of_singular_values_refuse_low_dtypes(order):
    with (
        torch.autocast("cpu", dtype=torch.bfloat16),
        pytest.raises(RuntimeError, match=r"linalg\.matrix_norm: Low precision dtypes not supported\. Got BFloat16"),
    ):
        L.matrix_norm(torch.ones(2, 3).bfloat16(), order)


@pytest.mark.parametrize("run", (lambda x, h: torch.addcmul(x, h, h), lambda x, h: torch.atan2(x, h)))
def test_two_low_dtypes_promote_as_without_autocast(run):
    with torch.autocast("cpu", dtype=torch.float16):
        assert run(torch.ones(2).half(), torch.ones(2).bfloat16()).dtype == torch.float32


def test_an_lstm_is_near_the_one_of_float32():
    torch.manual_seed(0)
    layer, x = nn.LSTM(3, 4), torch.randn(5, 2, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = layer(x)[0]
    torch.testing.assert_close(out.float(), layer(x)[0], atol=2e-2, rtol=2e-2)


def test_kernels_do_not_cast_what_they_compute_with():
    """Sums of scores are float32, as without autocast, and so they are in a compiled function, which runs the kernel later."""
    x = torch.randn(1, 2, 3, 4).bfloat16()
    attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    out, sums = attention(x, x, x)
    assert sums.dtype == torch.float32
    with torch.autocast("cpu", torch.bfloat16):
        assert all(map(torch.equal, attention(x, x, x), (out, sums)))

    @torch.compile
    def f(x):
        with torch.autocast("cpu", torch.bfloat16):
            y = F.scaled_dot_product_attention(x, x, x)
        y.float().sum().backward()
        return y

    for _ in range(3):
        x.requires_grad_().grad = None
        assert torch.equal(f(x), out) and x.grad.dtype == torch.bfloat16
