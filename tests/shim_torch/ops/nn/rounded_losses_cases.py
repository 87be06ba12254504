"""Logarithms of softmax and of sums, and cross entropy, of 16 bits on the CPU: where they are rounded shows in float32."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    F = torch.nn.functional
    made = {f"{kind}{n}": (9 * pattern(torch, *shape, seed=n)).to(dtype)
            for kind, dtype in (("b", torch.bfloat16), ("h", torch.float16))
            for n, shape in enumerate(((6, 37), (5, 3), (2, 4, 64)))}  # fmt: skip

    def pulled(f, x):
        x = x.clone().requires_grad_()
        y = f(x)
        return [t.float() for t in (y.detach(), *torch.autograd.grad(y, x, y.detach().cos()))]

    return {"torch": torch, "F": F, **made, "pulled": pulled, "at": torch.tensor([3, 0, 36, 7, -100, 3])}


CASES = [
    case.format(kind)
    for kind in "bh"
    for case in (
        *(f"pulled(lambda x: x.log_softmax(-1), {{0}}{n})" for n in range(3)),
        "pulled(lambda x: x.log_softmax(0), {0}0)",
        *(f"{{0}}{n}.logsumexp(-1).float()" for n in range(3)),
        "{0}2.logsumexp((0, 2)).float()",
        "torch.logsumexp(torch.full((2,), -float('inf'), dtype={0}0.dtype), 0)",
        "pulled(lambda x: F.cross_entropy(x, at, reduction='none'), {0}0)",
        "pulled(lambda x: F.cross_entropy(x, at, weight={0}0[0].abs(), reduction='none'), {0}0)",
        "torch.autograd.grad(F.cross_entropy(*(x := [{0}0.clone().requires_grad_(), at])), x[0])[0].float()",
    )
] + [
    "[F.embedding_bag(at[:4].view(2, 2) % 5, x.clone().requires_grad_()).grad_fn.name() for x in (b1, b1.float())]",
    "[F.cross_entropy(x.clone().requires_grad_(), at, reduction='none').grad_fn.name() for x in (b0, b0.float())]",
]
