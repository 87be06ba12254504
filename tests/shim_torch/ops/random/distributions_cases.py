"""Draws of distributions from a seeded generator, which are PyTorch's on the CPU, and what is refused."""


def inputs(torch):
    """The names that the expressions use."""
    return {
        "torch": torch,
        "g": torch.Generator().manual_seed(7),
        "f32": torch.zeros(40),
        "f64": torch.zeros(3, 5, dtype=torch.float64),
        "whole": torch.zeros(6, dtype=torch.int64),
        "p": torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0]),
        "weights": torch.tensor([[1.0, 2.0, 3.0, 0.0], [0.0, 0.0, 5.0, 5.0]]),
    }


CASES = """
f32.exponential_(generator=g)
f64.exponential_(2.5, generator=g)
f32.exponential_(0.0, generator=g)
whole.exponential_(generator=g)
f32.cauchy_(generator=g)
f64.cauchy_(1.0, 3.0, generator=g)
f32.cauchy_(0.0, -1.0, generator=g)
whole.cauchy_(generator=g)
f32.geometric_(0.3, generator=g)
whole.geometric_(0.6, generator=g)
f32.geometric_(1.0, generator=g)
f32.log_normal_(generator=g)
f64.log_normal_(0.5, 0.25, generator=g)
f32.log_normal_(0.0, 0.0, generator=g)
f64.bernoulli_(0.4, generator=g)
whole.bernoulli_(0.5, generator=g)
f32.bernoulli_(1.5, generator=g)
torch.zeros(5).bernoulli_(p, generator=g)
torch.bernoulli(p, generator=g)
torch.bernoulli(torch.tensor([2.0]), generator=g)
torch.bernoulli(torch.zeros(4), 0.5, generator=g)
torch.bernoulli(p, generator=g, out=torch.empty(5))
torch.multinomial(weights, 2, generator=g)
torch.multinomial(weights, 6, replacement=True, generator=g)
torch.multinomial(weights[0], 4, generator=g)
torch.multinomial(-weights, 1, generator=g)
torch.multinomial(weights, 5, generator=g)
torch.multinomial(weights[0], 0, generator=g)
""".strip().splitlines()
