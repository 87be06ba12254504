"""outer and its gradients: values against float64, which of them run, and what modes and transforms see of it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.native import _core
from shim_torch.utils._python_dispatch import TorchDispatchMode

EPS = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7, torch.float32: 2.0**-22, torch.float64: 2.0**-50}


def random(rng, *shape, dtype=torch.float64):
    return torch.from_numpy(rng.standard_normal(shape)).to(torch.get_default_device(), dtype)


def numbers(t):
    return t.detach().to(torch.float64).cpu().numpy()


def calls(name):
    return sum(_core.operator_counts().get(f"shim::{name}", (0, 0)))


@pytest.mark.devices("cpu", "cuda")
@pytest.mark.parametrize("dtype", list(EPS))
@pytest.mark.parametrize("m, n", [(1, 1), (3, 5), (5, 1), (1, 7), (0, 4), (4, 0), (33, 130), (300, 1001)])
def test_values_and_gradients(m, n, dtype, device):
    rng = np.random.default_rng(0)
    a, b = random(rng, m, dtype=dtype).requires_grad_(), random(rng, n, dtype=dtype).requires_grad_()
    y = torch.outer(a, b)
    assert y.grad_fn.name() == "MulBackward0"
    g = random(rng, m, n, dtype=dtype)
    y.backward(g)
    ad, bd, gd = map(numbers, (a, b, g))
    exact = torch.from_numpy(np.multiply.outer(ad, bd)).to(dtype)  # a product of two is rounded once
    np.testing.assert_array_equal(numbers(y), numbers(exact))
    for got, want, k in ((a.grad, gd @ bd, n), (b.grad, gd.T @ ad, m)):
        assert got.shape == want.shape and got.dtype == dtype
        bound = (
            EPS[dtype] * np.abs(want)
            + 8 * np.sqrt(max(k, 1)) * EPS[torch.float64 if dtype is torch.float64 else torch.float32]
        )
        assert (np.abs(numbers(got) - want) <= bound).all()


@pytest.mark.devices("cpu", "cuda")
def test_strided_vectors(device):
    rng = np.random.default_rng(1)
    a, b = random(rng, 30)[::3], random(rng, 60)[1::2]
    np.testing.assert_array_equal(numbers(torch.outer(a, b)), np.multiply.outer(numbers(a), numbers(b)))
    row = torch.ones(4, dtype=torch.float64).expand(4)
    np.testing.assert_array_equal(numbers(torch.ger(row[:1].expand(5), b)), np.multiply.outer(np.ones(5), numbers(b)))


@pytest.mark.parametrize("needs", list(itertools.product([False, True], repeat=2)))
def test_only_wanted_gradients_run_and_keep_what_they_read(needs):
    rng = np.random.default_rng(2)
    a, b = (random(rng, n).requires_grad_(need) for n, need in zip((3, 4), needs, strict=True))
    before = [calls("outer_backward_input"), calls("outer_backward_other")]
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
        y = torch.outer(a, b)
    assert sorted(kept) == sorted(n for n, need in zip((4, 3), needs, strict=True) if need)
    if any(needs):
        y.sum().backward()
    after = [calls("outer_backward_input"), calls("outer_backward_other")]
    assert [x - y for x, y in zip(after, before, strict=True)] == [int(n) for n in needs]


def test_second_derivatives_and_tangents():
    rng = np.random.default_rng(3)
    a, b = random(rng, 3).requires_grad_(), random(rng, 4).requires_grad_()
    assert torch.autograd.gradcheck(torch.outer, (a, b), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(torch.outer, (a, b))
    batched = torch.func.vmap(torch.func.grad(lambda x, y: (torch.outer(x, y) ** 2).sum()), (0, None))
    many = random(rng, 5, 3)
    got = batched(many, b.detach())
    np.testing.assert_allclose(numbers(got), 2 * numbers(many) * (numbers(b) ** 2).sum(), rtol=1e-12)


def test_modes_see_the_parts():
    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Mode():
        torch.outer(torch.ones(2, requires_grad=True), torch.ones(3))
    assert "aten.mul.Tensor" in seen and not any("shim" in name for name in seen)


def test_other_dtypes_promote_as_mul_does():
    assert torch.outer(torch.ones(2, dtype=torch.int32), torch.ones(3)).dtype == torch.float32
    y = torch.outer(torch.ones(2, dtype=torch.float64, requires_grad=True), torch.ones(3, requires_grad=True))
    assert y.dtype == torch.float64
    y.sum().backward()
    assert torch.outer(torch.tensor([1 + 2j]), torch.tensor([2j])).tolist() == [[-4 + 2j]]
    out = torch.empty(2, 2)
    assert torch.outer(torch.ones(2), torch.ones(2), out=out) is out and out.tolist() == [[1.0, 1.0]] * 2
    with pytest.raises(RuntimeError, match="outer: Expected 1-D argument self, but got 2-D"):
        torch.outer(torch.ones(2, 2), torch.ones(2))
