"""Angles, polar form and conjugates."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    nan, inf = float("nan"), float("inf")
    return {
        "torch": torch,
        "x": pattern(torch, 2, 3, seed=1).requires_grad_(),
        "t": pattern(torch, 2, 3, seed=2).requires_grad_(),
        "z": torch.complex(pattern(torch, 2, 3, seed=3), pattern(torch, 2, 3, seed=4)).requires_grad_(),
        "e": torch.tensor([0.0, -0.0, 1.0, -1.0, inf, -inf, nan]),
        "i": torch.tensor([-2, 0, 3]),
        "b": torch.tensor([True, False]),
        "ze": torch.tensor(
            [0j, complex(-0.0, 0.0), complex(-1.0, -0.0), complex(inf, 1.0), complex(nan, 1.0), complex(0.0, -inf)]
        ),
    }


CASES = """
torch.angle(e)
torch.angle(ze)
torch.angle(z)
torch.angle(x)
torch.angle(i)
torch.angle(b)
torch.angle(e.half())
torch.angle(z, out=torch.empty(0))
torch.polar(x, t)
torch.polar(x.double(), t.double())
torch.polar(e, e[:1])
torch.polar(x.half(), t.half())
torch.polar(x, t.double())
torch.polar(x[:, :2], t)
torch.polar(x[:0], t[:0])
torch.conj_physical(z)
torch.conj_physical(x)
torch.conj_physical(i)
torch.conj_physical(z[:, 1:].t())
z.detach().clone().conj_physical_()
torch.conj_physical(z.detach(), out=torch.empty(0, dtype=torch.complex64))
torch.ops.aten._conj_physical(z.detach())
torch.sgn(z)
torch.abs(z)
torch.view_as_real(z)
""".strip().splitlines()
