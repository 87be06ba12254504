"""Convolutions of lines by a kernel of each channel's own, on CUDA: the CPU's values and gradients, by our own kernels."""

import pytest

import shim_torch as torch

F = torch.nn.functional
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


@pytest.mark.usefixtures("on_our_kernels")
@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("batch, channels, size, taps, padding, dilation", [
    (2, 3, 9, 4, 3, 1), (1, 5, 1500, 3, 0, 2), (3, 2, 4, 5, 8, 3), (2, 130, 7, 1, 0, 1), (1, 2, 2100, 16, 15, 1),
])  # fmt: skip
def test_values_and_gradients(dtype, batch, channels, size, taps, padding, dilation):
    x, w, b = torch.randn(batch, channels, size), torch.randn(channels, 1, taps), torch.randn(channels)
    found = []
    for device, t in (("cpu", torch.float64), ("cuda", dtype)):
        leaves = [v.to(dtype).to(device, t).requires_grad_() for v in (x, w, b)]
        y = F.conv1d(*leaves, padding=padding, dilation=dilation, groups=channels)
        g = torch.linspace(-1, 1, y.numel()).reshape(y.shape).to(dtype).to(device, t)
        found.append([y.detach(), *torch.autograd.grad(y, leaves, g)])
    for k, (want, got) in enumerate(zip(*found, strict=True)):
        tolerance = TOLERANCE[dtype] * (1 if k < 2 else 10)  # of long sums
        assert got.dtype == dtype and got.is_contiguous()
        torch.testing.assert_close(got.cpu().double(), want, rtol=tolerance, atol=tolerance)


def test_transposed_and_without_bias_and_twice(seeded):
    x, w = torch.randn(2, 4, 11, dtype=torch.float64), torch.randn(4, 1, 3, dtype=torch.float64)
    for call in (
        lambda a, b: F.conv_transpose1d(a, b, padding=1, dilation=2, output_padding=1, groups=4),
        lambda a, b: F.conv1d(a.transpose(1, 2).contiguous().transpose(1, 2), b, padding=2, groups=4),
    ):
        found = []
        for device in ("cpu", "cuda"):
            leaves = [t.to(device).requires_grad_() for t in (x, w)]
            y = call(*leaves)
            first = torch.autograd.grad(y.square().sum(), leaves, create_graph=True)
            found.append([y, *first, *torch.autograd.grad(sum(t.square().sum() for t in first), leaves)])
        for want, got in zip(*found, strict=True):
            torch.testing.assert_close(got.detach().cpu(), want.detach())


@pytest.mark.usefixtures("on_our_kernels")
def test_the_same_sums_in_every_run():
    x, g = torch.randn(8, 6, 5000, device="cuda"), torch.randn(8, 6, 4997, device="cuda")
    w = torch.randn(6, 1, 4, device="cuda", requires_grad=True)
    one, other = (torch.autograd.grad(F.conv1d(x, w, groups=6), w, g)[0] for _ in range(2))
    assert torch.equal(one, other)
