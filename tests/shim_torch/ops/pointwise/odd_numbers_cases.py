"""Gradients where numbers are infinite, none, or equal; and dtypes that do not go together."""


def inputs(torch):
    """The names that the expressions use."""
    nan, inf = float("nan"), float("inf")
    return {
        "torch": torch,
        "F": torch.nn.functional,
        "x": torch.tensor([nan, inf, -inf, 0.0, 3.0, -3.0, 0.5, -0.5, 6.0], requires_grad=True),
        "a": torch.tensor([1.0, 1.0, 2.0, 1.0, nan, nan, inf, inf, -inf], requires_grad=True),
        "b": torch.tensor([1.0, 2.0, 1.0, nan, 1.0, nan, inf, 1.0, -inf], requires_grad=True),
        "z": torch.tensor([0.0, -0.0, 1.0, nan, inf, -1.0], requires_grad=True),
        "h": torch.tensor([0.1, 0.7, 0.35, 0.96, 0.0, 1.0], dtype=torch.float16, requires_grad=True),
        "k": torch.tensor([0.1, 0.7, 0.35, 0.96, 0.0, 1.0], dtype=torch.bfloat16, requires_grad=True),
        "d": torch.tensor([[1.5], [-0.75]], dtype=torch.float64, requires_grad=True),
        "g": torch.ones(2, 4),
        "p": torch.ones(4),
        "i": torch.tensor([0, 1]),
    }


CASES = """
torch.maximum(a, b)
torch.minimum(a, b)
torch.fmax(a, b)
torch.fmin(a, b)
torch.fmax(a, b.detach())
a.max(b)
x.minimum(x)
F.elu(x)
F.elu(x, 2.0)
F.elu(x.clone(), inplace=True)
F.celu(x, 0.5)
F.selu(x)
F.hardtanh(x)
F.relu6(x)
F.hardswish(x)
F.hardshrink(x)
F.softshrink(x)
F.smooth_l1_loss(a, b)
F.smooth_l1_loss(a, b, reduction="none", beta=2.0)
F.huber_loss(a, b, reduction="sum")
F.huber_loss(a, b, reduction="none", delta=0.5)
torch.xlogy(z, 0)
torch.xlogy(z, 2.5)
torch.xlogy(z, float("nan"))
torch.xlogy(z, -1)
torch.xlogy(0, z)
torch.xlogy(z, z.detach())
torch.xlogy(h, k)
torch.xlogy(h, h)
torch.xlogy(k, k)
torch.logit(h)
torch.logit(k)
torch.logit(h, 0.25)
torch.hypot(d, z[2:3])
torch.hypot(h, d)
torch.remainder(d, h + 1)
torch.remainder(k[:3], d)
torch.fmod(d, z[2:3])
torch.mul(d, h)
torch.maximum(d, h)
d.clone().copy_(z[2:3])
z.clone().copy_(d[0])
h.double().copy_(k)
torch.ldexp(d, torch.tensor(3.7))
torch.ldexp(torch.tensor(3.7), d)
torch.ldexp(h, i[1])
torch.ldexp(h, torch.tensor(1.5, dtype=torch.float64))
F.elu(z).sum() * 1
F.rrelu(h)
torch.atan2(a, b)
torch.atan2(x * 0, x * 0)
F.layer_norm(g.double(), (4,), p, p)
F.layer_norm(g, (4,), p.double(), p.double())
F.layer_norm(g.half(), (4,), p.half(), p)
F.layer_norm(g.half(), (4,), p, p)
F.layer_norm(g, (4,), None, p.bfloat16())
F.group_norm(g.half(), 2, p.half(), p)
F.batch_norm(g.double(), p, p, p, p)
F.batch_norm(g, p, p.double())
F.batch_norm(g.bfloat16(), p, p, p, p)
F.batch_norm(g.bfloat16(), p, p, p.bfloat16(), p)
F.batch_norm(g.double(), p, p, training=True)
torch.native_layer_norm(g.double(), (4,), p, p, 1e-5)
torch.lerp(i, p[:2], 0.5)
torch.polar(p.half(), p)
~p
p.index_fill(0, i.int(), 2.0)
p.index_fill(0, i.int(), torch.tensor(2.0))
p.index_add(0, i[None], g[0, :2])
p.index_add(0, i.short(), g[0, :2])
torch.tensor(1.0).index_add(0, i, p[:2])
p[:0].index_select(0, i)
g[:, :0].index_select(1, i)
torch.tensor(1.0).movedim(0, -1)
torch.tensor(1.0).movedim((0,), (0,))
p.mul_(p, out=None)
p.add(p, out=None)
torch.add(p, p, out=None)
torch.conv1d(g[None], g[None], out=None)
torch.result_type(i, __import__("numpy").float32(2))
torch.result_type(__import__("numpy").int64(2), p)
torch.tensor(__import__("numpy").float64(1.75), dtype=torch.int64)
torch.tensor([2.5, __import__("numpy").float64(-1.75)], dtype=torch.int32)
__import__("numpy").float32(1) in p
__import__("numpy").int64(3) in p
p.to(torch.uint16).type()
p.to(torch.complex32).type()
""".strip().splitlines()
