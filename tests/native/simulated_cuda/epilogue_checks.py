"""What test_simulated_cuda.py runs of activations, biases and their gradients in the epilogues of cuBLASLt's products, in an interpreter that sees the simulated GPU."""

from __future__ import annotations

import itertools

from comparison import EPS, close, numbers, random

import shim_torch as torch
from shim_torch._impl.native import _core
from shim_torch_linear import fused_linear

F = torch.nn.functional


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
