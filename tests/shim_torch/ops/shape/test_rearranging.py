"""Repeated, flipped, rolled and turned tensors, diagonals and scattered parts, against NumPy."""

import numpy as np
import pytest

import shim_torch as torch


@pytest.mark.parametrize(
    "shape,repeats",
    [
        ((3,), (2,)),
        ((2, 3), (2, 3)),
        ((2, 3), (4, 1, 2)),
        ((1, 3, 1), (5, 1, 4)),
        ((), (3,)),
        ((2, 0), (2, 2)),
        ((2, 3), (0, 2)),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.int64, torch.complex64])
def test_repeat_is_indexing_around(shape, repeats, dtype):
    x = (torch.randn(shape) * 4).to(dtype)
    found = x.repeat(*repeats)
    assert (
        found.shape == tuple(a * b for a, b in zip((1,) * (len(repeats) - len(shape)) + shape, repeats, strict=True))
        and found.is_contiguous()
    )
    wanted = x
    for d, times in enumerate(repeats):
        if d < len(repeats) - len(shape):
            continue
        wanted = (
            torch.cat([wanted] * times, d - len(repeats) + len(shape))
            if times
            else wanted.narrow(d - len(repeats) + len(shape), 0, 0)
        )
    for times in reversed(repeats[: len(repeats) - len(shape)]):
        wanted = torch.stack([wanted] * times)
    assert torch.equal(found, wanted)


def test_repeat_of_views():
    x = torch.randn(5, 4, 3)
    for view in (x.transpose(0, 2), x[::2, 1:], x.expand(2, 5, 4, 3), torch.randn(3, 4, dtype=torch.complex64).conj()):
        assert torch.equal(view.repeat(*(2,) * view.dim()), view.resolve_conj().contiguous().repeat(*(2,) * view.dim()))
    leaf = torch.randn(2, 3, requires_grad=True)
    leaf.repeat(3, 2).sum().backward()
    assert torch.equal(leaf.grad, torch.full((2, 3), 6.0))


def test_flip_of_long_lines():
    for dtype in (torch.uint8, torch.float16, torch.float32, torch.float64):
        x = (torch.rand(3, 1001) * 200).to(dtype)
        assert torch.equal(x.flip(1), x[:, torch.arange(1000, -1, -1)]) and torch.equal(x.flip(0, 1).flip(0), x.flip(1))


def test_none_stands_for_an_empty_list_of_dims():
    assert torch.roll(torch.arange(4), 1, None).tolist() == [3, 0, 1, 2]


def _last(*sizes):
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return torch.randn(sizes).contiguous(memory_format=formats[len(sizes)]).requires_grad_()


def test_flip_and_roll_keep_channels_last():
    x = _last(2, 4, 3, 5).detach()
    for found, wanted in (
        (x.flip(1, 3), x.contiguous().flip(1, 3)),
        (x.roll((1, 2), (1, 3)), x.contiguous().roll((1, 2), (1, 3))),
    ):
        assert found.stride() == x.stride() and torch.equal(found, wanted)
    assert x.roll(7).is_contiguous() and torch.equal(x.roll(7), x.contiguous().roll(7))


def test_scatters_keep_the_layout_of_the_tensor():
    x = torch.zeros(4, 8)[:, ::2]
    assert torch.select_scatter(x, torch.ones(4), 0, 1).stride() == (8, 2)
    assert torch.slice_scatter(x, torch.ones(1, 4), 0, 1, 2).tolist() == [[0] * 4, [1] * 4, [0] * 4, [0] * 4]


def test_elements_repeated():
    x = torch.arange(12.0).reshape(3, 4)
    for times in (0, 1, 2, 3, 4, 5):
        assert np.array_equal(x.repeat_interleave(times).numpy(), x.numpy().repeat(times))
        assert np.array_equal(x.t().repeat_interleave(times, 1).numpy(), x.numpy().T.repeat(times, 1))


@pytest.mark.parametrize("turns", [-1, 0, 1, 2, 3, 5])
def test_quarter_turns(turns):
    x = torch.arange(24.0).view(2, 3, 4).requires_grad_()
    for dims in ((0, 1), (1, 0), (0, 2), (-1, 1)):
        found = torch.rot90(x, turns, dims)
        np.testing.assert_array_equal(found.detach().numpy(), np.rot90(x.detach().numpy(), turns, dims))
        (g,) = torch.autograd.grad(found, x, found.detach())
        assert torch.equal(g, x.detach())


def test_triangles_flips_and_rolls():
    x = torch.arange(60).reshape(3, 4, 5)
    for k in (-9, -2, 0, 1, 4, 9):
        assert np.array_equal(x.tril(k).numpy(), np.tril(x.numpy(), k)) and np.array_equal(
            x.triu(k).numpy(), np.triu(x.numpy(), k)
        )
    for dtype in (torch.bool, torch.int16, torch.float32, torch.int64):
        y = x.to(dtype)
        assert np.array_equal(y.flip(0, -1).numpy(), y.numpy()[::-1, :, ::-1])
        assert np.array_equal(y.mT.flip(1).numpy(), y.numpy().swapaxes(1, 2)[:, ::-1])
        assert np.array_equal(y.roll((1, -7), (0, 2)).numpy(), np.roll(y.numpy(), (1, -7), (0, 2)))
        assert np.array_equal(y.roll(13).numpy(), np.roll(y.numpy(), 13))
