"""Stock conch-triton-kernels on the GPU against plain operators."""

import pytest

import shim_torch as torch

if torch.cuda.is_available():
    pytest.importorskip("conch")


def test_rms_norm_and_fused_add():
    from conch.ops.normalization.rms_norm import fused_add_rms_norm, rms_norm

    x = torch.randn(64, 1024, device="cuda", dtype=torch.float16)
    w = torch.randn(1024, device="cuda", dtype=torch.float16)

    def exact(v):
        v = v.double().cpu()
        return v * torch.rsqrt((v * v).mean(-1, keepdim=True) + 1e-6) * w.double().cpu()

    out = rms_norm(x, w, 1e-6)
    torch.testing.assert_close(out.cpu().double(), exact(x), rtol=5e-3, atol=5e-3)
    residual = torch.randn_like(x)
    total = (x.double() + residual.double()).half()
    normed, added = fused_add_rms_norm(x.clone(), residual.clone(), w, 1e-6)
    torch.testing.assert_close(added, total)
    torch.testing.assert_close(normed.cpu().double(), exact(total), rtol=5e-3, atol=5e-3)


def test_silu_and_mul():
    from conch.ops.activation.silu_and_mul import silu_and_mul

    x = torch.randn(64, 2048, device="cuda", dtype=torch.bfloat16)
    a, b = x.double().cpu().chunk(2, -1)
    out = silu_and_mul(x)
    torch.testing.assert_close(out.cpu().double(), a * torch.sigmoid(a) * b, rtol=2e-2, atol=2e-2)


def test_int8_quantisation():
    from conch.ops.quantization.int8 import scaled_int8_quant

    x = torch.randn(32, 512, device="cuda", dtype=torch.float16)
    scale = torch.tensor([0.05], device="cuda", dtype=torch.float32)
    got = scaled_int8_quant(x, scale)
    got = got[0] if isinstance(got, tuple) else got
    want = (x.double() / 0.05).round().clamp(-128, 127)
    assert (got.double() - want.to(got.device)).abs().max().item() <= 1
