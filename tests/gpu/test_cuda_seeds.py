"""Seeds of 64 bits on CUDA."""

import pytest

import shim_torch as torch

F = torch.nn.functional


@pytest.mark.parametrize("seed", [2**63 + 5, 2**64 - 1, -7])
def test_draws_of_seeds_beyond_int64(seed):
    """A process's own seed is one in half of all processes."""
    q = torch.randn(1, 2, 64, 32, device="cuda").half()

    def draws():
        torch.cuda.manual_seed(seed)
        x = torch.rand(1000, device="cuda")
        return [
            x,
            torch.bernoulli(x),
            torch.randint(9, (50,), device="cuda"),
            torch.poisson(x),
            x.clone().geometric_(0.4),
            F.dropout(x, 0.5),
            F.scaled_dot_product_attention(q, q, q, dropout_p=0.5),
        ]

    for first, second in zip(draws(), draws(), strict=True):
        assert torch.equal(first, second)
