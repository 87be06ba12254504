"""Gradients and training on CUDA."""

import numpy as np

import shim_torch as torch
from shim_torch import nn


def test_gradients_agree_with_the_cpu():
    torch.manual_seed(0)
    x, w, b = torch.randn(16, 32), torch.randn(8, 32), torch.randn(8)

    def run(device):
        leaves = [t.to(device).requires_grad_() for t in (x, w, b)]
        out = nn.functional.gelu(nn.functional.linear(*leaves)).softmax(-1).log().mean()
        return [out, *torch.autograd.grad(out, leaves)]

    for here, there in zip(run("cpu"), run("cuda"), strict=True):
        torch.testing.assert_close(there.cpu(), here)


def test_training_on_the_device_lowers_the_loss():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 3)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x = torch.randn(256, 20, device="cuda")
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    assert all(p.is_cuda for p in model.parameters())


def test_seeded_numbers_are_the_cpus():
    g = torch.Generator("cuda").manual_seed(7)
    first = torch.randn(1000, generator=g, device="cuda")
    g.manual_seed(7)
    assert torch.equal(first, torch.randn(1000, generator=g, device="cuda"))
    assert abs(first.mean().item()) < 0.2
    assert np.isfinite(first.cpu().numpy()).all()


def test_autocast_on_cuda():
    a = torch.randn(8, 8, device="cuda")
    with torch.autocast("cuda"):
        assert (a @ a).dtype is torch.float16
        assert torch.softmax(a @ a, -1).dtype is torch.float32
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert (a @ a).dtype is torch.bfloat16
