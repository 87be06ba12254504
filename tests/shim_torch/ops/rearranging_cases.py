"""Calls of sorting, rearranging, indexing and counting operators, as expressions over the inputs below."""

import json


def inputs(torch):
    """The names that the expressions use."""
    a = ((torch.arange(12) * 7 % 12).to(torch.float32) - 5.5).reshape(3, 4)
    return {
        "torch": torch,
        "a": a.requires_grad_(),
        "b": (torch.arange(24).to(torch.float32) / 4).reshape(2, 3, 4).requires_grad_(),
        "v": torch.tensor([3.0, -1.0, 2.0, 0.5, 8.0, -4.0]).requires_grad_(),
        "d": torch.arange(20).mul(7).remainder(3).reshape(4, 5),
        "at": torch.tensor([2, 0]),
        "grid": torch.tensor([[0, 1, 0], [1, 1, 0]]),
        "edges": torch.tensor([0.0, 1.0, 1.0, 2.0, 5.0]),
        "nan": torch.tensor([1.0, float("nan"), -2.0, 7.0]),
        "long": torch.int64,
        "one_hot": torch.nn.functional.one_hot,
    }


_REDUCED = [
    f"a.scatter_reduce({dim}, grid, b[0][:2, :3], '{how}', include_self={kept})"
    for how in ("sum", "prod", "mean", "amax", "amin")
    for dim in (0, 1)
    for kept in (True, False)
] + [
    f"a.index_reduce(0, at, b[1][:2], '{how}', include_self={kept})"
    for how in ("prod", "mean", "amax", "amin")
    for kept in (True, False)
]
_SORTED = """
torch.sort(a, 0)
a.sort(1, True)
nan.sort(descending=True)
d.sort(stable=True, dim=0, descending=True)
a.argsort(-1)
torch.argsort(d, dim=1, stable=True)
torch.msort(a)
a.topk(2, 1)
a.topk(2, 0, largest=False)
b.kthvalue(2, -1, True)
a.to(torch.bfloat16).sort(0)
a.topk(9)
a.kthvalue(9)
a.sort(4)
"""
_INDEXED = """
a.index_copy(0, at, b[0][:2])
a.index_copy(0, torch.tensor([5, 1]), a[:2])
a.index_fill(1, at, 5.0)
a.index_fill(0, at, v[0])
a.index_fill(0, torch.tensor([5]), 1.0)
a.index_fill(0, at, v)
a.masked_scatter(a > 0, b)
a.masked_scatter(a > -9, v)
a.take(torch.tensor([[0, 3], [3, -1]]))
a.take(torch.tensor([30]))
a.put(torch.tensor([0, 3, 3]), v[:3], accumulate=True)
a.put(torch.tensor([0, 3, 7]), v[:3])
a.detach().clone().put_(torch.tensor([1]), v[:1].detach())
torch.take_along_dim(a, torch.tensor([[0], [1], [3]]), 1)
torch.argwhere(d)
torch.nonzero_static(d, size=3)
one_hot(d, 4)
one_hot(d, 2)
a.scatter_reduce(0, grid, a, 'foo')
"""
_MOVED = """
a.diag(1)
v.diag(-1)
torch.diag_embed(a, 1, 0, 2)
b.diag()
a.tril(-1)
b.triu(1)
v.tril()
a.detach().clone().tril_()
a.diagonal_scatter(v[:3])
a.select_scatter(v[:4], 0, 1)
a.slice_scatter(b[0][:, :2], 1, 0, 4, 2)
a.slice_scatter(a, 1, 0, 4, 2)
b.flip(0, 2)
b.flip(0, 0)
torch.fliplr(a)
a.roll(5)
torch.roll(a, (1, -2), (0, 1))
a.roll((1, 2), 0)
b.rot90(-1, [0, 2])
v.rot90()
a.repeat(2, 1, 3)
a.repeat(2)
a.tile(2)
a.repeat_interleave(2, 1)
torch.repeat_interleave(a, torch.tensor([1, 2, 0]), dim=0)
a.repeat_interleave(at, 0)
torch.zeros(7, 3).fill_diagonal_(3, True)
"""
_COUNTED = """
torch.unique(d, return_inverse=True, return_counts=True)
nan.unique()
torch.unique(d, dim=0, return_inverse=True, return_counts=True)
d.unique_consecutive(return_inverse=True, return_counts=True)
torch.unique_consecutive(d, dim=1, return_counts=True)
torch.unravel_index(torch.tensor([[3, 7], [11, 0]]), (3, 4))
torch.bincount(d.reshape(-1), minlength=5)
torch.bincount(at, v[:2].detach())
torch.bincount(torch.tensor([-1]))
torch.histc(a.detach(), 4, -3, 3)
torch.histc(d)
torch.bucketize(a.detach(), edges, right=True)
torch.bucketize(1.0, edges)
torch.searchsorted(edges, nan)
torch.searchsorted(a.detach().sort(1)[0], a.detach()[:, :2], out_int32=True)
torch.searchsorted(edges, nan, side='foo')
"""
CASES = [*_REDUCED, *(_SORTED + _INDEXED + _MOVED + _COUNTED).strip().replace("\n\n", "\n").splitlines()]


def _listed(torch, value):
    if isinstance(value, torch.Tensor):
        return [str(value.dtype), list(value.shape), value.detach().to(torch.float64).tolist()]
    return [_listed(torch, v) for v in value]


def results(torch, expression):
    """What an expression gives, and the gradients of its weighted sum."""
    names = inputs(torch)
    result = eval(expression, dict(names))
    first = result if isinstance(result, torch.Tensor) else result[0]
    grads = []
    if first.requires_grad:
        weights = torch.arange(first.numel()).reshape(first.shape) + 1
        (first * weights).sum().backward()
        grads = [names[n].grad for n in "abv" if names[n].grad is not None]
    return result, grads


def outcome(torch, expression):
    """The values of an expression and of the gradients of its weighted sum, or its error."""
    try:
        result, grads = results(torch, expression)
    except Exception as e:
        return ["error", type(e).__name__, str(e).splitlines()[0]]
    return ["values", _listed(torch, result), [_listed(torch, g) for g in grads]]


def written(torch):
    """What the expressions give with PyTorch, to be stored."""
    return json.dumps({expression: outcome(torch, expression) for expression in CASES}, indent=0) + "\n"
