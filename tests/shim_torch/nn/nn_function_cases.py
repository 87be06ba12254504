"""First values of weights, resampling and windows, masks of attention: each expression with a fresh seed."""

import importlib
import sys


def names(torch):
    """What the expressions use."""
    nn, package = torch.nn, next(name for name, module in sys.modules.items() if module is torch)
    x3, x4 = torch.arange(24.0).reshape(2, 3, 4) / 7, torch.arange(72.0).reshape(2, 3, 3, 4) / 11
    x5, empty, i = torch.arange(48.0).reshape(1, 3, 2, 2, 4) / 5, torch.empty, torch.arange(6)
    theta, theta3 = torch.arange(6.0).reshape(1, 2, 3), torch.arange(12.0).reshape(1, 3, 4)
    flex, bias = (importlib.import_module(f"{package}.nn.attention.{n}") for n in ("flex_attention", "bias"))
    q, k = torch.arange(40.0).reshape(1, 2, 5, 4) / 17, torch.arange(56.0).reshape(1, 2, 7, 4).flip(-1) / 23
    zero, F, init = torch.tensor(0), nn.functional, nn.init
    interpolate, grid = F.interpolate, F.affine_grid

    def causal(b, h, q, k):
        return q >= k

    def near(b, h, q, k):
        return (q - k) < 40

    def generator():
        return torch.Generator().manual_seed(5)

    def norm_gradient(x, *args):
        x = x.clone().requires_grad_()
        F.local_response_norm(x, *args).sum().backward()
        return x.grad

    def unmixed(defaults):
        nn.factory_kwargs({"factory_kwargs": defaults, "device": 1})
        return defaults

    def blocks(*args, **kwargs):
        mask = flex.create_block_mask(*args, device="cpu", **kwargs)
        return mask.sparsity(), mask.numel(), mask.shape

    def empty_mask():
        m = flex._create_empty_block_mask(q, k)
        tensors = [m.kv_num_blocks, m.kv_indices, m.q_num_blocks, m.q_indices, m.full_kv_num_blocks]
        return tensors, m.BLOCK_SIZE, m.seq_lengths

    return locals()


CASES = """
nn.factory_kwargs(None)
nn.factory_kwargs({"device": "cpu"})
nn.factory_kwargs({"factory_kwargs": {"dtype": 3}, "device": 2})
nn.factory_kwargs({"factory_kwargs": {"dtype": 3}, "dtype": 2})
nn.factory_kwargs({"factory_kwargs": {"other": 3}, "memory_format": 5})
nn.factory_kwargs({"other": 1})
unmixed({"dtype": 3})
[init.calculate_gain(n) for n in ("linear", "conv1d", "conv3d", "conv_transpose2d", "sigmoid", "tanh", "relu", "selu")]
[init.calculate_gain("leaky_relu", p) for p in (None, 0.2, 1, 0)]
init.calculate_gain("leaky_relu", True)
init.calculate_gain("leaky_relu", "a")
init.calculate_gain("gelu")
init.calculate_gain("ReLU")
init.kaiming_uniform_(empty(3, 2))
init.kaiming_uniform_(empty(3, 2, 2), a=1, mode="fan_out")
init.kaiming_uniform_(nn.Parameter(empty(2, 2)), nonlinearity="relu", generator=generator())
init.kaiming_uniform_(empty(0, 2))
init.kaiming_uniform_(empty(3), nonlinearity="q")
init.kaiming_uniform_(empty(3, 2), mode="x", nonlinearity="q")
init.kaiming_uniform_(empty(3, 2), nonlinearity="q")
init.kaiming_uniform_(empty(3, 2), "x")
init.kaiming_normal_(empty(3, 2), mode="FAN_OUT")
init.kaiming_normal_(empty(3, 2, 2), a=0.3, generator=generator())
init.kaiming_normal_(empty(0, 2))
init.xavier_uniform_(empty(3, 2), gain=3)
init.xavier_uniform_(empty(3))
init.xavier_normal_(empty(3, 2), 1.7, generator())
init.orthogonal_(empty(3, 2))
init.orthogonal_(empty(2, 3))
init.orthogonal_(empty(2, 3, 2), gain=2)
init.orthogonal_(empty(3, 3).t(), generator=generator())
init.orthogonal_(empty(0, 3))
init.orthogonal_(empty(3))
init.sparse_(empty(4, 3), 0.5)
init.sparse_(nn.Parameter(empty(4, 3)), 0.3, std=1, generator=generator())
init.sparse_(empty(4, 3), 0.0)
init.sparse_(empty(4, 3), 1.0)
init.sparse_(empty(3, 0), 0.5)
init.sparse_(empty(4), 0.5)
# windows and resampling
[F.local_response_norm(x, s, 0.5, 0.3, 2.0) for x in (x3, x4, x5, x5.unsqueeze(-1)) for s in (1, 2, 3)]
norm_gradient(x4, 3, 0.5)
norm_gradient(x5, 2, 0.5)
F.local_response_norm(x4[:0], 2)
F.local_response_norm(x4[0, 0], 2)
interpolate(x4)
interpolate(x4, 2, 3)
interpolate(x4, (2, 3, 4))
interpolate(x4, scale_factor=(1, 2, 3))
interpolate(x4, torch.Size([2, 2]))
interpolate(x4, (torch.tensor(3), 2))
interpolate(x4, 2, recompute_scale_factor=True)
interpolate(x4, scale_factor=1e30)
interpolate(x4, scale_factor=0.7, mode="bilinear")
interpolate(x4, scale_factor=0.7, mode="bilinear", recompute_scale_factor=True)
interpolate(x4, 2, 1, align_corners=True)
interpolate(x4, (2, 2), mode="area", align_corners=False)
interpolate(x4, 2, mode="area", antialias=True)
interpolate(x3, 2, mode="linear", antialias=True)
interpolate(x4, 2, recompute_scale_factor=True, mode="nearest", antialias=True)
interpolate(x3, 2, mode="zzz")
grid(theta, (1, 1, 2, 2))
grid(theta, (1, 1, 2, 2), True)
grid(theta3, (1, 1, 2, 2, 2), False)
grid(theta, [1, 1, 2], False)
grid(theta3, [1, 1, 2, 2], False)
grid(theta[0], (1, 1, 2, 2), False)
grid(theta.long(), (1, 1, 2, 2), False)
grid(theta, torch.Size([1, 1, 0, 2]), False)
grid(theta, [1, 1, 2, -1], False)
grid(theta, (1, 1, 1, 2), True)
grid(theta, (1, 1, 1, 2))
# masks
blocks(causal, 1, 2, 256, 384, BLOCK_SIZE=64)
blocks(causal, None, None, 200, 130)
blocks(causal, 2, 1, 256, 256, BLOCK_SIZE=(64, 32), separate_full_blocks=False)
empty_mask()
flex.and_masks(causal, near)(zero, zero, i.reshape(-1, 1) * 20, i * 20).sum()
flex.or_masks(causal, near)(zero, zero, i.reshape(-1, 1) * 20, i * 20).sum()
[f()(zero, 0, 0, 0) for f in (flex.and_masks, flex.or_masks)]
[f(causal, near).__name__ for f in (flex.and_masks, flex.or_masks)]
flex.or_masks("a", 3)
F.scaled_dot_product_attention(q, k, k, bias.causal_upper_left(5, 7))
F.scaled_dot_product_attention(q, k, k, bias.causal_lower_right(5, 7), scale=0.5)
F.scaled_dot_product_attention(q, q, q, bias.causal_lower_right(5, 5))
F.scaled_dot_product_attention(q, k, k, bias.causal_lower_right(5, 7), is_causal=True)
F.scaled_dot_product_attention(q, k.double(), k, bias.causal_lower_right(5, 7))
F.scaled_dot_product_attention(q, k, k[0, 0, 0], bias.causal_lower_right(5, 7))
F.scaled_dot_product_attention(k, q[:, :1], q[:, :1], bias.causal_upper_left(7, 5), enable_gqa=True)
F.scaled_dot_product_attention(k, q[:, :1], q[:, :1], bias.causal_lower_right(6, 5), enable_gqa=True)
"""
