"""Lists of tensors, products of narrow dtypes and of groups, gradients that are operators."""

from .expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    a, b = pattern(torch, 2, 3, seed=1).requires_grad_(), pattern(torch, 4, seed=2).requires_grad_()
    c, d = pattern(torch, 2, 3, seed=3), pattern(torch, 4, seed=4)
    x, g = pattern(torch, 12, 16, seed=5).requires_grad_(), pattern(torch, 3, 16, 8, seed=6).requires_grad_()
    y, z = pattern(torch, 3, 4, 16, seed=7).requires_grad_(), pattern(torch, 16, 12, seed=8).requires_grad_()
    narrow = pattern(torch, 16, 32, seed=9)
    f8 = torch.float8_e4m3fn
    i8 = (pattern(torch, 17, 8, seed=10) * 60).to(torch.int8)

    def changed(f, *lists):
        lists = [[t.detach().clone() for t in given] for given in lists]
        f(*lists)
        return lists[0]

    return {
        "torch": torch, "F": torch.nn.functional, "aten": torch.ops.aten, "a": a, "b": b, "c": c, "d": d, "x": x, "g": g,
        "y": y, "z": z, "p": [a, b], "q": [c, d], "f8": f8, "m": narrow.to(f8), "n": (narrow * 0.5).to(f8).t(), "i8": i8,
        "one": torch.tensor(1.5), "rows": pattern(torch, 16, 1, seed=11).abs() + 0.1,
        "columns": pattern(torch, 1, 16, seed=12).abs() + 0.1, "offs": torch.tensor([4, 6, 12], dtype=torch.int32),
        "changed": changed,
    }  # fmt: skip


_UNARY = [f"torch._foreach_{n}(p)" for n in "abs exp neg sigmoid tanh sin round reciprocal erf".split()] + [
    f"changed(torch._foreach_{n}_, [c.abs(), d.abs()])" for n in "sqrt log rsqrt zero".split()
]
_BINARY = [
    f"torch._foreach_{n}(p, {other})"
    for n in ("add", "sub", "mul", "div", "maximum", "clamp_min", "minimum")
    for other in ("q", "2.5", "[1.5, -2.0]")
] + [f"changed(torch._foreach_{n}_, p, q)" for n in ("add", "sub", "mul", "div", "copy", "clamp_max")]
_BACKWARD = [
    f"aten.{n}_backward(d, c.reshape(-1)[:4]{more})"
    for n, more in (
        ("silu", ""), ("gelu", ""), ("gelu", ", approximate='tanh'"), ("sigmoid", ""), ("tanh", ""), ("threshold", ", 0.5"),
        ("hardtanh", ", -1.0, 1.0"), ("leaky_relu", ", 0.1, False"), ("hardsigmoid", ""), ("hardswish", ""),
        ("softplus", ", 1.0, 1.5"), ("mish", ""), ("logit", ", 0.1"),
    )
]  # fmt: skip
_REST = """
torch._foreach_add(p, q, alpha=3)
torch._foreach_add(p, one)
torch._foreach_mul(p, one)
torch._foreach_pow(q, 2)
torch._foreach_pow(2.0, p)
torch._foreach_pow([c.abs(), d.abs()], [0.5, 1.5])
torch._foreach_lerp(p, q, 0.3)
torch._foreach_lerp(p, q, [c, d])
torch._foreach_lerp(p, q, [0.2, 0.6])
torch._foreach_addcmul(p, q, q, 0.5)
torch._foreach_addcmul(p, q, q, [0.5, 2.0])
torch._foreach_addcdiv(q, q, q, torch.tensor([0.5, 2.0]))
changed(lambda l, r: torch._foreach_addcdiv_(l, r, r, 0.1), p, q)
changed(lambda l, r: torch._foreach_lerp_(l, r, 0.1), p, q)
torch._foreach_norm(p)
torch._foreach_norm(p, 1)
torch._foreach_norm(p, float('inf'))
torch._foreach_max(q)
torch._foreach_clone(p)
torch._foreach_add(p, [c])
torch._foreach_add([], 1)
torch._foreach_add(p, [1.0])
torch._foreach_lerp([a], [c], [1.0, 2.0])
torch._foreach_addcmul(p, [c], q)
torch._foreach_add(p, torch.ones(2))
torch._scaled_mm(m, n, one, one).float()
torch._scaled_mm(m, n, one, one * 2, out_dtype=torch.bfloat16)
torch._scaled_mm(m, n, rows, columns, out_dtype=torch.bfloat16)
torch._scaled_mm(m, n, rows, columns, bias=columns[0].bfloat16(), out_dtype=torch.bfloat16)
torch._scaled_mm(m, n, one, one, out_dtype=torch.float32)
F.scaled_mm(m, n, one, F.ScalingType.TensorWise, one, F.ScalingType.TensorWise)
torch._scaled_mm(m, n[:30], one, one)
torch._scaled_mm(m.float(), n.float(), one, one)
torch._scaled_mm(m[0], n, one, one)
torch._scaled_mm(m, n, rows, one)
torch._int_mm(i8, i8.t())
torch._int_mm(i8, i8)
torch._int_mm(i8.float(), i8.t())
torch._grouped_mm(x.bfloat16(), g.bfloat16(), offs)
torch._grouped_mm(y.bfloat16(), g.bfloat16())
torch._grouped_mm(x, g, offs)
torch._grouped_mm(y, z, offs)
torch._grouped_mm(x.t(), z.t()[:, :8], offs)
F.grouped_mm(x, g, offs=offs)
torch._grouped_mm(x, g)
torch._grouped_mm(x, g, offs.long())
aten.elu_backward(a, 1.0, 1.0, 1.0, False, c)
aten.glu_backward(a[:, :2], c.repeat(1, 2)[:, :4], 1)
aten.silu_backward(c.bfloat16(), c.bfloat16())
aten._softmax_backward_data(c, c.softmax(1), 1, torch.float32)
aten._log_softmax_backward_data(c, c.log_softmax(0), 0, torch.float32)
torch.native_dropout(c, 0.0, True)
torch.native_dropout(c, 0.5, False)
torch.native_dropout(c, 1.0, True)
aten.native_dropout_backward(c, c > 0, 2.0)
aten.embedding_dense_backward(c, torch.tensor([1, 1]), 4, -1, True)
aten.embedding_dense_backward(c, torch.tensor([1, 2]), 4, 2, False)
torch.native_layer_norm(a, [3], d[:3], None, 1e-5)
torch.native_group_norm(y, None, None, 3, 4, 16, 2, 1e-5)
aten.native_layer_norm_backward(c, a.detach(), [3], *torch.native_layer_norm(a.detach(), [3], d[:3], None, 1e-5)[1:], d[:3], d[:3], [True, True, True])
torch._weight_norm(a, a[:, :1], 0)
torch.zeros(2, 3).scatter_reduce(0, torch.tensor([[0, 1, 0], [1, 1, 0]]), a, 'prod', include_self=False)
a.scatter_reduce(0, torch.tensor([[0, 1, 0], [1, 1, 0]]), c, 'amax')
"""
CASES = [*_UNARY, *_BINARY, *_BACKWARD, *_REST.strip().splitlines()]
