"""Comparisons, closeness, equality and membership: dtypes, NaN, broadcasting, refusals."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    nan, inf = float("nan"), float("inf")
    return {
        "torch": torch,
        "x": torch.tensor([1.0, nan, inf, -inf, 0.0, -0.0]),
        "y": torch.tensor([1.0, nan, -inf, -inf, -0.0, 1e-9]),
        "i": torch.tensor([1, 2, 3, 200]),
        "u": torch.tensor([1, 2, 3, 200], dtype=torch.uint8),
        "z": torch.tensor([1 + 2j, nan + 1j, 3.0]),
        "b": torch.tensor([True, False]),
        "m": pattern(torch, 3, 4, seed=1),
        "v": pattern(torch, 4, seed=2),
    }


_ALL = [f"torch.{name}(x, y)" for name in ("eq", "ne", "lt", "le", "gt", "ge", "isclose", "equal", "allclose")]
CASES = (
    _ALL
    + """
torch.eq(i, 2.5)
torch.lt(u, -1)
torch.gt(u, 255)
torch.lt(m, v)
torch.eq(z, z.flip(0))
torch.lt(z, z)
torch.lt(b, True)
torch.eq(m, v[:3])
m.clone().gt_(v)
i.clone().eq_(2)
torch.eq(m, v, out=torch.empty(0, dtype=torch.uint8))
torch.lt(x, y, out=torch.empty(0))
torch.isclose(x, y, equal_nan=True)
torch.isclose(z, z, equal_nan=True)
torch.isclose(i, i + 1, atol=1.0)
torch.isclose(i, i + 2, rtol=0.01, atol=1.0)
torch.isclose(x, i[0])
torch.isclose(x, y, atol=-1)
torch.isclose(b, ~b)
torch.allclose(m, v)
torch.equal(m, m.t())
torch.equal(i, u)
torch.equal(m[:0], m[:0].clone())
torch.isin(i, u)
torch.isin(i, torch.tensor([2, 200]), invert=True)
torch.isin(m, v)
torch.isin(2, i)
torch.isin(i, 2)
torch.isin(i, i[:0])
torch.isin(z, z)
torch.isin(i, i.flip(0), assume_unique=True)
""".strip().splitlines()
)
