"""What tests of our own CUDA kernels compare with: the CPU's operators, in float64 where they round."""

import shim_torch as torch

FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
SORTED = [
    torch.float32,
    torch.bfloat16,
    torch.float16,
    torch.float64,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.uint8,
    torch.int8,
]
TOLERANCE = {torch.float64: 1e-11, torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def close(got, want, dtype=None, scale=1.0):
    tolerance = TOLERANCE.get(dtype or got.dtype, 0.0) * scale
    assert got.shape == want.shape
    torch.testing.assert_close(got.detach().cpu().double(), want.detach().double(), rtol=tolerance, atol=tolerance)


def same(got, want):
    assert got.dtype == want.dtype and got.shape == want.shape
    assert torch.equal(got.cpu(), want)


def same_on_both(call, *tensors):
    """call() of tensors on CUDA gives exactly what it gives of them on the CPU."""
    same(call(*(t.cuda() for t in tensors)), call(*tensors))


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=torch.float64).to(dtype)


def gradients(device, dtype, call, tensors, g):
    leaves = [t.detach().to(device, dtype, copy=True).requires_grad_() for t in tensors]
    y = call(*leaves)
    y.backward(g.to(device, dtype))
    return [y.detach(), *[t.grad for t in leaves]]
