"""Masks of several dims beside other indices, and single values put where a mask is true."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    base = pattern(torch, 2, 4, 2, 3, seed=1)
    return {
        "torch": torch,
        "x": base.clone().requires_grad_(),
        "m": torch.tensor([[1, 0, 1, 0], [0, 0, 0, 1]]).bool(),
        "row": torch.tensor([True, False, True, True]),
        "turned": base.transpose(-1, -2).contiguous().transpose(-1, -2),
        "spread": base[:1].expand(2, 4, 2, 3),
        "one": torch.tensor([2.5], requires_grad=True),
        "put": _put,
    }


def _put(x, key, value):
    x = x.clone()
    x[key] = value
    return x


CASES = """
x[m, 0]
x[m, -1, 2]
x[m, [-1], 0]
x[m, :, 0]
x[m, 1:, 2]
x[m, :, torch.tensor([0, 1, 2])]
x[m, [0, 1, 1], [0, 1, 2]]
x[m, None]
x[None, m, 1]
x[m, True, 0]
x[m, ..., 1]
x[..., m[:, :2].t(), 0]
x[0, row, [1]]
x[:, row, 0]
x[m, 5]
x[m, 0, 0, 0]
x[m[:1], 0]
x[:, m]
put(x, (m, 0), 7.0)
put(x, (m, slice(None), 0), one)
put(x, (m, [-1], 0), one)
turned.index_put((m,), torch.tensor(5))
turned.index_put((m,), torch.tensor(5)).stride()
turned.index_put((m,), torch.tensor([[True]]))
turned.index_put((m,), one)
turned.index_put((m,), torch.tensor(5), accumulate=True)
turned.index_put((torch.tensor([0]),), torch.tensor(5))
spread.index_put((m,), torch.tensor(5))
spread.index_put((m,), torch.tensor(5)).stride()
x.index_put((m,), torch.tensor([5]))
x.clone().index_put_((m,), one)
""".strip().splitlines()
