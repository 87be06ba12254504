"""Fake quantization: with given and with learned scales, masks, and what is refused."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    return {
        "torch": torch,
        "aten": torch.ops.aten,
        "x": pattern(torch, 3, 4, seed=1).requires_grad_(),
        "g": pattern(torch, 3, 4, seed=2),
        "edges": torch.tensor([float("nan"), float("inf"), -float("inf"), 0.05, 0.15]),
        "scales": torch.tensor([0.1, 0.25, 0.5]),
        "zeros": torch.tensor([0, 3, -2], dtype=torch.int32),
        "s": torch.tensor([0.15]).requires_grad_(),
        "z": torch.tensor([2.2]).requires_grad_(),
        "sc": torch.tensor([0.1, 0.25, 0.5]).requires_grad_(),
        "zc": torch.tensor([0.4, 3.0, -2.7]).requires_grad_(),
        "i32": torch.int32,
        "on": torch.ones(1, dtype=torch.int64),
        "off": torch.zeros(1, dtype=torch.int64),
    }


CASES = """
torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -8, 7)
torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.1), torch.tensor(3, dtype=i32), -8, 7)
torch.fake_quantize_per_tensor_affine(x.double(), 0.1, 3, -8, 7)
torch.fake_quantize_per_tensor_affine(edges[2:], 0.1, 0, -8, 7)
torch.fake_quantize_per_tensor_affine(x[:0], 0.1, 0, -8, 7)
torch.fake_quantize_per_tensor_affine(x, 0.1, 9, -8, 7)
torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 7, -8)
aten.fake_quantize_per_tensor_affine_cachemask(x, 0.1, 3, -8, 7)
aten.fake_quantize_per_tensor_affine_cachemask_backward(g, g > 0)
aten.fake_quantize_per_tensor_affine_cachemask_backward(g, g)
aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, s.detach(), zeros[1:2], on, -8, 7)
aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, s.detach(), zeros[1:2], off, -8, 7)
torch.fake_quantize_per_channel_affine(x, scales, zeros, 0, -8, 7)
torch.fake_quantize_per_channel_affine(x.t(), scales, zeros, 1, -8, 7)
aten.fake_quantize_per_channel_affine_cachemask(x, scales, zeros, 0, -8, 7)
aten.fake_quantize_per_channel_affine_cachemask_backward(g, g > 0)
torch.fake_quantize_per_channel_affine(x, scales[None], zeros, 0, -8, 7)
torch.fake_quantize_per_channel_affine(x, scales, zeros[None], 0, -8, 7)
torch.fake_quantize_per_channel_affine(x, scales, zeros[:2], 0, -8, 7)
torch.fake_quantize_per_channel_affine(x, scales, zeros, 1, -8, 7)
torch._fake_quantize_learnable_per_tensor_affine(x, s, z, -8, 7, 1.0)
torch._fake_quantize_learnable_per_tensor_affine(x, s, z, 0, 15, 0.25)
torch._fake_quantize_learnable_per_channel_affine(x, sc, zc, 0, -8, 7, 0.5)
torch._fake_quantize_learnable_per_channel_affine(x.t(), sc, zc, 1, -8, 7, 1.0)
""".strip().splitlines()
