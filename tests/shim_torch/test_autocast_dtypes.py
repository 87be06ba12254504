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
