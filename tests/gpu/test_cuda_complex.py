"""Complex numbers on CUDA against the CPU: arithmetic, functions, copies, sums, gradients, and what programs make of them."""

import math

import pytest

import shim_torch as torch

pytestmark = pytest.mark.usefixtures("on_our_kernels")

NAN, INF = float("nan"), float("inf")
PARTS = (0.0, -0.0, 1.5, -2.25, INF, -INF, NAN)
SPECIAL = [complex(a, b) for a in PARTS for b in PARTS]
COMPLEX = [torch.complex64, torch.complex128]
TOLERANCE = {torch.complex64: 2e-5, torch.complex128: 1e-11, torch.float32: 2e-5, torch.float64: 1e-11, torch.bool: 0}


def same(call, *args):
    expected, found = call(*args), call(*(t.cuda() for t in args))
    assert found.is_cuda
    tolerance = TOLERANCE[expected.dtype]
    torch.testing.assert_close(found.cpu(), expected, rtol=tolerance, atol=tolerance, equal_nan=True)


def values(*shape, dtype):
    return torch.complex(torch.randn(*shape, dtype=torch.float64), torch.randn(*shape, dtype=torch.float64)).to(dtype)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "eq", "ne"])
def test_of_two_tensors(name, dtype):
    call = getattr(torch, name)
    a = torch.tensor(SPECIAL, dtype=dtype).repeat(len(SPECIAL))
    b = torch.tensor(SPECIAL, dtype=dtype).repeat_interleave(len(SPECIAL))
    same(call, a, b)
    x, y = values(37, 24, dtype=dtype), values(24, dtype=dtype)
    same(call, x, y)
    same(call, x.t(), y[:, None])
    same(call, x, y.real)
    same(call, y.imag, x)
    same(lambda x: call(x, 2.5), x)
    same(lambda x: call(x, 1 - 2j), x)
    same(lambda x: call(x.real, 2j), x)
    same(lambda x, y: call(x.conj(), y), x, y)
    if name not in ("eq", "ne"):
        same(lambda x, y: call(x, y.conj(), out=torch.zeros_like(x).conj()), x, y)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize(
    "name",
    "neg square reciprocal abs angle sgn sqrt rsqrt exp exp2 log log2 log10 log1p sin cos tan sinh cosh tanh sigmoid conj_physical "
    "isnan isinf isfinite isreal".split(),
)
def test_of_one_tensor(name, dtype):
    call, z = getattr(torch, name), values(29, 18, dtype=dtype)
    same(call, z)
    same(call, z.t()[1:])
    same(call, z.conj())
    if name in "neg reciprocal abs angle sqrt log conj_physical isnan isinf isfinite".split():
        same(call, torch.tensor(SPECIAL, dtype=dtype))


@pytest.mark.parametrize("name", ["tan", "tanh", "log1p", "log", "sin", "sinh"])
def test_near_poles_and_zeros(name):
    z, call = 1e-3 * values(3, 500, dtype=torch.complex64), getattr(torch, name)
    z = z + torch.tensor([[0], [math.pi / 2], [math.pi / 2 * 1j]])
    expected = call(z.to(torch.complex128))
    for found in (call(z), call(z.cuda()).cpu()):
        assert ((found - expected).abs() / expected.abs()).max() < 1e-6


@pytest.mark.parametrize("dtype", COMPLEX)
def test_powers(dtype):
    z = values(300, dtype=dtype)
    for exponent in (2, 3, 0.5, -1, 1.5, 1 + 1j):
        same(lambda z, e=exponent: z**e, z)
    same(lambda z: z ** z.flip(0), z)
    same(lambda z: 2**z, z)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_in_place(dtype):
    z, w = values(40, 6, dtype=dtype), values(6, dtype=dtype)
    for call in (
        lambda z, w: z.clone().mul_(w),
        lambda z, w: z.clone().div_(w.real),
        lambda z, w: z.clone().add_(w, alpha=3),
        lambda z, w: z.clone().exp_(),
        lambda z, w: z.clone().conj_physical_(),
        lambda z, w: torch.mul(z, w, out=torch.empty_like(z)),
        lambda z, w: torch.abs(z, out=torch.empty_like(z.real)),
    ):
        same(call, z, w)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_casts_and_fills(dtype):
    z = values(33, 10, dtype=dtype)
    for to in (torch.complex64, torch.complex128, torch.float32, torch.float64, torch.bool):
        same(lambda z, to=to: z.to(to), z)
        same(lambda z, to=to: z.t().conj().to(to), z)
        same(lambda z, to=to: z.real.to(to).to(dtype), z)
    same(lambda z: torch.complex(z.real, z[0].imag), z)
    same(lambda z: torch.where(z.real > 0, z, 1j), z)
    same(lambda z: z.masked_fill(z.real > 0, 2 - 1j), z)
    assert torch.equal(z.cuda().to(torch.int32).cpu(), z.to(torch.int32))
    same(lambda z: z.conj().imag.clone(), z)
    twice = z.cuda()
    twice.copy_(twice.conj())  # over its own memory
    assert torch.equal(twice.cpu(), z.conj().clone())
    for n in (5, 1 << 16):
        t = torch.zeros(3, n, dtype=dtype, device="cuda")
        t[:, ::3].fill_(2 - 1j)
        assert (t[:, ::3] == 2 - 1j).all() and not t[:, 1::3].any()
        assert (t.conj().fill_(1j).cpu() == 1j).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.float32, torch.bfloat16])
def test_fills_of_strided_tensors(dtype):
    t = torch.zeros(3, 1 << 16, dtype=dtype, device="cuda")
    t[:, 1::2].fill_(7)
    assert (t[:, 1::2] == 7).all() and not t[:, ::2].any()
    assert (t.fill_(5) == 5).all()


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("shape", [(7,), (100000,), (64, 300), (300, 64), (5, 70, 40)])
def test_reductions(shape, dtype):
    z = values(*shape, dtype=dtype)
    for call in (torch.sum, torch.mean):
        same(lambda z, call=call: call(z) / 100, z)
        for dim in range(z.dim()):
            same(lambda z, call=call, dim=dim: call(z, dim) / 100, z)
    same(lambda z: (z / z.abs())[..., :300].prod(-1), z)
    same(lambda z: z.real.sum(0, dtype=dtype) / 100, z)
    same(lambda z: z.any(), z)
    same(lambda z: z.mean(), torch.tensor([1, INF * 1j], dtype=dtype))


GRADIENTS = {
    "mul": lambda z, w: z * w,
    "mul by real": lambda z, w: z * w.real,
    "div": lambda z, w: z / w,
    "abs": lambda z, w: z.abs() + w.abs(),
    "angle": lambda z, w: z.angle() * w.angle(),
    "sgn": lambda z, w: z.sgn() * w,
    "exp": lambda z, w: (z * w).exp(),
    "log": lambda z, w: z.log() / w,
    "sqrt": lambda z, w: z.sqrt() * w,
    "square": lambda z, w: z.square() * w.conj(),
    "reciprocal": lambda z, w: z.reciprocal() - w,
    "parts": lambda z, w: torch.complex(z.real * w.imag, z.imag),
    "polar": lambda z, w: torch.polar(z.abs(), w.angle()),
    "sums": lambda z, w: z.sum(0) * w.mean(0),
}


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name, dtype):
    z, w = values(9, 14, dtype=dtype), values(9, 14, dtype=dtype)
    found = []
    for device in ("cpu", "cuda"):
        leaves = [t.detach().to(device).requires_grad_() for t in (z, w)]
        result = GRADIENTS[name](*leaves)
        g = z[0, 0] if result.is_complex() else z[0, 0].real
        result.backward(g.to(device).expand_as(result))
        found.append([t.grad.cpu() for t in leaves])
    torch.testing.assert_close(*found, rtol=10 * TOLERANCE[dtype], atol=10 * TOLERANCE[dtype])


def test_rotary_embedding():
    x, angles = torch.randn(2, 16, 4, 32), torch.randn(16, 1, 16)

    def rotated(x, angles):
        turns = torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(torch.view_as_complex(x.float().reshape(2, 16, 4, 16, 2)) * turns).flatten(3)

    same(rotated, x, angles)
    grads = []
    for device in ("cpu", "cuda"):
        leaf = x.detach().to(device).requires_grad_()
        (rotated(leaf, angles.to(device)) * x.to(device).flip(0)).sum().backward()
        grads.append(leaf.grad.cpu())
    torch.testing.assert_close(*grads)


def test_losses_of_lengths_of_transforms():
    x = torch.randn(3, 512)

    def loss(x):
        z = torch.fft.rfft(x)
        return (z.abs() + 1e-6).log().mean() + (z * z.conj()).real.mean() / 512

    found = []
    for device in ("cpu", "cuda"):
        leaf = x.detach().to(device).requires_grad_()
        value = loss(leaf)
        value.backward()
        found.append((value.detach().cpu(), leaf.grad.cpu()))
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_products(dtype):
    a, b, v = values(3, 64, 48, dtype=dtype), values(48, 96, dtype=dtype), values(48, dtype=dtype)
    x, weight = values(4, 32, 12, 9, dtype=dtype), values(32, 24, 12, 9, dtype=dtype)
    convolved, none = "bixy,ioxy->boxy", values(4, 0, dtype=dtype)
    same(torch.matmul, none, none.t())
    for call, given in (
        (torch.mm, (a[0], b)),
        (torch.bmm, (a, a.mT)),
        (torch.matmul, (a, b)),
        (torch.matmul, (a, v)),
        (torch.matmul, (v, b)),
        (torch.mv, (a[0], v)),
        (torch.matmul, (a, b.conj())),
        (torch.dot, (v, v.flip(0))),
        (torch.vdot, (v, v.flip(0))),
        (torch.addmm, (b[0], a[0], b)),
        (torch.nn.functional.linear, (a, b.mT, b[0])),
        (lambda x, w: torch.einsum(convolved, x, w), (x, weight)),
    ):
        found = []
        for device in ("cpu", "cuda"):
            leaves = [t.detach().to(device).requires_grad_() for t in given]
            result = call(*leaves)
            result.abs().sum().backward()
            found.append([result.detach().cpu(), *(t.grad.cpu() for t in leaves)])
        torch.testing.assert_close(*found, rtol=50 * TOLERANCE[dtype], atol=50 * TOLERANCE[dtype])
    same(torch.linalg.vector_norm, a)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_places(dtype):
    z, rows = values(50, 33, dtype=dtype), values(70, 33, dtype=dtype)
    at = torch.randint(0, 50, (70,))
    same(lambda z, i, r: z.index_add(0, i, r), z, at, rows)
    same(lambda z, i, r: z.t().index_add(-1, i, r.t()), z, at, rows)
    same(lambda z, i, r: z.scatter_add(0, i[:, None].expand(-1, 33), r), z, at, rows)
    same(lambda z, i, r: z.index_put((i,), r, accumulate=True), z, at, rows)
    same(lambda z, i: torch.autograd.grad(z.requires_grad_()[i].abs().sum(), z)[0], z, at)
    same(lambda z, i: torch.autograd.grad(z.requires_grad_().gather(0, i[:, None]).abs().sum(), z)[0], z, at)
    for call in (lambda z: z.cumsum(0), lambda z: z.cumsum(-1)):
        same(call, z)
    holes = z.masked_fill(z.real > 0.7, 0)
    assert torch.equal(holes.cuda().nonzero().cpu(), holes.nonzero())
    if dtype is torch.complex64:
        same(torch.tril, z)
        same(torch.triu, z)
