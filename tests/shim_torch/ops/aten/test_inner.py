"""The inner forms of torch.ops.aten against the public operators that are made of them."""

from __future__ import annotations

import math

import pytest

import shim_torch as torch
from shim_torch.nn import functional as F

aten = torch.ops.aten


def values(*shape, seed=0):
    return torch.sin(torch.arange(math.prod(shape), dtype=torch.float64) * 1.7 + seed).reshape(shape)


def close(a, b):
    torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_inner_forms_are_the_public_ones():
    x, y = values(3, 2), values(4, 2, seed=1)
    close(aten._adaptive_avg_pool2d(values(1, 2, 5, 4), [2, 3]), F.adaptive_avg_pool2d(values(1, 2, 5, 4), (2, 3)))
    close(aten._cdist_forward(x, y, 2.0, None), torch.cdist(x, y))
    close(aten._euclidean_dist(x, y), torch.cdist(x, y))
    close(aten._pdist_forward(x, 2.0), F.pdist(x))
    close(aten._unsafe_index(y, [torch.tensor([1, 2]), None]), y[[1, 2]])
    close(
        aten._unsafe_index_put(y[:, 0], [torch.tensor([1, 1])], torch.ones(2).double(), True),
        y[:, 0] + torch.tensor([0, 2, 0, 0]),
    )
    settings = ([1], [0], [1], False, [0], 1, False, False, False, False)
    close(
        aten._convolution(values(1, 2, 5), values(3, 2, 2), values(3), *settings),
        F.conv1d(values(1, 2, 5), values(3, 2, 2), values(3)),
    )
    low, high = aten._aminmax(x)
    assert (low, high) == (x.min(), x.max())


def test_decompositions_keep_what_their_gradients_read():
    m = values(3, 3) + 3 * torch.eye(3, dtype=torch.float64)
    det, lu, pivots = aten._linalg_det(m)
    close(det, torch.linalg.det(m))
    close(torch.linalg.lu_solve(lu, pivots, m), torch.eye(3, dtype=torch.float64))
    close(aten._linalg_slogdet(m)[1], torch.linalg.slogdet(m)[1])
    close(aten._linalg_eigh(m + m.mT, "L", False)[0], torch.linalg.eigvalsh(m + m.mT))
    close(aten._linalg_svd(m, False, False)[1], torch.linalg.svdvals(m))


def test_logsigmoid_and_weight_norm_give_what_backward_reads():
    x = values(4)
    output, buffer = aten.log_sigmoid_forward(x)
    close(output, F.logsigmoid(x))
    close(buffer, (-x.abs()).exp())
    v, g = values(3, 4), values(3, 1, seed=2)
    weight, norms = aten._weight_norm_interface(v, g)
    close(norms, v.norm(2, 1, keepdim=True))
    close(weight, torch._weight_norm(v, g, 0))
    flat, norms = aten._weight_norm_interface(v, g.reshape(3))
    close(flat, weight)
    close(norms, v.norm(2, 1))


@pytest.mark.parametrize("name,mode,shape,size,more", [
    ("upsample_nearest1d", "nearest", (1, 2, 4), [6], ()),
    ("upsample_bilinear2d", "bilinear", (1, 2, 4, 2), [6, 3], (True,)),
    ("upsample_bicubic2d", "bicubic", (1, 2, 4, 2), [6, 3], (False,)),
    ("upsample_trilinear3d", "trilinear", (1, 1, 2, 2, 2), [4, 4, 4], (False,)),
])  # fmt: skip
def test_gradients_of_resampling(name, mode, shape, size, more):
    x, g = values(*shape).requires_grad_(), values(*shape[:2], *size, seed=1)
    F.interpolate(x, size, mode=mode, align_corners=more[0] if more else None).backward(g)
    close(getattr(aten, name + "_backward")(g, size, list(shape), *more), x.grad)


def test_gradients_of_samples_products_and_slopes():
    x, at, g = (
        values(1, 2, 4, 4, seed=1).requires_grad_(),
        values(1, 3, 3, 2, seed=3).requires_grad_(),
        values(1, 2, 3, 3),
    )
    F.grid_sample(x, at, align_corners=False).backward(g)
    of_x, of_grid = aten.grid_sampler_2d_backward(g, x, at, 0, 0, False, [True, True])
    close(of_x, x.grad)
    close(of_grid, at.grad)
    assert aten.grid_sampler_2d_backward(g, x, at, 0, 0, False, [True, False])[1] is None
    w, rows = values(4, 3), values(2, 4)
    of_input, of_weight, of_bias = aten.linear_backward(values(2, 3), rows, w, [True, True, True])
    close(of_input, rows @ w)
    close(of_weight, rows.mT @ values(2, 3))
    close(of_bias, rows.sum(0))
    of_self, of_slope = aten._prelu_kernel_backward(torch.ones(2), torch.tensor([2.0, -3.0]), torch.tensor([0.5, 0.5]))
    assert (of_self.tolist(), of_slope.tolist()) == ([1, 0.5], [0, -3])


def test_assertions_on_tensors():
    aten._assert_async(torch.tensor(2))
    with pytest.raises(RuntimeError, match="Expected Tensor with single nonzero value, but got zero"):
        aten._assert_async(torch.tensor(0))


def test_division_by_a_number_with_a_rounding_mode_has_its_overload():
    assert str(aten.div.Scalar_mode) == "aten.div.Scalar_mode"
    assert aten.div.Scalar_mode(torch.tensor([5.0, -5.0]), 2, rounding_mode="floor").tolist() == [2, -3]
