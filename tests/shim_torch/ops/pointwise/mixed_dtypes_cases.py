"""Operators of two tensors whose dtypes differ."""


def inputs(torch):
    """The names that the expressions use."""
    return {
        "torch": torch,
        "F": torch.nn.functional,
        "h": torch.tensor([0.5, 2.0, -3.0], dtype=torch.float16),
        "b": torch.tensor([0.5, 2.0, -3.0], dtype=torch.bfloat16),
        "f": torch.tensor([1.5, 2.0, 3.0]),
        "d": torch.tensor([1.5, 2.0, 3.0], dtype=torch.float64),
        "i": torch.tensor([2, 1, 20]),
        "m": torch.tensor([True, False, True]),
        "zero_d": torch.tensor(0.3, dtype=torch.float16),
    }


CASES = """
torch.ldexp(h, i)
torch.ldexp(b, i)
torch.ldexp(h * 0.001, i)
torch.ldexp(f, i)
torch.ldexp(d, i)
torch.ldexp(i, i)
torch.ldexp(h, m)
torch.ldexp(f, h)
h.clone().ldexp_(i)
torch.nextafter(i, b)
torch.nextafter(b, i)
torch.nextafter(i, f)
torch.nextafter(b, h)
torch.special.zeta(h, f)
torch.special.zeta(f, b)
torch.special.zeta(h, b)
torch.special.zeta(h, h)
torch.special.zeta(b, i)
F.huber_loss(h, b)
F.huber_loss(h, f, reduction="none")
F.huber_loss(zero_d, f)
F.huber_loss(f, h, reduction="sum")
F.huber_loss(d, zero_d)
F.huber_loss(f, i)
F.huber_loss(i, f)
F.huber_loss(i, h, reduction="none")
torch.dist(i, f)
torch.dist(i, i)
torch.addbmm(torch.ones(2, 3, 4), torch.ones(2, 3, 2), torch.ones(2, 2, 4))
""".strip().splitlines()
