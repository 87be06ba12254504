"""Cross entropy of narrow scores beside that of the same ones converted to float32."""

import pytest

import shim_torch as torch
from shim_torch.nn import functional as F

shim = torch.ops.shim
REDUCTIONS = ("none", "mean", "sum")


def given(dtype, device, sliced):
    torch.manual_seed(0)
    scores = (torch.randn(3, 6, 40, device=device) * 4).to(dtype)
    target = torch.randint(0, 40, (18,), device=device)
    target[4] = -100
    return (scores[:, 1:5], target[:12]) if sliced else (scores.reshape(18, 40), target)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("sliced", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.devices("cpu", "cuda")
def test_scores(device, dtype, sliced, reduction):
    """Loss and gradient; on CUDA to the last bit."""
    scores, target = given(dtype, device, sliced)
    wide = scores.reshape(-1, 40).float().requires_grad_()
    wanted = F.cross_entropy(wide, target, reduction=reduction)
    wanted.sum().backward()
    number = REDUCTIONS.index(reduction)
    loss, levels, factors, total = shim.cross_entropy_scores(scores, target, number, -100)
    grad = torch.ones_like(loss)
    slope = shim.cross_entropy_scores_backward(grad, scores, levels, target, factors, total, number)
    assert loss.dtype == torch.float32 and slope.dtype == dtype and slope.shape == scores.shape
    exact = {"rtol": 0, "atol": 0} if device.startswith("cuda") else {"rtol": 1e-5, "atol": 1e-6}
    torch.testing.assert_close(loss, wanted.detach(), **exact)
    close = exact if device.startswith("cuda") else {"rtol": 1e-2, "atol": 1e-5}
    torch.testing.assert_close(slope.reshape(-1, 40), wide.grad.to(dtype), **close)


@pytest.mark.devices("cpu", "cuda")
def test_a_gradient_over_the_scores(device):
    scores, target = given(torch.bfloat16, device, True)
    _, levels, factors, total = shim.cross_entropy_scores(scores, target, 1, -100)
    one = torch.ones((), device=device)
    wanted = shim.cross_entropy_scores_backward(one, scores, levels, target, factors, total, 1)
    version = scores._version
    got = shim.cross_entropy_scores_put_(scores, one, scores, levels, target, factors, total, 1)
    assert got.data_ptr() == scores.data_ptr() and scores._version == version + 1
    assert torch.equal(got, wanted)
