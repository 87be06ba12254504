"""A product, a bias and an activation as one operator on the CPU."""

import numpy as np
import pytest

import shim_torch as torch


def random(rng, *shape, dtype=torch.float64):
    return torch.from_numpy(rng.standard_normal(shape)).to(torch.get_default_device(), dtype)


def numbers(t):
    return t.detach().to(torch.float64).cpu().numpy()


@pytest.mark.devices("cpu", "cuda")
@pytest.mark.parametrize(
    "dtype, tolerance", [(torch.float64, 1e-12), (torch.float32, 1e-5), (torch.bfloat16, 2e-2), (torch.float16, 2e-3)]
)
@pytest.mark.parametrize("use_gelu", [False, True])
def test_addmm_activation(dtype, tolerance, use_gelu, device):
    rng = np.random.default_rng(6)
    for m, k, n in ((7, 5, 16), (1, 3, 1), (4, 0, 3), (0, 3, 4)):
        a, b = random(rng, m, k, dtype=dtype), random(rng, n, k, dtype=dtype).t()
        for self, beta, alpha in (
            (random(rng, n, dtype=dtype), 1, 1),
            (random(rng, m, n, dtype=dtype), 0.5, -2),
            (random(rng, 1, dtype=dtype), 0, 1),
        ):
            z = torch.from_numpy(beta * numbers(self) + alpha * (numbers(a) @ numbers(b)))
            want = torch.nn.functional.gelu(z, approximate="tanh" if a.is_cuda else "none") if use_gelu else z.relu()
            for out in (None, torch.empty(0, dtype=dtype)):
                got = torch._addmm_activation(self, a, b, beta=beta, alpha=alpha, use_gelu=use_gelu, out=out)
                np.testing.assert_allclose(numbers(got), want.numpy(), rtol=tolerance, atol=10 * tolerance)


def test_addmm_activation_refuses():
    c, a, b = torch.ones(3), torch.ones(2, 2), torch.ones(2, 3)
    assert torch._addmm_activation(c.int(), a.int(), -b.int()).tolist() == [[0] * 3] * 2
    with pytest.raises(NotImplementedError, match="\"GeluKernelImpl\" not implemented for 'Int'"):
        torch._addmm_activation(c.int(), a.int(), b.int(), use_gelu=True)
    with pytest.raises(NotImplementedError, match="clamp is not supported for complex types"):
        torch._addmm_activation(*(t.to(torch.complex64) for t in (c, a, b)))
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(2x2 and 3x2\)"):
        torch._addmm_activation(c, a, b.t())
    y = torch._addmm_activation(c.requires_grad_(), a, b)
    with pytest.raises(RuntimeError, match="^derivative for aten::_addmm_activation is not implemented$"):
        y.sum().backward()
