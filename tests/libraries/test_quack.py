"""quack's wheel over our torch without a GPU: its operators, their fake kernels, the functions it tests itself against.

``pip install --no-deps quack-kernels==0.6.5`` and the CuTe DSL (``nvidia-cutlass-dsl``); skipped without.
"""

from __future__ import annotations

import importlib.util

import pytest

import shim_torch as torch
from compat import disable_torch_proxy, enable_torch_proxy

if any(importlib.util.find_spec(name) is None for name in ("quack", "cutlass", "tvm_ffi")):
    pytest.skip("quack-kernels is not installed", allow_module_level=True)

_token = enable_torch_proxy({"quack"})
F = torch.nn.functional


@pytest.fixture(scope="module", autouse=True)
def proxy():
    yield
    disable_torch_proxy(_token)


def test_operators_and_fake_kernels():
    import quack.cross_entropy
    import quack.gemm_interface
    import quack.rmsnorm  # noqa: F401

    from shim_torch._subclasses.fake_tensor import FakeTensorMode

    names = {"gemm", "gemm_out", "gemm_add", "cross_entropy_fwd_out", "rmsnorm_bwd_f"}
    assert names <= set(dir(torch.ops.quack))
    assert "mutates" not in str(torch.ops.quack.gemm.default._schema)
    with FakeTensorMode():
        a, b = (torch.empty(2, 8, 8, dtype=torch.bfloat16, device="cuda") for _ in range(2))
        out = torch.ops.quack.gemm(a, b)
    assert (out.shape, out.dtype, out.device.type) == ((2, 8, 8), torch.bfloat16, "cuda")
    with pytest.raises((NotImplementedError, RuntimeError)):
        torch.ops.quack.gemm(torch.ones(8, 8), torch.ones(8, 8))  # it has kernels for CUDA alone


@pytest.mark.parametrize("activation", [None, "relu", "gelu_tanh_approx", "swiglu"])
def test_products_with_activations(activation):
    from quack.gemm_interface import gemm_act_ref

    torch.manual_seed(0)
    a, b = torch.randn(5, 8), torch.randn(8, 6)
    before, after = gemm_act_ref(a, b, activation=activation)
    torch.testing.assert_close(before, a @ b)
    gate, up = (a @ b)[:, ::2], (a @ b)[:, 1::2]
    wanted = {
        None: a @ b,
        "relu": (a @ b).relu(),
        "gelu_tanh_approx": F.gelu(a @ b, approximate="tanh"),
        "swiglu": F.silu(gate) * up,
    }
    torch.testing.assert_close(after, wanted[activation])


def test_norms():
    from quack.rmsnorm import layernorm_ref, rmsnorm_ref

    torch.manual_seed(0)
    x, w = torch.randn(3, 16), torch.randn(16)
    torch.testing.assert_close(rmsnorm_ref(x, w), F.rms_norm(x, (16,), w, 1e-6))
    torch.testing.assert_close(layernorm_ref(x, w), F.layer_norm(x, (16,), w, None, 1e-6))
