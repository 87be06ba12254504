"""Quantiles with every interpolation, with NaN, along dims, and what is refused."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x, nan = pattern(torch, 3, 5, seed=1).requires_grad_(), pattern(torch, 3, 5, seed=2)
    nan[0, 1] = nan[2, 0] = nan[2, 4] = float("nan")
    empty = torch.full((2, 3), float("nan"))
    return {
        "torch": torch,
        "x": x,
        "nan": nan,
        "empty": empty,
        "q": torch.tensor([0.0, 0.3, 0.5, 1.0]),
        "s": torch.tensor(2.5),
    }


_KINDS = [
    f"torch.{name}({x}, q, {dim}, interpolation='{kind}')"
    for kind in ("linear", "lower", "higher", "midpoint", "nearest")
    for name, x, dim in (("quantile", "x", 1), ("nanquantile", "nan", 0))
]
CASES = (
    _KINDS
    + """
torch.quantile(x, 0.4)
torch.quantile(x, q, keepdim=True)
torch.quantile(x, 0.4, -1, True)
torch.quantile(x.double(), 0.25, 0)
torch.quantile(s, 0.3)
torch.quantile(s, q)
torch.quantile(nan, q, 1)
torch.nanquantile(nan, 0.5)
torch.nanquantile(empty, q, 1)
torch.nanquantile(nan.requires_grad_(), 0.5, 1)
torch.quantile(x.t(), 0.6, 1)
torch.quantile(x[:0], 0.5)
torch.quantile(x.long(), 0.5)
torch.quantile(x.half(), 0.5)
torch.quantile(x, q.double())
torch.quantile(x, q[None])
torch.quantile(x, q + 0.5)
torch.quantile(x, 1.5)
torch.quantile(x, -0.25)
torch.quantile(x, 0.5, interpolation='other')
torch.quantile(x, 0.5, 2)
torch.quantile(x.detach(), 0.4, out=torch.empty(0, dtype=torch.float64))
""".strip().splitlines()
)
