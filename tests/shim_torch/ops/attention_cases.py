"""Attention by its kernels' names, other names of losses, in-place activations, low-rank decompositions."""

from .expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    shapes = {"q": (2, 4, 5, 8), "k": (2, 4, 7, 8), "v": (2, 4, 7, 8), "g": (2, 4, 5, 8)}
    made = {n: pattern(torch, *s, seed=i + 1).requires_grad_() for i, (n, s) in enumerate(shapes.items())}
    x, y = pattern(torch, 3, 4, seed=9).requires_grad_(), pattern(torch, 3, 4, seed=10).requires_grad_()
    bias = pattern(torch, 5, 7, seed=11)
    low = pattern(torch, 8, 2, seed=12) @ pattern(torch, 2, 5, seed=13)
    return {**made, "torch": torch, "F": torch.nn.functional, "aten": torch.ops.aten, "nn": torch.nn, "x": x, "y": y,
            "bias": bias, "low": low, "one": torch.ones(3), "keep": lambda r: r[:2],
            "z": lambda *t: [u.detach() for u in t]}  # fmt: skip


CASES = """
torch._scaled_dot_product_attention_math(q, k, v)
torch._scaled_dot_product_attention_math(q, k, v, bias, 0.0, False, None, scale=0.5)
torch._scaled_dot_product_attention_math(q, k, v, is_causal=True)
torch._scaled_dot_product_attention_math(q, k[:, :2], v[:, :2], enable_gqa=True)
torch._scaled_dot_product_flash_attention_for_cpu(*z(q, k, v))
torch._scaled_dot_product_flash_attention_for_cpu(*z(q, k, v), 0.0, True)
torch._scaled_dot_product_flash_attention_for_cpu(*z(q, k, v), attn_mask=bias, scale=0.3)
aten._scaled_dot_product_flash_attention_for_cpu_backward(*z(g, q, k, v), *torch._scaled_dot_product_flash_attention_for_cpu(*z(q, k, v), 0.0, True), 0.0, True)
aten._scaled_dot_product_flash_attention_for_cpu_backward(*z(g, q, k, v), *torch._scaled_dot_product_flash_attention_for_cpu(*z(q, k, v), scale=0.3), 0.0, False, scale=0.3)
torch._fused_rms_norm(x, [4], y[0], 1e-5)
torch._weight_int8pack_mm(torch.ones(2, 64).bfloat16(), (torch.arange(32 * 64) % 7 - 3).reshape(32, 64).to(torch.int8), torch.arange(32).bfloat16())
torch.hinge_embedding_loss(x, y.sign().detach(), 1.0, 2)
torch.margin_ranking_loss(x, y, torch.ones(3, 4), 0.1, 1)
torch.cosine_embedding_loss(x, y, one, 0.0, 1)
torch.triplet_margin_loss(x, y, x + 1, 1.0, 2.0, 1e-6, False, 1)
torch.kl_div(x.log_softmax(1), y.softmax(1).detach())
torch.poisson_nll_loss(x, y.abs().detach(), True, False, 1e-8, 1)
torch.binary_cross_entropy_with_logits(x, y.sigmoid().detach())
torch.bilinear(x, y[:, :2], torch.ones(5, 4, 2), None)
torch.get_device(x)
F.relu_(x.detach().clone())
F.elu_(x.detach().clone(), 0.5)
F.selu_(x.detach().clone())
F.celu_(x.detach().clone(), 0.5)
F.leaky_relu_(x.detach().clone(), 0.2)
F.hardtanh_(x.detach().clone())
F.threshold_(x.detach().clone(), 0.1, 7.0)
F.rrelu_(x.detach().clone())
torch.svd_lowrank(low, 2)[1]
(lambda u, s, v: u @ s.diag() @ v.mT)(*torch.svd_lowrank(low, 3))
torch.pca_lowrank(low, 2)[1]
torch.pca_lowrank(low, 20)
torch.lu(x.detach()[:, :3])
torch.lu(x.detach()[:, :3], get_infos=True)
x.detach().lu()
x.to_dense()
torch.dequantize(x.detach().half())
F.linear_cross_entropy(x, y, torch.tensor([0, 2, 1]))
F.linear_cross_entropy(x, y, torch.tensor([0, 2, 1]), reduction='none', label_smoothing=0.1, weight=one, ignore_index=2)
F.linear_cross_entropy(x, y, y.softmax(0).detach()[:, :3])
torch.eig(x)
torch.symeig(x)
torch.matrix_rank(x)
torch.lstsq(x, y)
torch.solve(x, y)
""".strip().splitlines()
