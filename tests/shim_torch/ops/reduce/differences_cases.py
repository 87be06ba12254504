"""Differences and gradients along dims."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x = pattern(torch, 4, 5, seed=1).requires_grad_()
    return {
        "torch": torch,
        "x": x,
        "v": pattern(torch, 6, seed=2),
        "i": torch.arange(6) ** 2,
        "b": torch.tensor([True, False, False]),
        "at": torch.tensor([0.0, 1.0, 1.5, 4.0]),
        "z": torch.complex(pattern(torch, 5, seed=3), pattern(torch, 5, seed=4)),
    }


CASES = """
torch.diff(x)
torch.diff(x, 2, 0)
torch.diff(x, 3, -1, prepend=x[:, :2], append=x[:, :1])
torch.diff(i)
torch.diff(b)
torch.diff(b, 2)
torch.diff(z)
torch.diff(x, 0)
torch.diff(x, dim=2)
torch.diff(x, prepend=x[:2])
torch.diff(v[:0])
torch.diff(x, out=torch.empty(0))
torch.diff(x.detach(), 2, out=torch.empty(0))
torch.gradient(x)
torch.gradient(x, dim=1)
torch.gradient(x, spacing=0.5, dim=0)
torch.gradient(x, spacing=[2.0, 0.5])
torch.gradient(x, spacing=(at, torch.arange(5.0)))
torch.gradient(x, spacing=(at,), dim=0)
torch.gradient(x, edge_order=2)
torch.gradient(v, spacing=2, edge_order=2)
torch.gradient(z)
torch.gradient(x, spacing=[1.0])
torch.gradient(x, edge_order=3)
torch.gradient(v[:1])
torch.gradient(v[:2], edge_order=2)
torch.gradient(i)
torch.gradient(x, dim=2)
torch.gradient(x, dim=())
""".strip().splitlines()
