"""Which strides results have: those of TensorIterator, channels_last kept by cat, resize_ and its formats."""

from __future__ import annotations

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F


@pytest.mark.parametrize(
    ("sizes", "strides", "expected"),
    [
        ((2, 3, 4), (1, 2, 0), (4, 8, 1)),
        ((4, 3, 2), (10, 0, 3), (6, 2, 1)),
        ((4, 3, 2), (10, 1, 2), (6, 1, 3)),
        ((4, 3, 2), (1, 4, 12), (1, 4, 12)),
    ],
)
def test_unary_results_follow_their_input(sizes, strides, expected):
    x = torch.empty_strided(sizes, strides).fill_(1.0)  # one value for all elements: overlaps do not matter
    assert x.exp().stride() == torch.empty_like(x).stride() == expected


def test_cat_keeps_channels_last():
    parts = [torch.arange(96.0).view(2, 3, 4, 4).contiguous(memory_format=torch.channels_last) for _ in range(2)]
    joined = torch.cat(parts, 1)
    assert joined.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(joined[:, 3:], parts[1])
    assert torch.cat([parts[0], parts[1].contiguous()], 1).is_contiguous()


def _last(*sizes):
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return torch.randn(sizes).contiguous(memory_format=formats[len(sizes)]).requires_grad_()


FOLLOWING = {
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (3, 3)),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, (3, 3)),
    "reflect": lambda x: F.pad(x, (1, 2, 1, 1), mode="reflect"),
    "replicate": lambda x: F.pad(x, (1, 2, 1, 1), mode="replicate"),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "conv2d": lambda x: F.conv2d(x, torch.ones(2, 4, 3, 3)),
}


@pytest.mark.parametrize("name", FOLLOWING)
def test_gradients_of_channels_last_inputs(name):
    x = _last(2, 4, 6, 8)
    y = FOLLOWING[name](x)
    assert y.is_contiguous(memory_format=torch.channels_last)
    (g,) = torch.autograd.grad(y, x, torch.ones(y.shape), retain_graph=True)
    assert g.stride() == x.stride()
    plain = x.detach().clone(memory_format=torch.contiguous_format).requires_grad_()
    (h,) = torch.autograd.grad(FOLLOWING[name](plain), plain, torch.ones(y.shape))
    torch.testing.assert_close(g, h)
    assert h.is_contiguous()


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("of_input", "of_weight"), [(True, False), (False, True), (False, False)])
def test_gradients_of_convolutions_lie_as_input_or_weight(transposed, of_input, of_weight):
    x, w = _last(2, 4, 6, 8), _last(4, 4, 3, 3)
    x = x if of_input else x.detach().contiguous().requires_grad_()
    w = w if of_weight else w.detach().contiguous().requires_grad_()
    y = (F.conv_transpose2d if transposed else F.conv2d)(x, w)
    wanted = torch.channels_last if of_input or of_weight else torch.contiguous_format
    for g in torch.autograd.grad(y, (x, w), torch.ones(y.shape)):
        assert g.is_contiguous(memory_format=wanted)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.interpolate(x, scale_factor=2.0),
        lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"),
        lambda x: F.group_norm(x, 2),
        lambda x: F.rms_norm(x, (6, 8)),
    ],
)
def test_gradients_that_lie_as_the_results_gradient(call):
    x = _last(2, 4, 6, 8)
    y = call(x)
    assert y.is_contiguous(memory_format=torch.channels_last)
    g = torch.randn(y.shape)
    (plain,) = torch.autograd.grad(y, x, g, retain_graph=True)
    (last,) = torch.autograd.grad(y, x, g.contiguous(memory_format=torch.channels_last))
    assert plain.is_contiguous() and last.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(plain, last)


def test_results_that_are_contiguous_whatever_their_input():
    x = _last(2, 4, 4, 4, 4)
    for y in (
        F.avg_pool3d(x, 2),
        F.adaptive_avg_pool3d(x, 2),
        F.adaptive_max_pool3d(x, 2),
        F.rrelu(x),
        F.rrelu(x, training=True),
    ):
        assert y.is_contiguous()


@pytest.mark.parametrize(
    "run", [torch.exp, lambda x, **out: torch.add(x, x, **out), lambda x, **out: torch.eq(x, x, **out)]
)
def test_an_empty_out_takes_the_strides_of_the_result(run):
    x = torch.randn(1, 1, 4, 12)[:, :, :, ::2].permute(0, 2, 1, 3)
    assert run(x).stride() == (24, 6, 24, 1)
    assert run(x, out=torch.empty(0, dtype=run(x).dtype)).stride() == (24, 6, 24, 1)


def test_dims_of_size_one_keep_their_strides_beside_numbers_and_smaller_tensors():
    x = torch.rand(10, 3, 1, 1).to(memory_format=torch.channels_last)
    for result in (x * 5, x + torch.rand(3, 1, 1), torch.rand(3, 1, 1) + x, torch.where(x > 2, x, torch.rand(1))):
        assert result.stride() == x.stride() == (3, 1, 3, 3)
    assert torch.relu(x).stride() == (x + torch.rand(10, 3, 1, 1)).stride() == (3, 1, 1, 1)
