"""ATen's names of draws that torch shows by others, from a seeded generator, which are PyTorch's on the CPU."""


def inputs(torch):
    """The names that the expressions use."""
    return {
        "torch": torch,
        "aten": torch.ops.aten,
        "g": torch.Generator().manual_seed(5),
        "x": torch.zeros(3, 4),
        "low": torch.tensor(-3),
        "high": torch.tensor(9),
    }


CASES = """
aten.rand_like.generator(x, generator=g)
aten.rand_like.generator(x, generator=g, dtype=torch.float64)
aten.randn_like.generator(x, generator=g)
aten.randint_like.generator(x, 10, generator=g)
aten.randint_like.Tensor_generator(x, high, generator=g)
aten.normal_functional(x, 2.0, 0.5, generator=g)
aten.normal.out(x, 1.0, 3.0, generator=g, out=torch.empty(3, 4))
aten.rrelu_with_noise(x - 1.0, torch.zeros(3, 4), 0.125, 0.375, True, generator=g)
aten.rrelu_with_noise(x - 1.0, torch.zeros(3, 4), 0.125, 0.375, False, generator=g)
aten._dim_arange(x, 1)
aten._dim_arange(x, 0)
""".strip().splitlines()
