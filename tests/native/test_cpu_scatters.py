"""Writes and reads at places that a tensor names, on the CPU: values, repeats, bounds, strides."""

import numpy as np
import pytest

import shim_torch as torch

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


def test_index_add_rows_columns_and_threads():
    index, source = torch.randint(0, 50, (3000,)), torch.randn(3000, 40)
    want = np.zeros((50, 40))
    np.add.at(want, index.numpy(), source.double().numpy())
    for threads in (1, 2):
        torch.set_num_threads(threads)
        got = torch.zeros(50, 40).index_add_(0, index, source)
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-4)
        assert torch.equal(got, torch.zeros(40, 50).index_add(1, index, source.t()).t())


def test_index_put_with_negative_places_and_repeats():
    x = torch.zeros(3, 4)
    x.index_put_((torch.tensor([0, -1, 0]), torch.tensor([-1, 1, 3])), torch.tensor([1.0, 2.0, 4.0]), accumulate=True)
    assert x.tolist() == [[0, 0, 0, 5], [0, 0, 0, 0], [0, 2, 0, 0]]
    x[torch.tensor([2, 1])] = torch.arange(4.0)
    assert x[1:].tolist() == [[0, 1, 2, 3]] * 2
    x[torch.tensor([[0], [1]]), torch.tensor([0, 2])] = 9.0
    assert x[:2, ::2].tolist() == [[9, 9], [9, 9]]
    grid = torch.zeros(2, 3, 4)
    grid[torch.tensor([1, 0])] = torch.arange(12.0).view(3, 4)
    assert torch.equal(grid[0], grid[1]) and grid[1, 2, 3] == 11


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_takes_of_every_size_along_inner_dims(size):
    dtype = {1: torch.int8, 2: torch.int16, 4: torch.float32, 8: torch.int64, 16: torch.complex128}[size]
    x, index = torch.arange(60).reshape(4, 5, 3).to(dtype), torch.tensor([4, 0, 0, 2])
    assert np.array_equal(x.index_select(1, index).numpy(), x.numpy()[:, [4, 0, 0, 2]])
    assert np.array_equal(x[:, :, torch.tensor([2, 0])].numpy(), x.numpy()[:, :, [2, 0]])


def test_gradients():
    index = torch.tensor([[0, 2, 2], [1, 1, 0]])
    x = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)
    src = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a: a.gather(0, index), (x,))
    assert torch.autograd.gradcheck(lambda a, s: a.scatter_add(0, index, s), (x, src))
    assert torch.autograd.gradcheck(lambda a, s: a.index_add(0, torch.tensor([2, 0]), s), (x, src))
    assert torch.autograd.gradcheck(lambda a: a[torch.tensor([2, 2, 0])], (x,))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin"])
def test_scatter_reduce(dtype, reduce):
    r = np.random.default_rng(0)
    x, src, index = (
        r.integers(-4, 5, (5, 6)).astype(dtype),
        r.integers(-4, 5, (4, 6)).astype(dtype),
        r.integers(0, 5, (4, 6)),
    )
    two = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[reduce]
    wanted = x.copy()
    two.at(wanted, (index, np.arange(6)), src)
    t, s, i = (torch.from_numpy(a) for a in (x, src, index))
    assert np.array_equal(t.scatter_reduce(0, i, s, reduce).numpy(), wanted)
    assert np.array_equal(t.t().scatter_reduce(1, i.t(), s.t(), reduce).numpy(), wanted.T)
    assert np.array_equal(t.clone().scatter_reduce_(0, i, s, reduce).numpy(), wanted)
    with pytest.raises(RuntimeError, match="index 5 is out of bounds"):
        t.scatter_reduce(0, torch.full((4, 6), 5), s, reduce)


def test_scatter_reduce_keeps_nan():
    x, s = torch.tensor([float("nan"), 1.0]), torch.tensor([2.0, float("nan"), 3.0])
    assert x.scatter_reduce(0, torch.tensor([0, 1, 1]), s, "amax").isnan().all()
    assert x.scatter_reduce(0, torch.tensor([0, 1, 1]), s, "amin").isnan().all()
