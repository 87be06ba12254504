"""Factors of symmetric and Hermitian indefinite matrices, solutions by them, and refusals."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    a, batch = pattern(torch, 4, 4, seed=1), pattern(torch, 2, 3, 3, seed=2)
    z = torch.complex(pattern(torch, 3, 3, seed=3), pattern(torch, 3, 3, seed=4))
    zero = torch.tensor([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
    L = torch.linalg
    sym, syms, her, csym = a + a.mT, batch + batch.mT, z + z.mH, z + z.mT
    return {
        "torch": torch,
        "L": L,
        "sym": sym,
        "syms": syms,
        "her": her,
        "csym": csym,
        "zero": zero,
        "b": pattern(torch, 4, 2, seed=5),
        "bs": pattern(torch, 2, 3, 2, seed=6),
        "zb": torch.complex(pattern(torch, 3, 1, seed=7), pattern(torch, 3, 1, seed=8)),
        "leaf": (a + a.mT).requires_grad_(),
        "none": torch.zeros(3, 3),
        "p": torch.tensor([1, 2, 3, 4], dtype=torch.int32),
    }


CASES = """
L.ldl_factor(sym)
L.ldl_factor(syms)
L.ldl_factor(her, hermitian=True)
L.ldl_factor(csym)
L.ldl_factor(zero)
L.ldl_factor_ex(syms)
L.ldl_factor_ex(none)
L.ldl_factor(sym[:0, :0])
L.ldl_factor(sym[:3])
L.ldl_factor(sym[0])
L.ldl_solve(*L.ldl_factor(sym), b)
L.ldl_solve(*L.ldl_factor(sym.double()), b.double())
L.ldl_solve(*L.ldl_factor(syms), bs)
L.ldl_solve(*L.ldl_factor(syms[0]), bs)
L.ldl_solve(*L.ldl_factor(her, hermitian=True), zb, hermitian=True)
L.ldl_solve(*L.ldl_factor(csym), zb)
L.ldl_solve(*L.ldl_factor(zero), torch.eye(3))
L.ldl_solve(sym, p, b[:3])
L.ldl_solve(sym, p, b[0])
L.ldl_solve(sym, p.float(), b)
L.ldl_solve(sym, p[:3], b)
L.ldl_solve(sym, p, b.double())
L.ldl_factor(leaf)[0]
""".strip().splitlines()
