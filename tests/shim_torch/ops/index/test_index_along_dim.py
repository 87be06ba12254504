"""Elements taken, added, copied and filled at indices along a dim."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import shim_torch as torch

from ..checked_calls import both, drawn, natively, numpy


def test_indices_out_of_bounds_are_named() -> None:
    with pytest.raises(RuntimeError, match="INDICES element is out of DATA bounds, id=5 axis_dim=4"):
        torch.randn(3, 4).index_select(1, torch.tensor([0, 5]))
    for shape, dim in (((3,), 0), ((3, 4), 0), ((2, 2, 3), 2)):
        with pytest.raises(IndexError, match="index out of range in self"):
            torch.ones(shape).index_select(dim, torch.tensor([0, 3]))
    with pytest.raises(RuntimeError, match="id=9 axis_dim=4"):
        torch.ones(4, 0).index_select(0, torch.tensor([9]))
    with pytest.raises(RuntimeError, match="Index to scalar can have only 1 value, got 2 value"):
        torch.tensor(1.0).index_select(0, torch.tensor([0, 0]))


def test_index_add_rows_columns_and_threads():
    index, source = torch.randint(0, 50, (3000,)), torch.randn(3000, 40)
    want = np.zeros((50, 40))
    np.add.at(want, index.numpy(), source.double().numpy())
    for threads in (1, 2):
        torch.set_num_threads(threads)
        got = torch.zeros(50, 40).index_add_(0, index, source)
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-4)
        assert torch.equal(got, torch.zeros(40, 50).index_add(1, index, source.t()).t())


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_takes_of_every_size_along_inner_dims(size):
    dtype = {1: torch.int8, 2: torch.int16, 4: torch.float32, 8: torch.int64, 16: torch.complex128}[size]
    x, index = torch.arange(60).reshape(4, 5, 3).to(dtype), torch.tensor([4, 0, 0, 2])
    assert np.array_equal(x.index_select(1, index).numpy(), x.numpy()[:, [4, 0, 0, 2]])
    assert np.array_equal(x[:, :, torch.tensor([2, 0])].numpy(), x.numpy()[:, :, [2, 0]])


rng = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.uint8])
@pytest.mark.parametrize("width", [1, 7, 8, 37])
def test_rows_added_at_an_index(dtype, width):
    x = torch.from_numpy(rng.integers(0, 9, (20, width))).to(dtype)
    places = torch.from_numpy(rng.integers(0, 5, 20))
    expected = np.zeros((5, width), x.numpy().dtype)
    np.add.at(expected, places.numpy(), x.numpy())
    assert np.array_equal(torch.zeros(5, width, dtype=dtype).index_add_(0, places, x).numpy(), expected)
    kept = np.zeros((5, width), x.numpy().dtype)
    kept[places.numpy()] = x.numpy()
    assert np.array_equal(torch.zeros(5, width, dtype=dtype).index_copy_(0, places, x).numpy(), kept)
    assert np.array_equal(torch.gather(x, 0, places[:, None].expand(20, width)).numpy(), x.numpy()[places.numpy()])


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64, np.complex128])
def test_taking_by_index(dtype: Any) -> None:
    x = drawn((6, 5, 4)).astype(dtype)
    t, index = torch.from_numpy(x), np.array([[3, 0], [1, 3]])
    for dim in (0, 1, -1):
        got = natively(lambda d=dim: t.index_select(d, torch.tensor([2, 0, 2])))
        np.testing.assert_array_equal(numpy(got), x.take([2, 0, 2], dim))
    i, negative = torch.from_numpy(index), torch.from_numpy(index - 4)
    np.testing.assert_array_equal(numpy(natively(lambda: t[i])), x[index])
    np.testing.assert_array_equal(numpy(natively(lambda: t[:, i])), x[:, index])
    np.testing.assert_array_equal(numpy(natively(lambda: t[..., negative])), x[..., index - 4])
    np.testing.assert_array_equal(numpy(natively(lambda: t[i, negative])), x[index, index - 4])
    np.testing.assert_array_equal(numpy(natively(lambda: t[:, i, i[0]])), x[:, index, index[0]])
    np.testing.assert_array_equal(numpy(natively(lambda: t.transpose(0, 2)[i])), x.transpose(2, 1, 0)[index])
    with pytest.raises(IndexError, match="index 6 is out of bounds for dimension 0 with size 6"):
        t[torch.tensor([6])]


F = torch.nn.functional


def test_places_written_and_built():
    x, y, i = torch.arange(30.0).view(6, 5), -torch.ones(3, 5), torch.tensor([0, 5, 2])
    wanted = x.numpy().copy()
    wanted[[0, 5, 2]] = -1
    assert np.array_equal(x.index_copy(0, i, y).numpy(), wanted) and np.array_equal(
        x.index_fill(0, i, -1).numpy(), wanted
    )
    assert np.array_equal(x.t().index_fill(1, i, -1).numpy(), wanted.T) and x.t().index_fill(1, i, -1).stride() == (
        1,
        5,
    )
    assert x.take(torch.tensor([[0, 7], [-1, 3]])).tolist() == [[0, 7], [29, 3]]
    with pytest.raises(IndexError):
        x.index_fill(0, torch.tensor([6]), 1)
    with pytest.raises(RuntimeError, match="Expected a long tensor for index, but got Int"):
        x.index_copy(0, i.int(), y)
    for offset in (0, 1, -2):
        assert np.array_equal(torch.diag(x[0], offset).numpy(), np.diag(x[0].numpy(), offset))
        assert np.array_equal(torch.diagonal(x.diag_embed(offset), offset, 1, 2).numpy(), x.numpy())
        assert np.array_equal(torch.tril_indices(4, 6, offset).numpy(), np.stack(np.tril_indices(4, offset, 6)))
        assert np.array_equal(torch.triu_indices(4, 6, offset).numpy(), np.stack(np.triu_indices(4, offset, 6)))
    assert np.array_equal(torch.complex(x, 2 * x).numpy(), x.numpy() + 2j * x.numpy())
    p, t = torch.tensor([0.0, 1.0, 0.3]), torch.tensor([0.0, 0.5, 1.0])
    assert np.allclose(F.binary_cross_entropy(p, t, reduction="none").numpy(), [0, 50, -math.log(0.3)])
    logits, places = torch.randn(9, 4), torch.arange(9) % 4
    both(lambda v: F.cross_entropy(v, places), logits)
    assert torch.isclose(x, x + 1e-9).all() and not torch.isclose(x, x + 1).any()


def test_index_add_checks_its_source():
    x = torch.zeros(2, 3)
    with pytest.raises(
        RuntimeError, match=r"Number of indices \(3\) should be equal to source.size\(dim\): \(2\), for dim: 0"
    ):
        x.index_add(0, torch.tensor([0, 1, 1]), torch.ones(2, 3))
    with pytest.raises(
        RuntimeError, match=r"source tensor shape must match self tensor shape, excluding the specified dim"
    ):
        x.index_add(0, torch.tensor([0, 1]), torch.ones(2, 1))
    found = torch.zeros(2, dtype=torch.uint8).index_add(0, torch.tensor([1]), torch.tensor([3]).byte(), alpha=-1)
    assert found.tolist() == [0, 253]
