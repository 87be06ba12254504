"""Sums by index names, products of matrices and vectors, and what is made of them."""

from .expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    shapes = {"a": (3, 4), "b": (4, 5), "c": (2, 3, 4), "d": (2, 4, 3), "v": (4,), "s": (3, 3), "x": (1, 2, 4, 5)}
    made = {n: pattern(torch, *s, seed=i + 1).requires_grad_() for i, (n, s) in enumerate(shapes.items())}
    return {**made, "torch": torch, "F": torch.nn.functional, "nn": torch.nn, "i": torch.tensor([[0, 2], [1, 1]])}


CASES = """
torch.einsum('ij,jk->ik', a, b)
torch.einsum('ij,jk', a, b)
torch.einsum('ii->i', s)
torch.einsum('ii', s)
torch.einsum('...ij,...jk->...ik', c, d)
torch.einsum('bij,bji->b', c, d)
torch.einsum('ij->ji', a)
torch.einsum('i,j->ij', v, a[:, 0])
torch.einsum('ij,kj,lj->ikl', a, a, s[:, :1].expand(3, 4))
torch.einsum('b...j,jk->b...k', c, b)
torch.einsum('...,...->...', a, a)
torch.einsum(a, [0, 1], b, [1, 2], [0, 2])
torch.einsum(c, [..., 0, 1], d, [..., 1, 2])
torch.einsum('ij,ij->', a, a)
torch.einsum(' i j , j k -> i k ', a, b)
torch.einsum('Ab,bC->CA', a, b)
torch.einsum('ij,jk->ik', a)
torch.einsum('ij,jk->ikl', a, b)
torch.einsum('ijk,jk', a, b)
torch.einsum('ij,jk->ik', a, a)
torch.einsum('i!,jk->ik', a, b)
torch.einsum('ij->iij', a)
torch.tensordot(c, d, ([1, 2], [2, 1]))
torch.tensordot(a, b, 1)
torch.tensordot(a, a, 0)
torch.tensordot(a, b, ([0], [0]))
torch.cartesian_prod(v, a[0])
torch.block_diag(a, v, s)
torch.combinations(v, 3)
torch.unravel_index(torch.tensor([3, 7]), (3, 4))
torch.outer(v, v)
torch.inner(a, c)
torch.vdot(v, v)
torch.addmv(a[:, 0], a, v, beta=0.5, alpha=2)
torch.addr(a, a[:, 0], v)
torch.baddbmm(s.expand(2, 3, 3), c, d, beta=0.3)
torch.addbmm(s, c, d)
torch.rot90(a, 3)
torch.roll(c, (1, 2), (0, 2))
torch.ldexp(a, torch.tensor(2))
torch.logcumsumexp(a, 1)
torch.renorm(c, 1, 0, 5.0)
torch.cov(a)
torch.corrcoef(a)
torch.cdist(a, a + 1)
torch.cross(s, a[:, :3], dim=1)
torch.take_along_dim(a, i, 1)
torch.isin(torch.arange(5), torch.tensor([1, 3]))
torch.nn.functional.one_hot(i, 4)
F.cosine_similarity(c, d.mT, dim=2)
F.normalize(c, p=3, dim=1)
F.gumbel_softmax(a.detach(), hard=True).sum(-1)
F.softmin(a, 1)
F.glu(a, 1)
torch.ones(2, 2, 3).matmul(torch.ones(3, 4))._base is None
torch.ones(2, 2, 3).matmul(torch.ones(2, 3, 4))._base is None
torch.ones(2, 2, 3).matmul(torch.ones(3))._base is None
torch.ones(3).matmul(torch.ones(2, 3, 4))._base is None
torch.ones(3).matmul(torch.ones(3, 4))._base is None
torch.kron(torch.ones(2, 3), torch.ones(3))._base is None
""".strip().splitlines()
