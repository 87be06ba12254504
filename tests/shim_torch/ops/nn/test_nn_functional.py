"""Normalisation of rows and groups, dropout, embeddings: against their definitions; shapes that they refuse."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import shim_torch as torch
from shim_torch import nn
from shim_torch._impl.native import _core
from shim_torch.nn import functional as F

from ..checked_calls import drawn, natively, numpy

check, check_twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def leaf(*sizes):
    return torch.randn(*sizes, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("affine", [0, 1, 2])
def test_row_norms(affine):
    x, w, b = leaf(5, 3, 4), leaf(3, 4), leaf(3, 4)
    given = (w, b)[:affine]
    for call in (lambda x, *p: F.layer_norm(x, (3, 4), *p), lambda x, *p: F.rms_norm(x, (3, 4), *p[:1])):
        assert check(call, (x, *given), fast_mode=True) and check_twice(call, (x, *given), fast_mode=True)
    c, d = leaf(6), leaf(6)
    image = leaf(2, 6, 3, 2)
    call = lambda x, *p: F.group_norm(x, 3, *p)
    assert check(call, (image, *(c, d)[:affine]), fast_mode=True) and check_twice(
        call, (image, *(c, d)[:affine]), fast_mode=True
    )
    a = image.detach().numpy().reshape(2, 3, -1)
    want = ((a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-5)).reshape(image.shape)
    np.testing.assert_allclose(F.group_norm(image, 3).detach().numpy(), want, rtol=1e-9, atol=1e-12)


def test_row_norms_of_half_and_of_many_rows():
    x = torch.randn(300, 64)
    wide = x.double().numpy()
    want = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(F.layer_norm(x, (64,)).numpy(), want, rtol=1e-5, atol=1e-6)
    assert F.layer_norm(x.bfloat16(), (64,)).dtype == torch.bfloat16
    w = torch.randn(64, requires_grad=True)
    grads = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        grads.append(torch.autograd.grad(F.layer_norm(x, (64,), w).square().sum(), w)[0])
    assert torch.equal(*grads)


def test_dropout_keeps_and_scales():
    torch.manual_seed(3)
    x = torch.ones(100000, requires_grad=True)
    y = F.dropout(x, 0.25)
    kept = y.detach() != 0
    assert abs(kept.float().mean().item() - 0.75) < 0.01 and set(y[kept].tolist()) == {torch.tensor(1 / 0.75).item()}
    torch.manual_seed(3)
    assert torch.equal(kept, torch.rand(100000, dtype=torch.float64) < 0.75)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())
    torch.manual_seed(3)
    assert torch.equal(F.dropout(torch.ones(100000, dtype=torch.float64), 0.25) != 0, kept)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 8), (2, 5, 300)])
def test_layer_and_rms_norm(dtype: Any, shape: Any) -> None:
    rng = np.random.default_rng(6)
    x, weight, bias = (rng.standard_normal(s).astype(dtype) for s in (shape, shape[-1:], shape[-1:]))
    t, w, b = (torch.from_numpy(a) for a in (x, weight, bias))
    wide = x.astype(np.float64)
    limit = {2: 2e-2 if dtype == ml_dtypes.bfloat16 else 3e-3, 4: 3e-6, 8: 1e-12}[np.dtype(dtype).itemsize]
    centred = wide - wide.mean(-1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    for weights in ((None, None), (w, None), (w, b)):
        expected = normal * (1 if weights[0] is None else weight.astype(np.float64))
        expected = expected + (0 if weights[1] is None else bias.astype(np.float64))
        got = torch.nn.functional.layer_norm(t, shape[-1:], *weights)
        assert got.dtype == t.dtype
        np.testing.assert_allclose(_core.to_numpy(got).astype(np.float64), expected, rtol=limit, atol=limit)
    root = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6) * weight.astype(np.float64)
    got = torch.nn.functional.rms_norm(t, shape[-1:], w, 1e-6)
    np.testing.assert_allclose(_core.to_numpy(got).astype(np.float64), root, rtol=limit, atol=limit)
    norm = torch.linalg.vector_norm(t, dim=-1)
    np.testing.assert_allclose(_core.to_numpy(norm).astype(np.float64), np.sqrt((wide**2).sum(-1)), rtol=limit)


@pytest.mark.parametrize(("norm", "text"), [(F.rms_norm, r"shape \[\*2, 2\]"), (F.layer_norm, r"shape \[\*, 2, 2\]")])
def test_shapes_that_norms_want(norm, text):
    with pytest.raises(
        RuntimeError,
        match=rf"Given normalized_shape=\[2, 2\], expected input with {text}, but got input of size\[2, 2, 3\]",
    ):
        norm(torch.ones(2, 2, 3), (2, 2))


def test_embedding_and_bounds() -> None:
    table, index = drawn((10, 3)), np.array([[1, 9], [0, 1]])
    got = natively(lambda: torch.nn.functional.embedding(torch.from_numpy(index), torch.from_numpy(table)))
    np.testing.assert_array_equal(numpy(got), table[index])
    with pytest.raises(IndexError, match="index out of range in self"):
        torch.nn.functional.embedding(torch.tensor([10]), torch.from_numpy(table))


def test_cross_map_normalisation_has_pytorchs_first_channel():
    x = torch.arange(2 * 7 * 2 * 2.0).reshape(2, 7, 2, 2) / 10
    found = [nn.CrossMapLRN2d(s, 0.1, 0.7, 2.0)(x).flatten()[5].item() for s in (1, 2, 3, 5)]
    expected = [0.30501583218574524, 0.3063933551311493, 0.30400121212005615, 0.3019757866859436]
    assert found == pytest.approx(expected, rel=1e-6)
