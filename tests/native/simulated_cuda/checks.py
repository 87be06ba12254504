"""What test_simulated_cuda.py runs in an interpreter that sees the simulated GPU."""

from __future__ import annotations

import itertools
import math

import numpy as np

import shim_torch as torch
from shim_torch._impl.native import _core
from shim_torch_linear import fused_linear, legacy_linear

F = torch.nn.functional
EPS = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7, torch.float32: 2.0**-22, torch.float64: 2.0**-50}
rng = np.random.default_rng(0)


def random(*shape, dtype=torch.float32):
    return torch.from_numpy(rng.standard_normal(shape).astype(np.float32)).to(dtype).to("cuda")


def numbers(t):
    """In float64 on the host; a strided tensor's whole memory is fetched, as strided copies on a device are CuPy's part."""
    if t.is_cuda and not t.is_contiguous():
        whole = torch.as_strided(t.detach(), (t.untyped_storage().nbytes() // t.element_size(),), (1,), 0)
        t = torch.as_strided(whole.cpu(), t.shape, t.stride(), t.storage_offset())
    return t.detach().cpu().to(torch.float64).numpy()


def close(got, want, dtype, slack=4.0):
    got = numbers(got)
    assert got.shape == want.shape, (got.shape, want.shape)
    bound = slack * EPS[dtype] * (np.abs(want) + np.sqrt(np.mean(want**2)) if want.size else 1)
    assert (np.abs(got - want) <= bound + 1e-12).all(), np.abs(got - want).max()


def linear():
    shapes = [
        ((3,), 4),
        ((8,), 8),
        ((8, 3), 4),
        ((0, 3), 4),
        ((2, 3, 8), 8),
        ((21, 13), 11),
        ((5, 1), 7),
        ((5, 7), 1),
        ((1, 1), 1),
        ((4, 3), 0),
    ]
    for dtype, (shape, n) in itertools.product(EPS, shapes):
        x, w, b = random(*shape, dtype=dtype), random(n, shape[-1], dtype=dtype), random(n, dtype=dtype)
        for t in (x, w, b):
            t.requires_grad_()
        for _ in range(4):
            y = F.linear(x, w, b)
            g = random(*y.shape, dtype=dtype)
            dx, dw, db = torch.autograd.grad(y, (x, w, b), g)
            xd, wd, bd, gd = map(numbers, (x, w, b, g))
            rows = math.prod(shape[:-1])
            close(y, xd @ wd.T + bd, dtype)
            close(dx, gd @ wd, dtype)
            close(dw, gd.reshape(rows, n).T @ xd.reshape(rows, shape[-1]), dtype)
            close(db, gd.reshape(rows, n).sum(0), dtype, 8)
    status = _core.gemm_status()
    assert (
        status["fallbacks"] == 0 and status["cublaslt"] > 100 and status["own_kernels"] > 10 and status["tuned"] > 10
    ), status
    print("ok")


def accumulation():
    for dtype in EPS:
        w, total = random(16, 8, dtype=dtype).requires_grad_(), np.zeros((16, 8))
        for _ in range(5):
            x, g = random(6, 8, dtype=dtype), random(6, 16, dtype=dtype)
            F.linear(x, w).backward(g)
            total += numbers(g).T @ numbers(x)
            close(w.grad, total, dtype, 16)
    for dtype, rows in itertools.product(EPS, (3, 11)):  # few rows: with the other gradients, in one launch
        w, b, total = (
            random(24, 16, dtype=dtype).requires_grad_(),
            random(24, dtype=dtype).requires_grad_(),
            np.zeros((24, 16)),
        )
        for i in range(4):
            x, g = random(rows, 16, dtype=dtype).requires_grad_(), random(rows, 24, dtype=dtype)
            y = F.linear(x, w, b)
            before, version = _core.gemm_status(), w.grad._version if i else 0
            y.backward(g)
            after = _core.gemm_status()
            assert after["own_kernels"] == before["own_kernels"] + 1 and after["cublaslt"] == before["cublaslt"]
            assert not i or w.grad._version > version
            total += numbers(g).T @ numbers(x)
            close(w.grad, total, dtype, 16)
            close(x.grad, numbers(g) @ numbers(w), dtype)
    assert _core.gemm_status()["fallbacks"] == 0
    print("ok")


def strided(rows, cols, dtype):
    yield random(rows, cols, dtype=dtype)
    yield random(cols, rows, dtype=dtype).t()
    yield random(rows, cols + 3, dtype=dtype)[:, :cols]
    yield random(cols, rows + 3, dtype=dtype)[:, :rows].t()
    for offset in (1, 2, 4):
        yield random(rows, cols + 8, dtype=dtype)[:, offset : offset + cols]


def views():
    for dtype in (torch.float32, torch.bfloat16):
        for x, w in itertools.product(strided(6, 8, dtype), strided(16, 8, dtype)):
            for b in (None, random(16, dtype=dtype)):
                for _ in range(1 if dtype is torch.float32 else 3):
                    close(F.linear(x, w, b), numbers(x) @ numbers(w).T + (0 if b is None else numbers(b)), dtype)
            g = random(6, 16, dtype=dtype)
            close(_core.function("shim::linear_backward_input")(g, w), numbers(g) @ numbers(w), dtype)
            for transposed in (False, True):
                dw = _core.function("shim::linear_backward_weight")(g, x, transposed)
                close(dw, numbers(g).T @ numbers(x), dtype)
    base, w, b = random(3, 80, 8), random(5, 8), random(5)
    for x in (base, base[:, ::2], base[:, :40]):
        close(F.linear(x, w, b), numbers(x) @ numbers(w).T + numbers(b), torch.float32)
    assert _core.gemm_status()["fallbacks"] == 0
    print("ok")


def products():
    pairs = [
        ((4, 6), (6, 5)),
        ((3, 4, 6), (3, 6, 5)),
        ((3, 4, 6), (6, 5)),
        ((4, 6), (3, 6, 5)),
        ((6,), (6, 5)),
        ((4, 6), (6,)),
        ((6,), (6,)),
        ((2, 1, 4, 6), (3, 6, 5)),
    ]
    for dtype, (a, b) in itertools.product(EPS, pairs):
        x, y = random(*a, dtype=dtype), random(*b, dtype=dtype)
        if len(a) == 4:
            continue  # broadcast batches of two dimensions are copied, which is CuPy's part
        close(torch.matmul(x, y), numbers(x) @ numbers(y), dtype)
    for beta, alpha in ((1, 1), (0, 1), (0.5, -2)):
        c, p, q = random(4, 5), random(4, 6), random(6, 5)
        for _ in range(4):
            close(
                torch.addmm(c, p, q, beta=beta, alpha=alpha),
                beta * numbers(c) + alpha * (numbers(p) @ numbers(q)),
                torch.float32,
            )
    c, p, q = random(16), random(4, 6), random(6, 16)
    close(torch.addmm(c, p, q), numbers(c) + numbers(p) @ numbers(q), torch.float32)
    for dtype, (m, n) in itertools.product(EPS, ((1, 1), (5, 3), (70, 33), (3, 600))):
        before = _core.gemm_status()["own_kernels"]
        u, v = random(m, dtype=dtype).requires_grad_(), random(n, dtype=dtype).requires_grad_()
        y, g = torch.outer(u, v), random(m, n, dtype=dtype)
        assert _core.gemm_status()["own_kernels"] == before + 1
        du, dv = torch.autograd.grad(y, (u, v), g)
        close(y, np.multiply.outer(numbers(u), numbers(v)), dtype)
        close(du, numbers(g) @ numbers(v), dtype)
        close(dv, numbers(u) @ numbers(g), dtype)
    assert _core.gemm_status()["fallbacks"] == 0
    print("ok")


def activations():
    for dtype, (m, k, n), (name, approximate) in itertools.product(
        EPS, ((6, 8, 16), (7, 5, 13), (1, 16, 8)), (("relu", "none"), ("gelu", "none"), ("gelu", "tanh"))
    ):
        x, w = random(m, k, dtype=dtype).requires_grad_(), random(n, k, dtype=dtype).requires_grad_()
        b = random(n, dtype=dtype).requires_grad_()
        host = [torch.from_numpy(numbers(t)).requires_grad_() for t in (x, w, b)]
        want = fused_linear(*host, name, approximate=approximate)
        for _ in range(4):
            y = fused_linear(x, w, b, name, approximate=approximate)
            close(y, numbers(want), dtype, 8)
            g = random(m, n, dtype=dtype)
            exact = torch.autograd.grad(want, host, torch.from_numpy(numbers(g)), retain_graph=True)
            for got, right in zip(torch.autograd.grad(y, (x, w, b), g), exact, strict=True):
                close(got, numbers(right), dtype, 24)
            with torch.no_grad():
                close(fused_linear(x, w, b, name, approximate=approximate), numbers(want), dtype, 8)
    assert _core.gemm_status()["fallbacks"] == 0
    print("ok")


def kernels():
    sums = _core.function("shim::linear_backward_bias")
    for dtype, (rows, cols) in itertools.product(EPS, ((1, 1), (3, 5), (40, 33), (200, 70), (131, 260))):
        whole = random(rows, cols + 3, dtype=dtype)
        for g in (whole, whole[:, :cols], whole[:, 1 : cols + 1]):
            for _ in range(2):  # the counters are back at zero after the first
                close(sums(g), numbers(g).sum(0), dtype, 16)
    slope = _core.function("shim::activation_backward")
    both = _core.function("shim::activation_backward_bias")
    for dtype, name, cols in itertools.product(EPS, ("relu", "gelu", "gelu_tanh"), (21, 264)):
        g, z = random(70, cols, dtype=dtype), random(70, (cols + 7) & ~7, dtype=dtype)[:, :cols]
        want = slope(*(torch.from_numpy(numbers(t)) for t in (g, z)), name)
        close(slope(g, z, name), numbers(want), dtype, 8)
        dz, db = both(g, z, name)
        close(dz, numbers(want), dtype, 8)
        close(db, numbers(want).sum(0), dtype, 24)
    assert _core.gemm_status()["fallbacks"] == 0
    print("ok")


def few_rows():
    """By the simulated clock our own kernel wins wherever it fits."""
    for dtype, rows in itertools.product(EPS, (1, 2, 3, 5, 9, 16)):
        x, w, b = random(rows, 48, dtype=dtype), random(19, 48, dtype=dtype), random(19, dtype=dtype)
        for _ in range(3):
            close(F.linear(x, w, b), numbers(x) @ numbers(w).T + numbers(b), dtype)
        before = _core.gemm_status()
        close(F.linear(x, w, b), numbers(x) @ numbers(w).T + numbers(b), dtype)
        after = _core.gemm_status()
        assert after["own_kernels"] == before["own_kernels"] + 1 and after["cublaslt"] == before["cublaslt"]
    print("ok")


def skinny():
    """Gradients of few rows: each by a kernel of its own once measured, and all of them in one launch."""
    dx, dw = _core.function("shim::linear_backward_input"), _core.function("shim::linear_backward_weight")
    shapes = ((1, 24, 8), (3, 136, 72), (9, 20, 136), (16, 268, 16))
    for dtype, (rows, n, k) in itertools.product(EPS, shapes):
        x, w, g = random(rows, k, dtype=dtype), random(n, k, dtype=dtype), random(rows, n, dtype=dtype)
        for _ in range(4):
            before = _core.gemm_status()
            close(dx(g, w), numbers(g) @ numbers(w), dtype)
            close(dw(g, x, False), numbers(g).T @ numbers(x), dtype)
            after = _core.gemm_status()
        assert after["own_kernels"] == before["own_kernels"] + 2 and after["cublaslt"] == before["cublaslt"], (
            dtype,
            rows,
            n,
            k,
        )
        close(F.linear(x, w), numbers(x) @ numbers(w).T, dtype)
        for needs in itertools.product((False, True), repeat=3):
            tensors = [
                t.detach().requires_grad_(need) for t, need in zip((x, w, random(n, dtype=dtype)), needs, strict=True)
            ]
            if sum(needs) < 2:
                continue
            y = F.linear(*tensors)
            before = _core.gemm_status()["own_kernels"]
            y.backward(g)
            assert _core.gemm_status()["own_kernels"] == before + 1
            wants = (numbers(g) @ numbers(w), numbers(g).T @ numbers(x), numbers(g).sum(0))
            for t, need, want in zip(tensors, needs, wants, strict=True):
                assert (t.grad is not None) == need
                if need:
                    close(t.grad, want, dtype, 8)
    print("ok")


def float8():
    a8 = torch.from_numpy(rng.standard_normal((16, 32)).astype(np.float32)).to(torch.float8_e4m3fn)
    b8 = torch.from_numpy(rng.standard_normal((48, 32)).astype(np.float32)).to(torch.float8_e5m2)
    exact = numbers(a8) @ numbers(b8).T
    a, b = a8.to("cuda"), b8.to("cuda").t()
    half, two = torch.tensor(0.5).to("cuda"), torch.tensor(4.0).to("cuda")
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        close(torch._scaled_mm(a, b, half, two, out_dtype=dtype), exact * 2, dtype)
    bias = random(48, dtype=torch.bfloat16)
    close(
        torch._scaled_mm(a, b, half, two, bias=bias, out_dtype=torch.bfloat16),
        exact * 2 + numbers(bias),
        torch.bfloat16,
    )
    rows, columns = rng.uniform(0.5, 2, (16, 1)).astype(np.float32), rng.uniform(0.5, 2, (1, 48)).astype(np.float32)
    got = torch._scaled_mm(
        a, b, torch.from_numpy(rows).to("cuda"), torch.from_numpy(columns).to("cuda"), out_dtype=torch.float32
    )
    close(got, exact * rows * columns, torch.float32)
    print("ok")


def legacy():
    x, w = random(6, 8), random(5, 8)
    with legacy_linear():
        close(F.linear(x, w), numbers(x) @ numbers(w).T, torch.float32)
    for dtype, (rows, n, k) in itertools.product(EPS, ((3, 136, 72), (24, 56, 40))):
        for _ in range(4):  # the gradients are products and a sum of their own, for few rows and for many
            tensors = [random(*shape, dtype=dtype).requires_grad_() for shape in ((rows, k), (n, k), (n,))]
            y, g = F.linear(*tensors), random(rows, n, dtype=dtype)
            before = _core.gemm_status()
            with legacy_linear():
                y.backward(g)
            after = _core.gemm_status()
            products = [after[name] - before[name] for name in ("cublaslt", "own_kernels")]
            assert sum(products) >= 2, (dtype, rows, products)  # at once it is one; measuring is counted too
            wants = (numbers(g) @ numbers(tensors[1]), numbers(g).T @ numbers(tensors[0]), numbers(g).sum(0))
            for t, want in zip(tensors, wants, strict=True):
                close(t.grad, want, dtype, 8)
    assert not any(p["epilogue"] >= 256 for p in _core.gemm_plans())
    print("ok")


def problems():
    names = ("dtype", "result", "m", "n", "k", "batch", "transposed", "epilogue")
    return {tuple(p[name] for name in names) for p in _core.gemm_plans()}


def wide_results():
    """float32 of 16-bit operands by one product each, which nothing was converted for."""
    for dtype in (torch.float16, torch.bfloat16):
        a, b, c = random(2, 24, 40, dtype=dtype), random(2, 40, 56, dtype=dtype), random(2, 24, 56)
        exact = numbers(a) @ numbers(b)
        dx = _core.function("shim::linear_backward_input")
        calls = {
            "mm": (torch.mm, (a[0], b[0]), {}, exact[0]),
            "addmm": (torch.addmm, (c[0], a[0], b[0]), {}, exact[0] + numbers(c[0])),
            "bmm": (torch.bmm, (a, b), {}, exact),
            "baddbmm": (torch.baddbmm, (c, a, b), {"beta": 2}, exact + 2 * numbers(c)),
            "dx": (dx, (a[0], b[0]), {}, exact[0]),
        }
        for name, (call, given, options, want) in calls.items():
            before = problems()
            got = call(*given, out_dtype=torch.float32, **options)
            assert got.dtype is torch.float32, name
            close(got, want, torch.float32, 16)
            made = {problem[:2] for problem in problems() - before}
            assert made <= {(str(dtype).removeprefix("torch."), "float32")}, (name, made)
            assert made or name not in ("mm", "bmm"), name  # the others' differ in nothing that is reported
        total, want = c[0].clone(), numbers(c[0])
        for i in range(6):  # as a loss in chunks adds up its weight's gradient: in place once the ways are measured
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            torch.addmm(total, a[0], b[0], out_dtype=torch.float32, out=total)
            want = want + exact[0]
            assert i < 5 or torch.cuda.max_memory_allocated() == before
        close(total, want, torch.float32, 16)
    assert _core.gemm_status()["fallbacks"] == 0
    print("ok")


def streams():
    x, w, b = random(6, 8), random(16, 8), random(16)
    want = numbers(x) @ numbers(w).T + numbers(b)
    for stream in (torch.cuda.Stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            close(F.linear(x, w, b), want, torch.float32)
    torch.use_deterministic_algorithms(True)
    before = _core.gemm_status()["tuned"]
    for _ in range(5):
        close(F.linear(x, w, b), want, torch.float32)
    assert _core.gemm_status()["tuned"] == before
    print("ok")


def fusion():
    """dW and db as one product where that is measured to be faster, with the weight as it is or as a transposed view."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for transposed in (False, True):
            for _ in range(6):
                x, b = random(24, 40, dtype=dtype).requires_grad_(), random(56, dtype=dtype).requires_grad_()
                w = random(40, 56, dtype=dtype).t() if transposed else random(56, 40, dtype=dtype)
                w.requires_grad_()
                y = F.linear(x, w, b)
                g = random(24, 56, dtype=dtype)
                dx, dw, db = torch.autograd.grad(y, (x, w, b), g)
                close(dx, numbers(g) @ numbers(w), dtype)
                close(dw, numbers(g).T @ numbers(x), dtype)
                close(db, numbers(g).sum(0), dtype)
                assert dw.stride() == w.stride()
    found = {(p["dtype"], p["epilogue"]): p["fusion"] for p in _core.gemm_plans() if p["epilogue"] >= 256}
    assert found == {(name, e): 1 for name in ("float32", "float16", "bfloat16") for e in (256, 512)}, found
    before = _core.gemm_status()
    torch.autograd.grad(F.linear(x, w, b), (x, w, b), g)
    after = _core.gemm_status()
    assert after["cublaslt"] - before["cublaslt"] == 3 and after["own_kernels"] == before["own_kernels"]
    print("ok")


def two_layers():
    """Backward of linear, gelu, linear: through the activation in the second product's epilogue, where nobody sees what is between."""

    def network(dtype, bias=True, transposed=False):
        x, w1, b1 = random(24, 40, dtype=dtype), random(56, 40, dtype=dtype), random(56, dtype=dtype)
        w2 = random(56, 32, dtype=dtype).t() if transposed else random(32, 56, dtype=dtype)
        return [x, w1, b1 if bias else None, w2, random(32, dtype=dtype)]

    def exact(tensors, g):
        host = [None if t is None else torch.from_numpy(numbers(t)).requires_grad_() for t in tensors]
        y = F.linear(F.gelu(F.linear(*host[:3]), approximate="tanh"), *host[3:])
        leaves = [t for t in host if t is not None]
        return [numbers(t) for t in torch.autograd.grad(y, leaves, torch.from_numpy(numbers(g)))]

    def products():
        return {p["epilogue"]: p["fusion"] for p in _core.gemm_plans() if p["epilogue"] in (192, 208)}

    def backward(tensors, g, how=lambda y: None):
        leaves = [t.detach().requires_grad_() for t in tensors if t is not None]
        x, w1, b1, w2, b2 = leaves if tensors[2] is not None else (*leaves[:2], None, *leaves[2:])
        middle = fused_linear(x, w1, b1, "gelu", approximate="tanh")
        how(middle)
        before = _core.gemm_status()
        F.linear(middle, w2, b2).backward(g)
        after = _core.gemm_status()
        return [t.grad for t in leaves], [after[k] - before[k] for k in ("cublaslt", "own_kernels")]

    for dtype, bias, transposed in itertools.product((torch.float16, torch.bfloat16), (True, False), (False, True)):
        for _ in range(8):
            tensors, g = network(dtype, bias, transposed), random(24, 32, dtype=dtype)
            found, launched = backward(tensors, g)
            for got, want in zip(found, exact(tensors, g), strict=True):
                close(got, want, dtype, 32)
        assert launched == [5, 0], launched  # the second layer, both inputs, and both weights with their biases
    assert products() == {192: 1, 208: 1}, products()
    for dtype in (torch.float32, torch.bfloat16):  # nobody else may see the gradient between the layers
        for how in (
            lambda y: y.register_hook(lambda g: None),
            lambda y: y.retain_grad(),
            lambda y: y.grad_fn.register_hook(lambda *_: None),
        ):
            tensors, g = network(dtype), random(24, 32, dtype=dtype)
            found, launched = backward(tensors, g, how)
            for got, want in zip(found, exact(tensors, g), strict=True):
                close(got, want, dtype, 32)
            assert launched[1] >= 1, launched
    tensors, g = network(torch.bfloat16), random(24, 32, dtype=torch.bfloat16)
    leaves = [t.requires_grad_() for t in tensors]
    middle = fused_linear(*leaves[:3], "gelu", approximate="tanh")
    y = F.linear(middle, *leaves[3:])
    seen, *found = torch.autograd.grad(y, [middle, *leaves], g, retain_graph=True)
    close(seen, numbers(g) @ numbers(leaves[3]), torch.bfloat16)
    again = torch.autograd.grad(y, leaves, g, retain_graph=True)
    twice = torch.autograd.grad(y.float().sum() + middle.float().sum() * 0, leaves)  # two gradients arrive
    for got, want in zip([*found, *again], exact(tensors, g) * 2, strict=True):
        close(got, want, torch.bfloat16, 32)
    for got, want in zip(twice, exact(tensors, torch.ones_like(g)), strict=True):
        close(got, want, torch.bfloat16, 32)
    assert _core.gemm_status()["fallbacks"] == 0
    print("ok")


def direct():
    """Kernels launched without the library: what cannot be explained word by word is left to it."""
    before = _core.gemm_status()
    for dtype in EPS:
        x, w, b = random(33, 64, dtype=dtype), random(40, 64, dtype=dtype), random(40, dtype=dtype)
        for _ in range(8):  # other tensors every time
            x, w, b = random(33, 64, dtype=dtype), random(40, 64, dtype=dtype), random(40, dtype=dtype)
            close(F.linear(x, w, b), numbers(x) @ numbers(w).T + numbers(b), dtype)
            close(torch.matmul(x, w.t()), numbers(x) @ numbers(w).T, dtype)
            y = fused_linear(x.requires_grad_(), w, b, "gelu", approximate="tanh")
            z = numbers(x) @ numbers(w).T + numbers(b)
            want = 0.5 * z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
            close(y, want, dtype, 64)
        served = {p["epilogue"]: p["direct"] for p in _core.gemm_plans() if p["dtype"].endswith(str(dtype)[6:])}
        why = {
            torch.float16: "2 kernels",
            torch.float32: "1 kernel;",
            torch.bfloat16: "64 bytes of zeros",
            torch.float64: "is no operand",
        }
        assert all(why[dtype] in text for text in served.values()), served
        assert served.keys() >= {1, 4} and (dtype is torch.float64 or 164 in served), served
    ran = _core.gemm_status()["direct"] - before["direct"]
    assert ran >= 3 * 3 * 5, ran
    x, w = random(2, 16, dtype=torch.bfloat16), random(16, 16, dtype=torch.bfloat16)
    for _ in range(300):  # more than there are zeros for at a time
        close(torch.matmul(x, w.t()), numbers(x) @ numbers(w).T, torch.bfloat16)
    grad = torch.nn.Parameter(random(40, 64))  # added to in place: D is read
    x = random(33, 64)
    for i in range(6):
        F.linear(x, grad).sum().backward()
        close(grad.grad, np.ones((40, 33)) @ numbers(x) * (i + 1), torch.float32, 64)
    before = _core.gemm_status()["direct"]
    _core.gemm_flag("direct", False)
    F.linear(x, grad)
    assert _core.gemm_status()["direct"] == before
    print("ok")


def tuned():
    x, w = random(33, 64), random(40, 64)
    for _ in range(5):
        close(F.linear(x, w), numbers(x) @ numbers(w).T, torch.float32)
    print(_core.gemm_status()["tuned"])
