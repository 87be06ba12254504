"""Places out of range, indices of other sizes than the source, and gradients that there are none of."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    return {
        "torch": torch,
        "x": pattern(torch, 2, 4, seed=1).requires_grad_(),
        "line": pattern(torch, 4, seed=2).requires_grad_(),
        "one": torch.tensor(2.0),
        "none": torch.zeros(2, 0),
        "v": pattern(torch, 2, 1, seed=3),
        "i": torch.zeros(1, 2, dtype=torch.long),
        "long": torch.zeros(2, 7, dtype=torch.long),
        "place": torch.tensor,
        "mixed": torch.tensor([0, 1, 0, 2, 0, 1, 0, 0, 1, 2, 0, 0]),
        "many": pattern(torch, 12, 5, seed=4),
        "to": pattern(torch, 3, 5, seed=5),
    }


_REDUCED = [
    f"x.scatter_reduce({given}, {reduce!r}{more})"
    for given in ("1, i, v", "1, long, v", "1, place([[0], [1], [0]]), v", "1, place([0]), v", "1, place([[4]]), v")
    for reduce, more in (("sum", ""), ("amax", ", include_self=False"))
]
# Sums and products of 16-bit numbers: where they are rounded shows in float32.
_NARROW = [
    f"{expression.replace('many', f'many.{narrow}()').replace('to.', f'to.{narrow}().')}.float()"
    for narrow in ("half", "bfloat16")
    for expression in [
        *(
            f"to.index_reduce(0, mixed, many, {how!r}, include_self={kept})"
            for how in ("mean", "prod", "amin")
            for kept in (True, False)
        ),
        *(
            f"to.scatter_reduce(0, mixed[:, None].expand(12, 5), many, {how!r}, include_self={kept})"
            for how in ("sum", "mean", "prod")
            for kept in (True, False)
        ),
        "to.index_add(0, mixed, many)",
        "torch.ops.aten.embedding_dense_backward(many, mixed, 3, -1, False)",
    ]
]
CASES = (
    _REDUCED
    + _NARROW
    + """
x.scatter_reduce(1, place([[[0]]]), v, 'mean')
x.detach().clone().scatter_reduce_(1, i, v, 'prod')
line.scatter_reduce(0, place([0]), one, 'sum')
line.scatter_reduce(0, place(1), place([1.0]), 'sum')
line.index_add(0, place([-1]), place([1.0]))
line.index_add(0, place([4]), place([1.0]))
x.index_add(1, place([-1]), v)
one.index_add(0, place([-1]), place([1.0]))
one.index_add(0, place([0]), place([1.0]))
none.index_add(1, place([3]), v)
none.index_add(0, place([-1]), none[:1])
none.put(place([0]), place([1.0]))
none.take(place([0]))
x.index_reduce(0, place([0]), v.double(), 'amax')
x.index_copy(0, place([0, 1]), v)
x.index_copy(1, place([0, 2]), many[:3, :2])
x.detach().clone().index_copy_(0, place([1]), v[:1])
x.index_reduce(0, place([0, 1]), v, 'amax')
x.index_reduce(0, place([0, 1]), many[:2, :3], 'mean')
line.index_add(0, place([1]), one)
torch.autograd.grad(x.scatter(1, i, 2.0, reduce='add').sum(), x)
torch.autograd.grad(x.scatter(1, i, v.expand(2, 2), reduce='multiply').sum(), x)
x.scatter(1, i, v.expand(2, 2), reduce='multiply').detach()
""".strip().splitlines()
)
