"""Writes and reads at places that a tensor names along a dim: values, repeats, bounds, strides."""

import numpy as np
import pytest

import shim_torch as torch

from ..checked_calls import drawn, natively, numpy

DTYPES = [torch.float32, torch.float64, torch.uint8, torch.int16, torch.int32, torch.int64]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_scatter_add_and_gather(dtype, dim):
    index = torch.randint(0, 5, (4, 3, 5))
    src, out = (torch.randint(0, 9, (4, 4, 6)).to(dtype) for _ in range(2))
    out = torch.randint(0, 9, (5, 5, 5)).to(dtype)
    want = out.numpy().copy()
    d = dim % 3
    for at in np.ndindex(*index.shape):
        to = list(at)
        to[d] = int(index[at])
        want[tuple(to)] += src.numpy()[at]
    assert np.array_equal(out.scatter_add(dim, index, src).numpy(), want)
    picked = out.gather(dim, index).numpy()
    for at in np.ndindex(*index.shape):
        to = list(at)
        to[d] = int(index[at])
        assert picked[at] == out.numpy()[tuple(to)]


def test_strided_operands_and_int32_indices():
    out, src = torch.zeros(6, 4).t(), torch.randn(6, 4).t()
    index = torch.randint(0, 6, (4, 6), dtype=torch.int32)
    want = torch.zeros(4, 6).scatter_add(1, index.long(), src.contiguous())
    assert torch.equal(out.scatter_add_(1, index, src), want)
    assert torch.equal(src.gather(1, index), src.contiguous().gather(1, index.long()))


def test_scatter_of_numbers_and_tensors():
    out = torch.zeros(3, 5, dtype=torch.int64)
    assert out.scatter_(1, torch.tensor([[1], [2], [4]]), 7).sum(0).tolist() == [0, 7, 7, 0, 7]
    half = torch.zeros(4, dtype=torch.bfloat16).scatter(
        0, torch.tensor([3, 1]), torch.tensor([1.5, 2.0], dtype=torch.bfloat16)
    )
    assert half.tolist() == [0.0, 2.0, 0.0, 1.5]
    part = torch.arange(8.0)
    assert part.scatter(0, torch.tensor([3, 2, 1, 0]), part[4:]).tolist() == [7.0, 6.0, 5.0, 4.0, 4.0, 5.0, 6.0, 7.0]


@pytest.mark.parametrize("call", [lambda x, i: x.gather(0, i), lambda x, i: x.scatter(0, i, 1.0), lambda x, i: x.scatter_add(0, i, x[:1]),
                                  lambda x, i: x.index_add(0, i, x[:1]), lambda x, i: x.index_put((i,), x[:1])])  # fmt: skip
def test_out_of_bounds_writes_nothing(call):
    x = torch.arange(5.0)
    with pytest.raises((RuntimeError, IndexError)):
        call(x, torch.tensor([5]))
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_gradients():
    index = torch.tensor([[0, 2, 2], [1, 1, 0]])
    x = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)
    src = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a: a.gather(0, index), (x,))
    assert torch.autograd.gradcheck(lambda a, s: a.scatter_add(0, index, s), (x, src))
    assert torch.autograd.gradcheck(lambda a, s: a.index_add(0, torch.tensor([2, 0]), s), (x, src))
    assert torch.autograd.gradcheck(lambda a: a[torch.tensor([2, 2, 0])], (x,))


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gather(dim: int) -> None:
    x = drawn((4, 5, 6))
    index = np.random.default_rng(2).integers(0, 4, (4, 5, 6))
    got = natively(lambda: torch.from_numpy(x).gather(dim, torch.from_numpy(index)))
    np.testing.assert_array_equal(numpy(got), np.take_along_axis(x, index, dim))
    part = index[:2]
    got = torch.from_numpy(x).gather(dim, torch.from_numpy(part))
    np.testing.assert_array_equal(numpy(got), np.take_along_axis(x if dim == 0 else x[:2], part, dim))


def test_gather_and_scatter_with_an_index_of_no_dims():
    one, at = torch.tensor([7.0]), torch.tensor(0)
    assert torch.gather(one, 0, at).shape == ()
    assert torch.scatter(one, 0, at, torch.tensor(3.0)).tolist() == [3]
