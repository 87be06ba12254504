"""Integrals by the trapezoidal rule: of integers that wrap around, and of few samples or none."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    return {
        "torch": torch,
        "y": torch.tensor([-128, -1, 0, 1, 127, 5], dtype=torch.int8),
        "x": torch.tensor([0, 100, -100, 3, 4, 50], dtype=torch.int8),
        "f": pattern(torch, 3, 4, seed=1).requires_grad_(),
        "at": pattern(torch, 4, seed=2).requires_grad_(),
    }


CASES = """
torch.trapezoid(y)
torch.trapezoid(y, dx=2)
torch.trapezoid(y, dx=0.5)
torch.trapezoid(y.short(), dx=3)
torch.trapezoid(y, x)
torch.trapezoid(y, x.float())
torch.cumulative_trapezoid(y)
torch.cumulative_trapezoid(y, dx=2)
torch.cumulative_trapezoid(y, x)
torch.trapezoid(f)
torch.trapezoid(f, dim=0, dx=0.1)
torch.trapezoid(f, at)
torch.trapezoid(f, f * 2)
torch.cumulative_trapezoid(f, at)
torch.cumulative_trapezoid(f, dim=0)
torch.trapezoid(f[:, :1])
torch.trapezoid(f[:, :0])
torch.trapezoid(f[:0])
torch.trapezoid(f[:, :1], at[:1])
torch.cumulative_trapezoid(f[:, :1])
torch.cumulative_trapezoid(f[:, :0])
torch.trapezoid(y[:1])
torch.trapezoid(y[:0])
torch.cumulative_trapezoid(y[:1])
torch.trapezoid(f, at[:3])
""".strip().splitlines()
