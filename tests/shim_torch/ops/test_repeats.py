"""Repeats and column sums of 16-bit floats, which have kernels of their own."""

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


@pytest.mark.parametrize("rows", [2, 5, 64, 131, 1000])
@pytest.mark.parametrize("columns", [1, 7, 130])
def test_column_sums_of_bfloat16(rows, columns):
    x = torch.randn(rows, columns).bfloat16()
    torch.testing.assert_close(x.sum(0), x.double().sum(0).bfloat16())
    torch.testing.assert_close(x.sum(0, dtype=torch.float32), x.double().sum(0).float())
    x[rows // 2, 0] = float("nan")
    assert x.sum(0).isnan().nonzero().flatten().tolist() == [0]


def test_flip_of_long_lines():
    for dtype in (torch.uint8, torch.float16, torch.float32, torch.float64):
        x = (torch.rand(3, 1001) * 200).to(dtype)
        assert torch.equal(x.flip(1), x[:, torch.arange(1000, -1, -1)]) and torch.equal(x.flip(0, 1).flip(0), x.flip(1))
