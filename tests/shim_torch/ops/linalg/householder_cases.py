"""Products of Householder reflections."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    a, batch = pattern(torch, 4, 3, seed=1), pattern(torch, 2, 3, 3, seed=2)
    z = torch.complex(pattern(torch, 3, 2, seed=3), pattern(torch, 3, 2, seed=4))
    q, tau = torch.geqrf(a)
    zq, ztau = torch.geqrf(z)
    return {
        "torch": torch,
        "L": torch.linalg,
        "a": a,
        "batch": batch,
        "z": z,
        "q": q.requires_grad_(),
        "tau": tau.requires_grad_(),
        "zq": zq,
        "ztau": ztau,
        "b": pattern(torch, 4, 2, seed=5),
        "t": pattern(torch, 2, 4, seed=6),
    }


CASES = """
torch.geqrf(a)
torch.geqrf(a.t())
torch.geqrf(batch)
torch.geqrf(z)
torch.geqrf(a[:0])
torch.geqrf(a[0])
L.householder_product(q, tau)
L.householder_product(q, tau[:2])
torch.orgqr(q, tau)
L.householder_product(zq, ztau)
L.householder_product(*torch.geqrf(batch))
L.householder_product(q, tau[None])
L.householder_product(q.t(), tau)
torch.ormqr(q.detach(), tau.detach(), b)
torch.ormqr(q.detach(), tau.detach(), b, transpose=True)
torch.ormqr(q.detach(), tau.detach(), t, left=False)
torch.ormqr(q.detach(), tau.detach(), t, left=False, transpose=True)
torch.ormqr(zq, ztau, torch.eye(3) * 1j, transpose=True)
""".strip().splitlines()
