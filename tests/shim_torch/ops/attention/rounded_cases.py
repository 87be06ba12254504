"""Attention of 16-bit tensors on the CPU, whose weights are rounded before they meet the values, and rows that see no key."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    F = torch.nn.functional
    shapes = {"q": (2, 3, 7, 16), "k": (2, 3, 9, 16), "v": (2, 3, 9, 16)}
    made = {
        f"{name}{kind}": (2 * pattern(torch, *shape, seed=seed)).to(dtype)
        for kind, dtype in (("b", torch.bfloat16), ("h", torch.float16), ("f", torch.float32))
        for seed, (name, shape) in enumerate(shapes.items())
    }
    numbers = pattern(torch, 7, 9, seed=5)
    dead = numbers.clone()
    dead[2] = float("-inf")
    few = {f"few_{name}{kind}": made[f"{name}{kind}"][:, :, :5] for name in "kv" for kind in "bhf"}
    return {
        "torch": torch, "F": F, "sdpa": F.scaled_dot_product_attention, **made,
        "many": (2 * pattern(torch, 2, 3, 70, 16, seed=6)).bfloat16(),
        "swapped": lambda *tensors: [t.transpose(1, 2).contiguous().transpose(1, 2).requires_grad_() for t in tensors],
        "pulled": lambda y, leaves: [g.float() for g in torch.autograd.grad(y, leaves, y.detach().cos())],
        "numbers": numbers, "dead": dead, "seen": dead > 0.3,
        **few,
        "leaves": lambda *tensors: [t.clone().requires_grad_() for t in tensors],
        "gradients": lambda y, leaves: torch.autograd.grad(y.float().pow(2).sum(), leaves),
    }  # fmt: skip


CASES = [
    case.format(k=kind)
    for kind in "bhf"
    for case in (
        "sdpa(q{k}, k{k}, v{k})",
        "sdpa(q{k}, k{k}, v{k}, is_causal=True)",
        "sdpa(q{k}, k{k}, v{k}, scale=0.7)",
        "sdpa(q{k}, k{k}, v{k}, seen)",
        "sdpa(q{k}, k{k}, v{k}, numbers.to(q{k}.dtype))",
        "sdpa(q{k}, k{k}, v{k}, dead.to(q{k}.dtype))",
        "sdpa(q{k}, k{k}, v{k}, dead.to(q{k}.dtype), is_causal=True)",
        "sdpa(q{k}, few_k{k}, few_v{k}, numbers[:, :1].to(q{k}.dtype))",
        "sdpa(q{k}, k{k}[:, :1], v{k}[:, :1], enable_gqa=True)",
    )
] + [
    "sdpa(qb[0], kb[0], vb[0])",
    "sdpa(qf[0], kf[0], vf[0])",
    "(lambda t: gradients(sdpa(*t, dead), t))(leaves(qf, kf, vf))",
    "(lambda t: gradients(sdpa(*t, seen), t))(leaves(qf, kf, vf))",
    *(
        f"(lambda t: pulled(sdpa(*t{more}), t))(leaves(q{kind}, k{kind}, v{kind}))"
        for kind in "bh"
        for more in ("", ", is_causal=True", ", scale=0.7", ", seen", f", dead.to(q{kind}.dtype)")
    ),
    "(lambda t: pulled(sdpa(*t, enable_gqa=True), t))(leaves(qb, kb[:, :1], vb[:, :1]))",
    "(lambda t: pulled(sdpa(*t), t))(leaves(many, kb, vb))",  # more queries than a block has
    "(lambda t: pulled(sdpa(*t, is_causal=True), t))(leaves(many, kb, vb))",
    "[sdpa(*t).stride() for t in (swapped(qb, kb, vb), swapped(qf, kf, vf), leaves(qb, kb, vb))]",
    "(lambda t: [g.stride() for g in torch.autograd.grad(sdpa(*t).sum(), t)])(leaves(qb, kb, vb))",
    "(lambda t: sdpa(*t).grad_fn.name())(leaves(qb, kb, vb))",
]
