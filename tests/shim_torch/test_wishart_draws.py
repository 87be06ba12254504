"""Samples of Wishart are PyTorch's numbers (of a CPU), valid ones that it draws again included."""

import pytest

import shim_torch as torch

CASES = [
    ((), (), [2.2369, 2.0453, 2.0453, 3.0497], 0.6816),
    ((), (3,), [8.3664, 0.8031, 0.8031, 3.5087, 18.5393, 4.5507, 4.5507, 3.1763, 5.5147, -0.1996, -0.1996, 0.6943], 0.7262),
    ((2,), (2,), [9.9062, -0.555, -0.555, 6.9498, 8.779, 0.8069, 0.8069, 6.2273,
                  7.5516, 2.5906, 2.5906, 2.1523, 8.7798, -0.3497, -0.3497, 3.8042], 0.034),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Singular sample detected")
@pytest.mark.parametrize("batch, shape, expected, following", CASES)
def test_numbers(batch, shape, expected, following):
    wishart = torch.distributions.Wishart(torch.full(batch, 4.5), torch.tensor([[2.0, 0.5], [0.5, 1.0]]))
    torch.manual_seed(0)
    found = wishart.sample(shape)
    assert found.shape == shape + batch + (2, 2)
    torch.testing.assert_close(found.flatten(), torch.tensor(expected), rtol=0, atol=1e-4)
    assert abs(torch.rand(1).item() - following) < 1e-4  # as many numbers were drawn


@pytest.mark.filterwarnings("ignore:Singular sample detected")
def test_gradient_goes_through_what_was_drawn_again():
    scale = torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=torch.float64, requires_grad=True)

    def total(scale):
        torch.manual_seed(0)
        df = torch.tensor(4.5, dtype=torch.float64)
        tril = torch.linalg.cholesky(scale)
        return torch.distributions.Wishart(df, scale_tril=tril).rsample((3,)).sum()

    torch.autograd.gradcheck(lambda s: total((s + s.mT) / 2), scale)
