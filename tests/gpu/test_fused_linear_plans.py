"""Plans of matrix products on a GPU: the cache, the measured choice, direct launches, streams, threads and graphs."""

from __future__ import annotations

import random as stdlib_random
import threading

import numpy as np
import pytest
from linear_cases import close, numbers, random

import shim_torch as torch
from shim_torch._impl.native import _core
from shim_torch_linear import fused_linear

F = torch.nn.functional
pytestmark = pytest.mark.usefixtures("linear_settings")


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
from shim_torch._impl.native import _core
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
                    found.append(fused_linear(*tensors, name, approximate="tanh"))
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
