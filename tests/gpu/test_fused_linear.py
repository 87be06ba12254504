"""Linear, fused linear and the products on cuBLASLt and on our own kernels, against float64 on the host.

python -m pytest tests/gpu/test_fused_linear.py -q
"""

from __future__ import annotations

import itertools
import math
import random as stdlib_random
import threading

import numpy as np
import pytest

import shim_torch as torch
from native import _core
from shim_torch.nn.fused import fused_linear, legacy_linear

F = torch.nn.functional
EPS = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7, torch.float32: 2.0**-23, torch.float64: 2.0**-52}
DTYPES = list(EPS)
ACTIVATIONS = [("none", "none"), ("relu", "none"), ("gelu", "none"), ("gelu", "tanh")]


def random(rng, *shape, dtype=torch.float32):
    """Normal numbers, rounded to the dtype on the host, on the device."""
    return torch.from_numpy(rng.standard_normal(shape).astype(np.float32)).to(dtype).to("cuda")


def numbers(t):
    return t.detach().cpu().to(torch.float64).numpy()


def close(got, want, dtype, k=1, scale=None, product=None):
    """Two roundings of the result, and the rounding of sums of k products whose size is about ``scale``.

    ``product``: what is rounded before the bias is added, where the bias cannot be added in the same pass (misaligned).
    """
    got = numbers(got)
    assert got.shape == want.shape
    error, own = np.abs(got - want), EPS[torch.float64 if dtype is torch.float64 else torch.float32]
    bound = (
        2 * EPS[dtype] * np.abs(want)
        + 8 * np.sqrt(max(k, 1)) * own * (scale if scale is not None else math.sqrt(max(k, 1)) * 4)
        + 1e-30
    )
    if product is not None:
        bound += EPS[dtype] * np.abs(product)
    assert (error <= bound).all(), f"worst {(error / bound).max()} of the bound; {error.max()}"


@pytest.fixture(autouse=True)
def clean():
    yield
    torch.backends.cuda.matmul.allow_tf32 = False
    _core.gemm_flag("tuning", True)
    _core.gemm_flag("direct", True)
    _core.gemm_flag("deterministic", False)
    _core.gemm_flag("fp16_reduced", True)
    _core.gemm_flag("bf16_reduced", True)


def test_the_library_is_there():
    path, version, why = _core.cublaslt_library()
    assert version >= 120000, why
    print(path, version)


SHAPES = [((3,), 4), ((8, 3), 4), ((8,), 8), ((0, 3), 4), ((2, 3, 8), 8), ((2, 1, 2, 1, 2), 4), ((65, 21), 43), ((1, 768), 3072), ((16, 1024), 4096),
          ((26, 1, 2560), 512), ((5, 1), 7), ((5, 7), 1), ((1, 1), 1), ((4, 0), 3), ((4, 3), 0), ((300, 200), 100)]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, n", SHAPES)
def test_linear_and_gradients(shape, n, dtype):
    rng = np.random.default_rng(0)
    x, w, b = random(rng, *shape, dtype=dtype), random(rng, n, shape[-1], dtype=dtype), random(rng, n, dtype=dtype)
    for t in (x, w, b):
        t.requires_grad_()
    for _ in range(4):  # the third use measures, the fourth uses what was chosen
        y = F.linear(x, w, b)
        g = random(np.random.default_rng(1), *y.shape, dtype=dtype)
        dx, dw, db = torch.autograd.grad(y, (x, w, b), g)
        xd, wd, bd, gd = map(numbers, (x, w, b, g))
        close(y, xd @ wd.T + bd, dtype, shape[-1], product=xd @ wd.T)
        close(dx, gd @ wd, dtype, n)
        rows = math.prod(shape[:-1])
        close(dw, gd.reshape(rows, n).T @ xd.reshape(rows, shape[-1]), dtype, rows)
        close(db, gd.reshape(rows, n).sum(0), dtype, rows)


def test_linear_does_not_fall_back():
    """Every product of a linear, forward and backward, is served natively."""
    _core.gemm_flag("tuning", False)
    x, w, b = (torch.randn(*s, device="cuda", requires_grad=True) for s in ((64, 96), (128, 96), (128,)))
    before = _core.gemm_status()
    F.linear(x, w, b).sum().backward()
    after = _core.gemm_status()
    ran = {name: after[name] - before[name] for name in ("cublaslt", "own_kernels")}
    assert ran["cublaslt"] == 3 and ran["own_kernels"] <= 1  # the bias' gradient may come with the weight's
    assert after["fallbacks"] == before["fallbacks"]


@pytest.mark.parametrize("needs", list(itertools.product([False, True], repeat=3)))
def test_only_wanted_gradients_are_launched(needs):
    tensors = [
        torch.randn(*s, device="cuda", requires_grad=need)
        for s, need in zip(((64, 96), (128, 96), (128,)), needs, strict=True)
    ]
    y = F.linear(*tensors)
    if not any(needs):
        return
    g = torch.ones_like(y)
    _core.gemm_flag("tuning", False)
    before = _core.gemm_status()
    y.backward(g)
    after = _core.gemm_status()
    ran = after["cublaslt"] + after["own_kernels"] - before["cublaslt"] - before["own_kernels"]
    assert sum(needs) - (needs[1] and needs[2]) <= ran <= sum(needs)  # dW and db may be one product
    assert [t.grad is not None for t in tensors] == list(needs)


def views(rng, rows, cols, dtype):
    yield random(rng, rows, cols, dtype=dtype)
    yield random(rng, cols, rows, dtype=dtype).t()
    yield random(rng, rows, cols + 8, dtype=dtype)[:, :cols]
    yield random(rng, cols, rows + 3, dtype=dtype)[:, :rows].t()
    for offset in (1, 2, 4):
        yield random(rng, rows, cols + 8, dtype=dtype)[:, offset : offset + cols]
    yield random(rng, 2 * rows, cols, dtype=dtype)[::2]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_any_strides_offsets_and_alignments(dtype):
    rng = np.random.default_rng(2)
    for x, w in itertools.product(views(rng, 24, 40, dtype), views(rng, 56, 40, dtype)):
        for b in (None, random(rng, 56, dtype=dtype), random(rng, 64, dtype=dtype)[1:57]):
            want = numbers(x) @ numbers(w).T + (0 if b is None else numbers(b))
            close(F.linear(x, w, b), want, dtype, 40, product=None if b is None else numbers(x) @ numbers(w).T)
        g = random(rng, 24, 56, dtype=dtype)
        close(_core.function("shim::linear_backward_input")(g, w), numbers(g) @ numbers(w), dtype, 56)
        for transposed in (False, True):
            close(
                _core.function("shim::linear_backward_weight")(g, x, transposed), numbers(g).T @ numbers(x), dtype, 24
            )


def test_leading_dimensions_fold_or_become_a_batch():
    rng = np.random.default_rng(3)
    base, w, b = random(rng, 4, 80, 16), random(rng, 24, 16), random(rng, 24)
    for x in (base, base[:, ::2], base[:, :40], base.transpose(0, 1), base[::2, ::3]):
        close(F.linear(x, w, b), numbers(x) @ numbers(w).T + numbers(b), torch.float32, 16)
        close(torch.matmul(x, w.t()), numbers(x) @ numbers(w).T, torch.float32, 16)


@pytest.mark.parametrize("shape", [(), (1,), (56,), (1, 56), (24, 56), (24, 1)])
def test_broadcast_biases(shape):
    rng = np.random.default_rng(4)
    x, w = random(rng, 24, 40), random(rng, 56, 40)
    b = torch.from_numpy(np.asarray(rng.standard_normal(shape), np.float32)).to("cuda").requires_grad_()
    y = F.linear(x, w, b)
    close(y, numbers(x) @ numbers(w).T + numbers(b), torch.float32, 40)
    y.sum().backward()
    np.testing.assert_allclose(numbers(b.grad), np.full(shape, 24 * 56 / max(b.numel(), 1)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("a, b", [((64, 48), (48, 32)), ((5, 64, 48), (5, 48, 32)), ((5, 64, 48), (48, 32)), ((64, 48), (5, 48, 32)), ((48,), (48, 32)),
                                  ((64, 48), (48,)), ((48,), (48,)), ((2, 1, 16, 8), (3, 8, 4)), ((0, 4), (4, 5)), ((4, 0), (0, 5))])  # fmt: skip
def test_matmul(a, b, dtype):
    rng = np.random.default_rng(5)
    x, y = random(rng, *a, dtype=dtype), random(rng, *b, dtype=dtype)
    close(torch.matmul(x, y), numbers(x) @ numbers(y), dtype, a[-1])


def test_addmm_and_its_like():
    rng = np.random.default_rng(6)
    for beta, alpha in ((1, 1), (0, 1), (0.5, -2)):
        for f, shapes in ((torch.addmm, ((3, 4), (3, 5), (5, 4))), (torch.addmm, ((4,), (3, 5), (5, 4))), (torch.addmv, ((3,), (3, 5), (5,))),
                          (torch.baddbmm, ((2, 3, 4), (2, 3, 5), (2, 5, 4)))):  # fmt: skip
            c, p, q = (random(rng, *s) for s in shapes)
            close(
                f(c, p, q, beta=beta, alpha=alpha),
                beta * numbers(c) + alpha * (numbers(p) @ numbers(q)),
                torch.float32,
                5,
            )


# --- activations -----------------------------------------------------------------------------------------------------------


def reference(x, w, b, activation, approximate):
    z = numbers(x) @ numbers(w).T + (0 if b is None else numbers(b))
    if activation == "relu":
        return z, np.maximum(z, 0), (z > 0).astype(float)
    if activation == "none":
        return z, z, np.ones_like(z)
    t = torch.from_numpy(z).requires_grad_()
    y = F.gelu(t, approximate=approximate)
    (slope,) = torch.autograd.grad(y.sum(), t)
    return z, numbers(y), numbers(slope)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation, approximate", ACTIVATIONS)
@pytest.mark.parametrize(
    "m, k, n, with_bias",
    [(24, 40, 56, True), (7, 5, 13, True), (200, 64, 130, False), (1, 16, 8, True), (300, 128, 1000, True)],
)
def test_fused_linear(m, k, n, with_bias, activation, approximate, dtype):
    rng = np.random.default_rng(7)
    x, w = random(rng, m, k, dtype=dtype).requires_grad_(), random(rng, n, k, dtype=dtype).requires_grad_()
    b = random(rng, n, dtype=dtype).requires_grad_() if with_bias else None
    y = fused_linear(x, w, b, activation, approximate)
    z, want, slope = reference(x, w, b, activation, approximate)
    loose = 4 * EPS[dtype]  # the gradient is that of the rounded z
    np.testing.assert_allclose(
        numbers(y), want, rtol=loose, atol=loose * math.sqrt(k) + 1e-5 * math.sqrt(k) * (dtype is not torch.float64)
    )
    wanted = [t for t in (x, w, b) if t is not None]
    g = random(rng, m, n, dtype=dtype)
    grads = torch.autograd.grad(y, wanted, g)
    steady = np.abs(z) > 4 * EPS[dtype] * math.sqrt(k) + 1e-5 if activation == "relu" else np.ones_like(z, bool)
    dz = numbers(g) * slope
    doubt = np.abs(numbers(g)) * ~steady
    for got, exact, unsure in zip(
        grads,
        (dz @ numbers(w), dz.T @ numbers(x), dz.sum(0)),
        (doubt @ np.abs(numbers(w)), doubt.T @ np.abs(numbers(x)), doubt.sum(0)),
        strict=False,
    ):
        error = np.abs(numbers(got) - exact)
        size = np.sqrt((exact**2).mean()) + 1e-3
        assert (
            error
            <= 12 * math.sqrt(max(m, k, n) / 64 + 1) * EPS[dtype] * (np.abs(exact) + size)
            + 1e-4 * size * (dtype is not torch.float64)
            + unsure
        ).all(), error.max()
    with torch.no_grad():
        again = fused_linear(x, w, b, activation, approximate)
    np.testing.assert_allclose(
        numbers(again), want, rtol=loose, atol=loose * math.sqrt(k) + 1e-5 * math.sqrt(k) * (dtype is not torch.float64)
    )


def test_relu_at_zero_and_nan():
    x = (
        torch.tensor([[0.0], [-0.0], [math.nan], [1.0], [-1.0]], device="cuda")
        .expand(5, 8)
        .contiguous()
        .requires_grad_()
    )
    w = torch.eye(8, device="cuda")
    y = fused_linear(x, w, None, "relu")
    assert y[2].isnan().all().item()
    y[[0, 1, 3, 4]].sum().backward()
    assert numbers(x.grad)[[0, 1, 3, 4], 0].tolist() == [0, 0, 1, 0]


def test_gelu_erf_is_exact():
    z = torch.linspace(-6, 6, 1024, device="cuda").reshape(-1, 1) * torch.ones(1, 8, device="cuda")
    y = numbers(fused_linear(z, torch.eye(8, device="cuda"), None, "gelu"))
    want = np.vectorize(lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2))))(numbers(z))
    assert np.abs(y - want).max() < 2e-6


# --- own kernels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "rows, cols",
    [(1, 1), (1, 4096), (3, 5), (31, 257), (64, 4096), (2048, 4096), (8192, 30), (5000, 1001), (100000, 8)],
)
def test_column_sums(rows, cols, dtype):
    rng = np.random.default_rng(8)
    whole = random(rng, rows, cols + 3, dtype=dtype)
    for g in (whole, whole[:, :cols], whole[:, 1 : cols + 1]):
        first, again = (_core.function("shim::linear_backward_bias")(g) for _ in range(2))
        close(first, numbers(g).sum(0), dtype, rows)
        assert (first == again).all().item()


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 8, 13, 16])
@pytest.mark.parametrize("dtype", DTYPES)
def test_few_rows_measured(rows, dtype):
    """Whatever the measurement chooses is right."""
    rng = np.random.default_rng(9)
    for k, n in ((768, 3072), (96, 33), (40, 1000)):
        x, w, b = random(rng, rows, k, dtype=dtype), random(rng, n, k, dtype=dtype), random(rng, n, dtype=dtype)
        for _ in range(5):
            close(F.linear(x, w, b), numbers(x) @ numbers(w).T + numbers(b), dtype, k)
            close(F.linear(x, w), numbers(x) @ numbers(w).T, dtype, k)


@pytest.mark.parametrize("rows", [1, 3, 5, 8, 11, 16])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_few_rows(rows, dtype):
    """Each by itself, measured, and all in one launch; the same numbers every time."""
    for flag in ("fp16_reduced", "bf16_reduced"):  # the library's split sums may be of 16 bits otherwise, as PyTorch's
        _core.gemm_flag(flag, False)
    rng = np.random.default_rng(19)
    for k, n in ((768, 3072), (1024, 16384), (72, 404), (40, 8), (4096, 20)):
        tensors = [random(rng, *s, dtype=dtype).requires_grad_() for s in ((rows, k), (n, k), (n,))]
        g = random(rng, rows, n, dtype=dtype)
        x, w, gd = numbers(tensors[0]), numbers(tensors[1]), numbers(g)
        for _ in range(4):
            close(_core.function("shim::linear_backward_input")(g, tensors[1].detach()), gd @ w, dtype, n)
            close(_core.function("shim::linear_backward_weight")(g, tensors[0].detach(), False), gd.T @ x, dtype, rows)
            close(F.linear(*tensors), x @ w.T + numbers(tensors[2]), dtype, k, product=x @ w.T)
        y = F.linear(*tensors)
        first = torch.autograd.grad(y, tensors, g, retain_graph=True)
        for got, want, length in zip(first, (gd @ w, gd.T @ x, gd.sum(0)), (n, rows, rows), strict=True):
            close(got, want, dtype, length)
        for a, b in zip(first, torch.autograd.grad(y, tensors, g), strict=True):
            assert (a == b).all().item()


@pytest.mark.parametrize("rows", [1, 5, 16])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_few_rows_are_added_in_the_launch(rows, dtype):
    rng = np.random.default_rng(22)
    for k, n in ((768, 3072), (72, 404)):
        w, b = random(rng, n, k, dtype=dtype).requires_grad_(), random(rng, n, dtype=dtype).requires_grad_()
        total = np.zeros((n, k))
        for i in range(4):
            x, g = random(rng, rows, k, dtype=dtype).requires_grad_(), random(rng, rows, n, dtype=dtype)
            y = F.linear(x, w, b)
            before = _core.gemm_status()
            y.backward(g)
            after = _core.gemm_status()
            assert after["own_kernels"] == before["own_kernels"] + 1 and after["cublaslt"] == before["cublaslt"]
            total = total + numbers(g).T @ numbers(x)
            steps = (i + 1) * EPS[dtype]  # one rounding each time, and those of the sums
            np.testing.assert_allclose(numbers(w.grad), total, rtol=2 * steps, atol=32 * steps + 1e-12)
            close(x.grad, numbers(g) @ numbers(w), dtype, n)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_weight_and_bias_gradients_at_once(dtype):
    """However dW and db are measured to be computed best, with the weight as it is or as a transposed view."""
    rng = np.random.default_rng(23)
    for (m, k, n), transposed in itertools.product(((128, 768, 512), (300, 72, 136), (33, 40, 8)), (False, True)):
        w = random(rng, k, n, dtype=dtype).t() if transposed else random(rng, n, k, dtype=dtype)
        x, w, b = (t.requires_grad_() for t in (random(rng, m, k, dtype=dtype), w, random(rng, n, dtype=dtype)))
        for _ in range(5):
            g = random(rng, m, n, dtype=dtype)
            dw, db = torch.autograd.grad(F.linear(x, w, b), (w, b), g)
            close(dw, numbers(g).T @ numbers(x), dtype, m)
            close(db, numbers(g).sum(0), dtype, m)
            assert dw.stride() == w.stride()
    assert {p["fusion"] for p in _core.gemm_plans() if p["epilogue"] in (256, 512)} - {0}


# --- plans -----------------------------------------------------------------------------------------------------------------


def test_plan_cache_fuzz():
    """Shapes, strides, offsets and alignments at random: one plan's choice is never used for another problem."""
    rng, pick = np.random.default_rng(10), stdlib_random.Random(10)
    for _ in range(150):
        dtype = pick.choice([torch.float16, torch.bfloat16, torch.float32])
        m, n, k = (pick.choice([1, 2, 3, 8, 16, 17, 64, 100, 128]) for _ in range(3))

        def operand(rows, cols, dtype=dtype):
            pad, offset = pick.choice([0, 0, 1, 2, 8]), pick.choice([0, 0, 1, 2, 4, 8])
            flat = random(rng, offset + max(rows, cols) * (max(rows, cols) + pad), dtype=dtype)
            if pick.random() < 0.3:
                return flat.as_strided((rows, cols), (1, rows + pad), offset)
            return flat.as_strided((rows, cols), (cols + pad, 1), offset)

        x, w = operand(m, k), operand(n, k)
        b = random(rng, n + 8, dtype=dtype)[(o := pick.choice([0, 1, 4])) : o + n] if pick.random() < 0.6 else None
        for _ in range(pick.choice([1, 4])):
            product = numbers(x) @ numbers(w).T
            want = product + (0 if b is None else numbers(b))
            close(F.linear(x, w, b), want, dtype, k, product=None if b is None else product)


def test_repeated_problems_make_no_new_plans():
    x, w = torch.randn(33, 64, device="cuda"), torch.randn(48, 64, device="cuda")
    F.linear(x, w)
    before = _core.gemm_status()["plans"]
    for _ in range(10):
        F.linear(x, w)
    assert _core.gemm_status()["plans"] == before


def test_tuned_choices_survive_in_the_disk_cache():
    import os
    import subprocess
    import sys
    import tempfile

    code = """
import shim_torch as torch
from native import _core
x, w = torch.randn(128, 1024, device="cuda"), torch.randn(512, 1024, device="cuda")
for _ in range(5): torch.nn.functional.linear(x, w)
torch.cuda.synchronize()
print(_core.gemm_status()["tuned"])
"""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "SHIM_CACHE_DIR": folder}
        counts = [
            int(
                subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True).stdout
            )
            for _ in range(2)
        ]
        assert counts == [1, 0] and os.listdir(folder)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_direct_launches_give_the_library_bits(dtype):
    """Kernels launched without the library's host code, at other addresses every time: forward, both gradients, activations."""
    rng = np.random.default_rng(20)
    before = _core.gemm_status()["direct"]
    for m, k, n in ((128, 256, 512), (100, 72, 136), (33, 1024, 264)):
        for i in range(8):
            tensors = [random(rng, *s, dtype=dtype).requires_grad_() for s in ((m, k), (n, k), (n,))]
            g, results = random(rng, m, n, dtype=dtype), []
            for direct in (True, True, False) if i > 3 else (True,):
                _core.gemm_flag("direct", direct)
                y = F.linear(*tensors)
                found = [y, *torch.autograd.grad(y, tensors, g)]
                for name in ("relu", "gelu"):
                    found.append(fused_linear(*tensors, name, "tanh"))
                results.append(found)
            _core.gemm_flag("direct", True)
            for other in results[1:]:
                assert all((a == b).all().item() for a, b in zip(results[0], other, strict=True))
    ran = _core.gemm_status()["direct"] - before
    notes = {p["direct"] for p in _core.gemm_plans() if p["dtype"] == str(dtype)[6:]}
    assert ran >= 3 * 5 * 4, (ran, notes)


def in_threads(work):
    """work(0) ... work(3), each in a thread of its own; the first error of one is the test's."""
    problems = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not problems, problems[0]


def test_direct_launches_from_threads_and_in_graphs():
    rng = np.random.default_rng(21)
    x, w = random(rng, 128, 512), random(rng, 256, 512)
    for _ in range(4):
        F.linear(x, w)

    def work(number):
        own, stream = np.random.default_rng(number), torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(40):
                a, b = random(own, 128, 512), random(own, 256, 512)
                got = F.linear(a, b)
                stream.synchronize()
                close(got, numbers(a) @ numbers(b).T, torch.float32, 512)

    in_threads(work)
    before, graph = _core.gemm_status()["direct"], torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = F.linear(x, w)
    assert _core.gemm_status()["direct"] == before + 1
    for _ in range(3):
        x.copy_(random(rng, 128, 512))
        graph.replay()
        torch.cuda.synchronize()
        close(y, numbers(x) @ numbers(w).T, torch.float32, 512)


def test_deterministic_mode_gives_the_same_bits():
    torch.use_deterministic_algorithms(True)
    try:
        x, w = torch.randn(64, 4096, device="cuda"), torch.randn(128, 4096, device="cuda")
        results = [F.linear(x, w) for _ in range(6)]
        assert all((r == results[0]).all().item() for r in results)
    finally:
        torch.use_deterministic_algorithms(False)


# --- streams, threads, graphs ------------------------------------------------------------------------------------------------


def test_two_streams_do_not_share_a_workspace():
    rng = np.random.default_rng(11)
    x, w = random(rng, 128, 4096), random(rng, 512, 4096)
    want = numbers(x) @ numbers(w).T
    streams, results = [torch.cuda.Stream() for _ in range(3)], []
    torch.cuda.synchronize()
    for _ in range(20):
        for s in streams:
            with torch.cuda.stream(s):
                results.append(F.linear(x, w))
    torch.cuda.synchronize()
    for r in results[-9:]:
        close(r, want, torch.float32, 4096)


def test_several_threads():
    rng = np.random.default_rng(12)
    cases = [(random(rng, m, 256), random(rng, 320, 256)) for m in (5, 64, 129, 300)]
    wants = [numbers(x) @ numbers(w).T for x, w in cases]
    torch.cuda.synchronize()

    def work(number):
        with torch.cuda.stream(torch.cuda.Stream()):
            for i in range(60):
                x, w = cases[(i + number) % 4]
                got = F.linear(x, w)
                if i % 7 == 0:
                    torch.cuda.current_stream().synchronize()
                    close(got, wants[(i + number) % 4], torch.float32, 256)

    in_threads(work)


def test_captured_in_a_graph():
    rng = np.random.default_rng(13)
    x, w, b = random(rng, 64, 128), random(rng, 96, 128), random(rng, 96)
    w.requires_grad_()
    b.requires_grad_()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(4):
            torch.autograd.grad(fused_linear(x, w, b, "relu").sum(), (w, b))
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = fused_linear(x, w, b, "relu")
        dw, db = torch.autograd.grad(y.sum(), (w, b))
    for _ in range(3):
        x.copy_(random(rng, 64, 128))
        graph.replay()
        torch.cuda.synchronize()
        z = numbers(x) @ numbers(w).T + numbers(b)
        close(y, np.maximum(z, 0), torch.float32, 128)
        close(dw, (z > 0).astype(float).T @ numbers(x), torch.float32, 64 * 8)
        close(db, (z > 0).sum(0).astype(float), torch.float32, 64)


# --- settings ----------------------------------------------------------------------------------------------------------------


def test_tf32_is_coarser_and_switchable():
    rng = np.random.default_rng(14)
    x, w = random(rng, 128, 512), random(rng, 128, 512)
    want = numbers(x) @ numbers(w).T
    exact = np.abs(numbers(F.linear(x, w)) - want).max()
    torch.backends.cuda.matmul.allow_tf32 = True
    coarse = np.abs(numbers(F.linear(x, w)) - want).max()
    torch.backends.cuda.matmul.allow_tf32 = False
    assert exact < 1e-3 < coarse < 0.5
    assert np.abs(numbers(F.linear(x, w)) - want).max() == exact


def test_fp16_accumulation_flag():
    rng = np.random.default_rng(15)
    x, w = random(rng, 64, 256, dtype=torch.float16), random(rng, 64, 256, dtype=torch.float16)
    torch.backends.cuda.matmul.allow_fp16_accumulation = True
    try:
        got = numbers(F.linear(x, w))
    finally:
        torch.backends.cuda.matmul.allow_fp16_accumulation = False
    np.testing.assert_allclose(got, numbers(x) @ numbers(w).T, rtol=2e-2, atol=0.5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_legacy_and_accuracy(dtype):
    rng = np.random.default_rng(16)
    x, w, b = random(rng, 40, 256, dtype=dtype), random(rng, 72, 256, dtype=dtype), random(rng, 72, dtype=dtype)
    want = numbers(x) @ numbers(w).T + numbers(b)
    fused = F.linear(x, w, b)
    with legacy_linear():
        unfused = F.linear(x, w, b)
        assert (unfused == torch.matmul(x, w.t()) + b).all().item()
    assert np.abs(numbers(fused) - want).max() <= np.abs(numbers(unfused) - want).max() * 1.001


def test_float8():
    if torch.cuda.get_device_capability() < (8, 9):
        pytest.skip("float8 products need compute capability 8.9")
    rng = np.random.default_rng(17)
    a8 = torch.from_numpy(rng.standard_normal((32, 64)).astype(np.float32)).to(torch.float8_e4m3fn)
    b8 = torch.from_numpy(rng.standard_normal((48, 64)).astype(np.float32)).to(torch.float8_e4m3fn)
    exact = a8.double().numpy() @ b8.double().numpy().T
    a, b = a8.to("cuda"), b8.to("cuda").t()
    half, two = torch.tensor(0.5, device="cuda"), torch.tensor(2.0, device="cuda")
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        got = torch._scaled_mm(a, b, half, two, out_dtype=dtype)
        np.testing.assert_allclose(numbers(got), exact, rtol=2 * EPS[dtype] + 1e-5, atol=1e-2)
    bias = random(rng, 48, dtype=torch.bfloat16)
    got = torch._scaled_mm(a, b, half, two, bias=bias, out_dtype=torch.bfloat16)
    np.testing.assert_allclose(numbers(got), exact + numbers(bias), rtol=2**-6, atol=3e-2)


def test_float8_row_wise():
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("row-wise scales need compute capability 9.0")
    rng = np.random.default_rng(18)
    a8 = torch.from_numpy(rng.standard_normal((32, 64)).astype(np.float32)).to(torch.float8_e4m3fn)
    b8 = torch.from_numpy(rng.standard_normal((48, 64)).astype(np.float32)).to(torch.float8_e4m3fn)
    rows, columns = rng.uniform(0.5, 2, (32, 1)).astype(np.float32), rng.uniform(0.5, 2, (1, 48)).astype(np.float32)
    got = torch._scaled_mm(
        a8.to("cuda"),
        b8.to("cuda").t(),
        torch.from_numpy(rows).to("cuda"),
        torch.from_numpy(columns).to("cuda"),
        out_dtype=torch.bfloat16,
    )
    np.testing.assert_allclose(
        numbers(got), (a8.double().numpy() @ b8.double().numpy().T) * rows * columns, rtol=2**-6, atol=3e-2
    )
