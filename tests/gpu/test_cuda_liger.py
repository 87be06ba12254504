"""Stock Liger-Kernel at realistic shapes: forward and backward against float64 on the CPU."""

import pytest

import shim_torch as torch

F = torch.nn.functional
if torch.cuda.is_available():
    liger = pytest.importorskip("liger_kernel.transformers.functional")

ROWS, HIDDEN, VOCAB = 2048, 4096, 32000


def rms_norm(x, w):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w


def layer_norm(x, w, b):
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-6) * w + b


def group_norm(x, w, b):
    n, c, s = x.shape
    g = x.reshape(n, 8, -1)
    centred = g - g.mean(-1, keepdim=True)
    normal = (centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-6)).reshape(n, c, s)
    return normal * w[None, :, None] + b[None, :, None]


def gelu_tanh(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def jsd(log_q, log_p, beta=0.5):
    p, q = log_p.exp(), log_q.exp()
    m = beta * p + (1 - beta) * q
    log_m = m.log()
    return (beta * (p * (log_p - log_m)) + (1 - beta) * (q * (log_q - log_m))).sum() / log_q.shape[0]


# name: (Liger's function, reference, shapes of the inputs, dtype)
CASES = {
    "rms_norm": (lambda x, w: liger.liger_rms_norm(x, w, 1e-6, in_place=False), rms_norm, [(ROWS, HIDDEN), (HIDDEN,)]),
    "layer_norm": (
        lambda x, w, b: liger.liger_layer_norm(x, w, b, 1e-6),
        layer_norm,
        [(ROWS, HIDDEN), (HIDDEN,), (HIDDEN,)],
    ),
    "group_norm": (
        lambda x, w, b: liger.liger_group_norm(x, w, b, 32, 8, 1e-6),
        group_norm,
        [(16, 32, 1024), (32,), (32,)],
    ),
    "swiglu": (lambda a, b: liger.liger_swiglu(a, b), lambda a, b: a * torch.sigmoid(a) * b, [(ROWS, 8192)] * 2),
    "geglu": (lambda a, b: liger.liger_geglu(a, b), lambda a, b: gelu_tanh(a) * b, [(ROWS, 8192)] * 2),
    "dyt": (
        lambda x, a, g, b: liger.liger_dyt(x, a, g, b),
        lambda x, a, g, b: torch.tanh(a * x) * g + b,
        [(ROWS, HIDDEN), (1,), (HIDDEN,), (HIDDEN,)],
    ),
}
TOLERANCE = {torch.float32: 2e-5, torch.bfloat16: 2e-2}


def relative(ours, exact):
    ours, exact = ours.detach().double().cpu(), exact.detach().double()
    return ((ours - exact).norm() / exact.norm().clamp(min=1e-30)).item()


def check(function, reference, leaves, tolerance):
    """Output and gradients of function over CUDA leaves against reference over float64 CPU copies."""
    exact_leaves = [t.detach().double().cpu().requires_grad_() for t in leaves]
    exact = reference(*exact_leaves)
    ours = function(*leaves)
    torch.manual_seed(1)
    g = torch.randn(exact.shape, dtype=torch.float64) if exact.dim() else torch.ones((), dtype=torch.float64)
    g = g.to(ours.dtype).double()
    exact.backward(g)
    ours.backward(g.to(device="cuda", dtype=ours.dtype))
    assert relative(ours, exact) < tolerance
    for i, (a, b) in enumerate(zip(leaves, exact_leaves, strict=True)):
        assert relative(a.grad, b.grad) < tolerance * 4, f"gradient {i}"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_pointwise_and_norms(name, dtype):
    function, reference, shapes = CASES[name]
    torch.manual_seed(0)
    leaves = [torch.randn(s, device="cuda", dtype=dtype).requires_grad_() for s in shapes]
    check(function, reference, leaves, TOLERANCE[dtype])


def test_rope():
    b, heads, kv, length, dim = 2, 8, 2, 512, 128
    torch.manual_seed(0)
    q, k = torch.randn(b, heads, length, dim, device="cuda"), torch.randn(b, kv, length, dim, device="cuda")
    q.requires_grad_(), k.requires_grad_()
    angle = torch.arange(length)[:, None] / (10000.0 ** (torch.arange(0, dim, 2) / dim))
    angle = torch.cat([angle, angle], -1)[None].double()
    cos, sin = angle.cos(), angle.sin()

    def turn(x):
        half = x.shape[-1] // 2
        return x * cos[:, None] + torch.cat([-x[..., half:], x[..., :half]], -1) * sin[:, None]

    eq, ek = q.detach().double().cpu().requires_grad_(), k.detach().double().cpu().requires_grad_()
    exact = turn(eq).sum() * 0.5 + (turn(ek) ** 2).sum()
    q2, k2 = liger.liger_rope(q.clone(), k.clone(), cos.float().cuda(), sin.float().cuda())
    assert relative(q2, turn(eq)) < 1e-5
    assert relative(k2, turn(ek)) < 1e-5
    exact.backward()
    (q2.sum() * 0.5 + (k2**2).sum()).backward()
    assert relative(q.grad, eq.grad) < 1e-5
    assert relative(k.grad, ek.grad) < 1e-5


@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.1, "reduction": "sum"}], ids=["mean", "smoothed"])
def test_cross_entropy(options):
    torch.manual_seed(0)
    logits = torch.randn(512, VOCAB, device="cuda").requires_grad_()
    target = torch.randint(0, VOCAB, (512,), device="cuda")
    target[::7] = -100
    exact = logits.detach().double().cpu().requires_grad_()
    want = F.cross_entropy(exact, target.cpu(), **options)
    # Liger writes the gradient over its input: give it a copy that autograd follows
    got = liger.liger_cross_entropy(logits * 1.0, target, **options)
    want.backward()
    got.backward()
    assert relative(got, want) < 1e-5
    assert relative(logits.grad, exact.grad) < 1e-5


def test_fused_linear_cross_entropy():
    torch.manual_seed(0)
    x = torch.randn(1024, 1024, device="cuda").mul_(0.1).requires_grad_()
    w = torch.randn(8000, 1024, device="cuda").mul_(0.1).requires_grad_()
    target = torch.randint(0, 8000, (1024,), device="cuda")
    ex, ew = (t.detach().double().cpu().requires_grad_() for t in (x, w))
    want = F.cross_entropy(ex @ ew.t(), target.cpu())
    got = liger.liger_fused_linear_cross_entropy(x, w, target)
    want.backward()
    got.backward()
    assert relative(got, want) < 1e-4
    assert relative(x.grad, ex.grad) < 2e-3
    assert relative(w.grad, ew.grad) < 2e-3


def distributions(rows=256):
    torch.manual_seed(0)
    a = torch.log_softmax(torch.randn(rows, VOCAB, dtype=torch.float64), -1)
    b = torch.log_softmax(torch.randn(rows, VOCAB, dtype=torch.float64), -1)
    return a, b


def test_kl_div():
    a, b = distributions()
    x, ex = a.float().cuda().requires_grad_(), a.clone().requires_grad_()
    want = F.kl_div(ex, b.exp(), reduction="batchmean")
    got = liger.liger_kl_div(x, b.exp().float().cuda(), reduction="batchmean")
    want.backward(), got.backward()
    assert relative(got, want) < 1e-4
    assert relative(x.grad, ex.grad) < 1e-5


def test_jsd():
    a, b = distributions()
    x, ex = a.float().cuda().requires_grad_(), a.clone().requires_grad_()
    want, got = jsd(ex, b), liger.liger_jsd(x, b.float().cuda())
    want.backward(), got.backward()
    assert relative(got, want) < 1e-4
    assert relative(x.grad, ex.grad) < 1e-3


def test_tvd():
    a, b = distributions()
    p, q = a.exp(), b.exp()
    x, ex = p.float().cuda().requires_grad_(), p.clone().requires_grad_()
    want = 0.5 * (ex - q).abs().sum() / p.shape[0]
    got = liger.liger_tvd(x, q.float().cuda(), reduction="batchmean")
    want.backward(), got.backward()
    assert relative(got, want) < 1e-4
    assert relative(x.grad, ex.grad) < 1e-2


def test_modules_train():
    from liger_kernel.transformers import LigerCrossEntropyLoss, LigerRMSNorm

    torch.manual_seed(0)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.norm, self.out = torch.nn.Linear(64, 128), LigerRMSNorm(128), torch.nn.Linear(128, 10)

        def forward(self, x):
            return self.out(self.norm(F.silu(self.inner(x))))

    net, loss_of = Net().cuda(), LigerCrossEntropyLoss()
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
    x = torch.randn(512, 64, device="cuda")
    y = x[:, :10].argmax(-1)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = loss_of(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
