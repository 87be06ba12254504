"""Complex numbers on the simulated driver, without CuPy: what our kernels give is what the CPU gives."""

import shim_torch as torch

NAN, INF = float("nan"), float("inf")
PARTS = (0.0, -0.0, 1.5, -2.25, INF, -INF, NAN)
SPECIAL = [complex(a, b) for a in PARTS for b in PARTS]
FINITE = [complex(a, b) for a in (0.3, -0.7, 2.1, -3.3, 0.0) for b in (0.2, -1.1, 4.4, 0.0)]


def same(call, *args):
    """call() of tensors on the CPU and of the same on the GPU gives the same."""
    expected, found = call(*args), call(*(t.cuda() for t in args))
    assert found.is_cuda, call
    torch.testing.assert_close(found.cpu(), expected, equal_nan=True)


def arithmetic():
    for dtype in (torch.complex64, torch.complex128):
        a = torch.tensor(SPECIAL, dtype=dtype).repeat(len(SPECIAL))
        b = torch.tensor(SPECIAL, dtype=dtype).repeat_interleave(len(SPECIAL))
        for op in ("add", "sub", "mul", "div", "eq") if dtype is torch.complex64 else ("div",):
            same(getattr(torch, op), a, b)
    a, b = a.to(torch.complex64), b.real.float()
    for call in (
        torch.mul,
        lambda a, b: b / a,  # real and complex
        lambda a, b: a.view(49, 49).t() * b.view(49, 49)[:, :1],  # strides
        lambda a, b: a * (0.5 - 2j),
        lambda a, b: torch.where(b > 0, a, 1j),
        lambda a, b: a.masked_fill(b == 0, 2 + 1j),
        lambda a, b: a.clone().mul_(b).add_(1j),
        lambda a, b: a.conj() * a.imag,
    ):
        same(call, a, b)
    same(lambda a, b: torch.add(a, b, alpha=2.5), torch.tensor(FINITE), torch.tensor(FINITE).flip(0))
    # Llama's rotary embedding.
    x, angles = torch.rand(2, 3, 4, 8), torch.rand(3, 1, 4)
    same(
        lambda x, a: torch.view_as_real(
            torch.view_as_complex(x.reshape(2, 3, 4, 4, 2)) * torch.polar(torch.ones_like(a), a)
        ).flatten(3),
        x,
        angles,
    )


def functions():
    special, finite = torch.tensor(SPECIAL), torch.tensor(FINITE)
    for name in "reciprocal sqrt log abs angle conj_physical isfinite".split():
        same(getattr(torch, name), special)
    for name in "exp sgn sin tanh".split():
        same(getattr(torch, name), finite)
    same(lambda z: z**1.5, finite)
    same(torch.exp, torch.tensor([88.8 + 1j, -INF + 2j, 3 + 0j, INF + 0j]))  # neither overflows nor is NaN


def copies():
    z, real = torch.tensor(FINITE), torch.tensor(FINITE).real
    same(lambda z, r: torch.complex(r, z.imag), z, real)
    for dtype in (torch.complex128, torch.int32, torch.bool):
        same(lambda z, d=dtype: z.to(d), z)
    same(lambda r: r.to(torch.complex128), real)
    same(lambda z: z.conj().to(torch.complex128), z)
    same(lambda z: z.view(4, 5).t().conj().resolve_conj(), z)
    same(lambda z: z.conj().imag.clone(), z)
    twice = z.cuda()
    twice.copy_(twice.conj())  # over its own memory
    torch.testing.assert_close(twice.cpu(), z.conj().clone())
    for dtype, value in ((torch.complex64, 1 - 2j), (torch.int64, 7)):
        for n in (3, 1 << 13):
            t = torch.zeros(2, n, dtype=dtype).cuda()
            t[:, ::2].fill_(value)
            assert (t.cpu()[:, ::2] == value).all() and not t.cpu()[:, 1::2].any()
            assert (t.fill_(value).cpu() == value).all()
    conjugate = torch.zeros(1 << 13, dtype=torch.complex64).cuda().conj()
    assert (conjugate.fill_(1j).cpu() == 1j).all()


def sums():
    z = torch.rand(3, 70, 40, dtype=torch.complex64)
    for call in (
        lambda z: z.sum(),
        lambda z: z.mean((0, 2)),
        lambda z: z.sum(1),
        lambda z: z[:, :5, 0].prod(-1),
        lambda z: z.real.sum(2, dtype=torch.complex128),
        lambda z: z.any(),
    ):
        same(call, z)
    same(lambda z: z.mean(), torch.tensor([1, INF * 1j]))


def places():
    torch.manual_seed(0)
    z, rows = torch.rand(5, 6, dtype=torch.complex64), torch.rand(4, 6, dtype=torch.complex64)
    at, places = torch.tensor([0, 3, 3, 1]), torch.tensor([[0, 1, 4, 4, 2, 0], [1, 1, 3, 0, 0, 0]])
    same(lambda z, i, r: z.index_add(0, i, r), z, at, rows)
    same(lambda z, i, r: z.t().index_add(-1, i, r.t()), z, at, rows)
    same(lambda z, i, r: z.scatter_add(0, i, r), z, places, rows)
    same(lambda z, i, r: z.index_put((i,), r, accumulate=True), z, at, rows)
    same(lambda z, i, r: z.index_put((i, i), r[:, 0], accumulate=True), z, at, rows)
    for call in (torch.tril, torch.triu, torch.nonzero, lambda z: z.cumsum(0), lambda z: z.cumsum(-1)):
        same(call, z.masked_fill(z.real > 0.7, 0))
    same(lambda z, i: torch.autograd.grad(z.requires_grad_()[i].abs().sum(), z)[0], z, at)
    same(lambda z, i: torch.autograd.grad(z.requires_grad_().gather(0, i).abs().sum(), z)[0], z, places)


def gradients():
    """By the formulas of the records, whose steps are kernels of ours."""
    torch.manual_seed(0)
    z, w = torch.tensor([1 + 2j, 0, -3j, 4, -1 + 1j, 2 - 5j]), torch.rand(6, dtype=torch.complex64)
    g, size = torch.rand(6, dtype=torch.complex64), torch.rand(6)
    for call in (
        lambda z: z * w.to(z.device),
        lambda z: z * size.to(z.device),
        lambda z: z / w.to(z.device),
        lambda z: w.to(z.device) / (z + 1),
        lambda z: z.abs() * (1 + 0j),
        lambda z: (z + 1).angle() * (1 + 0j),
        lambda z: (z + 0.5).sgn(),
        torch.exp,
        lambda z: (z + 0.5).log(),
        lambda z: (z + 0.5).reciprocal(),
        lambda z: z.conj() * z,
        lambda z: z.sum() * z.mean(),
        lambda z: torch.complex(z.real, z.imag**2),
        torch.square,
    ):
        found = []
        for device in ("cpu", "cuda"):
            leaf = z.to(device).requires_grad_()
            result = call(leaf)
            (slope,) = torch.autograd.grad(result, leaf, (g if result.dim() else g[0]).to(device))
            found.append(slope.cpu())
        torch.testing.assert_close(*found)


def products():
    """Of vectors, matrices and batches, as one product of real ones; gradients too."""
    torch.manual_seed(0)
    a, b, v = (torch.randn(*s, dtype=torch.complex64) for s in ((3, 4, 5), (5, 6), (5,)))
    batch, none = torch.randn(3, 5, 2, dtype=torch.complex64), torch.zeros(4, 0, dtype=torch.complex64)
    same(torch.mm, a[0], b)
    same(torch.bmm, a, batch)
    for right in (b, v, batch, batch[1:2], b.t().contiguous().t(), b.conj()):
        same(torch.matmul, a, right)
    same(torch.matmul, v, b)
    same(torch.dot, v, v)
    same(torch.vdot, v, v)
    same(torch.mv, a[0], v)
    same(torch.matmul, none, none.t())
    same(torch.matmul, a[0].to(torch.complex128), b.to(torch.complex128))
    spectral = torch.randn(2, 5, 3, 2, dtype=torch.complex64), torch.randn(5, 4, 3, 2, dtype=torch.complex64)

    def convolved(x, weight):
        return torch.einsum("bixy,ioxy->boxy", x, weight)

    same(convolved, *spectral)
    layer = a, torch.randn(7, 5, dtype=torch.complex64), torch.randn(7, dtype=torch.complex64)
    same(torch.nn.functional.linear, *layer)
    same(torch.addmm, layer[2][:6], a[0], b)
    same(torch.linalg.vector_norm, a)
    for call, given in (
        (convolved, spectral),
        (torch.matmul, (a, b)),
        (torch.mm, (a[0], b)),
        (torch.mv, (a[0], v)),
        (torch.nn.functional.linear, layer),
        (torch.nn.functional.linear, (a, layer[1].t().contiguous().t(), layer[2])),
    ):
        found = []
        for device in ("cpu", "cuda"):
            leaves = [t.to(device).requires_grad_() for t in given]
            result = call(*leaves)
            slope = (torch.arange(1.0, result.numel() + 1) * (1 - 0.5j)).view(result.shape)
            found.append([t.cpu() for t in torch.autograd.grad(result, leaves, slope.to(device))])
        torch.testing.assert_close(*found)
