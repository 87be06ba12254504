"""fla-core's operators over our torch, in Triton's interpreter, beside their recurrences written with plain operators.

``pip install fla-core==0.6.0 einops``; skipped without.
"""

from __future__ import annotations

import importlib.util

import pytest

import shim_torch as torch
from compat import disable_torch_proxy, enable_torch_proxy

if any(importlib.util.find_spec(name) is None for name in ("fla", "triton", "einops")):
    pytest.skip("fla-core is not installed", allow_module_level=True)
if torch.cuda.is_available():
    pytest.skip("small shapes for Triton's interpreter", allow_module_level=True)

_token = enable_torch_proxy({"fla"})
F = torch.nn.functional


@pytest.fixture(scope="module", autouse=True)
def proxy():
    yield
    disable_torch_proxy(_token)


def tensors(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(shape).requires_grad_() for shape in shapes]


def agree(call, recurrence, inputs: list[torch.Tensor], tolerance: float = 2e-4) -> None:
    """Outputs and the gradients of all inputs."""
    outcomes = []
    for function in (call, recurrence):
        out = function(*inputs)
        weights = torch.linspace(-1, 1, out.numel()).reshape(out.shape)
        outcomes.append((out, *torch.autograd.grad((out * weights).sum(), inputs)))
    for ours, exact in zip(*outcomes):
        torch.testing.assert_close(ours, exact, rtol=tolerance, atol=tolerance)


def linear_attention(q, k, v, decay=None):
    """S = exp(decay) S + k v^T, o = S^T q / sqrt(d): [batch, time, heads, width]."""
    state = torch.zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3])
    out = []
    for t in range(q.shape[1]):
        if decay is not None:
            state = state * decay[:, t].exp()[..., None]
        state = state + k[:, t, :, :, None] * v[:, t, :, None, :]
        out.append((q[:, t, :, :, None] * state).sum(-2) * q.shape[-1] ** -0.5)
    return torch.stack(out, 1)


SHAPE = (1, 19, 2, 16)


def test_recurrent_gated_linear_attention():
    from fla.ops.gla import fused_recurrent_gla

    inputs = tensors(SHAPE, SHAPE, SHAPE, SHAPE)
    agree(
        lambda q, k, v, g: fused_recurrent_gla(q, k, v, F.logsigmoid(g))[0],
        lambda q, k, v, g: linear_attention(q, k, v, F.logsigmoid(g)),
        inputs,
    )


def test_chunked_gated_linear_attention():
    from fla.ops.gla import chunk_gla

    inputs = tensors(SHAPE, SHAPE, SHAPE, SHAPE)
    agree(
        lambda q, k, v, g: chunk_gla(q, k, v, F.logsigmoid(g))[0],
        lambda q, k, v, g: linear_attention(q, k, v, F.logsigmoid(g)),
        inputs,
        2e-3,
    )


def test_simple_gated_linear_attention():
    from fla.ops.simple_gla import fused_recurrent_simple_gla

    inputs = tensors(SHAPE, SHAPE, SHAPE, SHAPE[:3])
    agree(
        lambda q, k, v, g: fused_recurrent_simple_gla(q, k, v, F.logsigmoid(g))[0],
        lambda q, k, v, g: linear_attention(q, k, v, F.logsigmoid(g)[..., None]),
        inputs,
    )


def test_delta_rule():
    from fla.ops.delta_rule import fused_recurrent_delta_rule

    def rule(q, k, v, beta):
        state = torch.zeros(1, 2, 16, 16)
        out = []
        for t in range(q.shape[1]):
            key = k[:, t, :, :, None]
            change = (v[:, t] - (key * state).sum(-2)) * beta[:, t, :, None]
            state = state + key * change[..., None, :]
            out.append((q[:, t, :, :, None] * state).sum(-2) * 16**-0.5)
        return torch.stack(out, 1)

    inputs = tensors(SHAPE, SHAPE, SHAPE, SHAPE[:3])
    agree(
        lambda q, k, v, b: fused_recurrent_delta_rule(q, F.normalize(k, dim=-1), v, b.sigmoid())[0],
        lambda q, k, v, b: rule(q, F.normalize(k, dim=-1), v, b.sigmoid()),
        inputs,
    )


def test_modules():
    from fla.modules import RMSNorm, RotaryEmbedding
    from fla.modules.l2norm import l2norm

    (x,) = tensors((3, 5, 32))
    norm = RMSNorm(32)
    agree(norm, lambda x: F.rms_norm(x, (32,), eps=norm.eps), [x])
    agree(l2norm, lambda x: x * (x.square().sum(-1, keepdim=True) + 1e-6).rsqrt(), [x])
    q, k = tensors((2, 5, 2, 16), (2, 5, 2, 16))
    turned = RotaryEmbedding(16)(q, k)
    torch.testing.assert_close(turned[0].norm(dim=-1), q.norm(dim=-1))
    torch.testing.assert_close(turned[0][:, 0], q[:, 0])
