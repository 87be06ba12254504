"""FlashInfer's wheel over our torch without a GPU: its modules import, and its Triton kernels run in the interpreter.

``pip install --no-deps flashinfer-python==0.7.2`` and what it imports; skipped without.
"""

from __future__ import annotations

import importlib.util

import pytest

import shim_torch as torch
from compat import disable_torch_proxy, enable_torch_proxy

if any(importlib.util.find_spec(name) is None for name in ("flashinfer", "triton", "pynvml", "cutlass")):
    pytest.skip("flashinfer-python is not installed", allow_module_level=True)
if torch.cuda.is_available():
    pytest.skip("small shapes for Triton's interpreter", allow_module_level=True)

_token = enable_torch_proxy({"flashinfer"})
F = torch.nn.functional


@pytest.fixture(scope="module", autouse=True)
def proxy():
    yield
    disable_torch_proxy(_token)


@pytest.fixture(autouse=True)
def draws():
    torch.manual_seed(0)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_norms(dtype):
    from flashinfer.triton.norm import rms_norm, rms_norm_add_residual

    x, residual, w = (torch.randn(*s).to(getattr(torch, dtype)) for s in ((5, 32), (5, 32), (32,)))
    out = torch.empty_like(x)
    rms_norm(x, w, out, 1e-5)
    torch.testing.assert_close(out, F.rms_norm(x.float(), (32,), w.float(), 1e-5).to(x.dtype))
    total = x.float() + residual.float()
    rms_norm_add_residual(x, residual, w, 1e-5)
    torch.testing.assert_close(residual, total.to(x.dtype))
    torch.testing.assert_close(x, F.rms_norm(total, (32,), w.float(), 1e-5).to(x.dtype))


def test_silu_and_mul():
    from flashinfer.triton.activation import silu_and_mul

    x = torch.randn(4, 64)
    torch.testing.assert_close(silu_and_mul(x), F.silu(x[:, :32]) * x[:, 32:])


def attention(q, k, v):
    """Its output and the logarithm (to base 2) of its denominators, as FlashInfer keeps them."""
    scores = torch.einsum("nhd,mhd->nhm", q, k) / q.shape[-1] ** 0.5
    out = torch.einsum("nhm,mhd->nhd", scores.softmax(-1), v)
    return out.contiguous(), scores.logsumexp(-1) / torch.tensor(2.0).log()


def test_states_of_attention_are_merged(monkeypatch):
    from flashinfer.triton import cascade

    for name in ("check_device", "check_input"):  # they ask for a Hopper GPU
        monkeypatch.setattr(cascade, name, lambda *a, **k: None)
    q, k, v = torch.randn(3, 2, 16), torch.randn(9, 2, 16), torch.randn(9, 2, 16)
    whole, denominators = attention(q, k, v)
    first, second = attention(q, k[:4], v[:4]), attention(q, k[4:], v[4:])
    got = cascade.merge_state(*first, *second)
    torch.testing.assert_close(got[0], whole)
    torch.testing.assert_close(got[1], denominators)
    got = cascade.merge_states(torch.stack([first[0], second[0]], 1), torch.stack([first[1], second[1]], 1))
    torch.testing.assert_close(got[0], whole)
    torch.testing.assert_close(got[1], denominators)


def test_wrappers_say_that_they_want_a_gpu():
    import flashinfer

    with pytest.raises((RuntimeError, AssertionError, ValueError), match="(?i)cuda|nvidia|gpu|nvcc"):
        flashinfer.norm.rmsnorm(torch.randn(2, 8), torch.ones(8))
