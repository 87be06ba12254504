"""CPU kernels of look-ups, counts, repeats, losses and random numbers: against NumPy, and against the records' own bodies."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch

F = torch.nn.functional


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float64"])
def test_looked_up(dtype):
    r = np.random.default_rng(0)
    a = r.integers(0, 50, 300).astype(dtype)
    ranked = np.sort(a)
    for right in (False, True):
        wanted = np.searchsorted(ranked, a, "right" if right else "left")
        assert np.array_equal(
            torch.searchsorted(torch.from_numpy(ranked), torch.from_numpy(a), right=right).numpy(), wanted
        )
        assert np.array_equal(
            torch.bucketize(torch.from_numpy(a), torch.from_numpy(ranked), right=right).numpy(), wanted
        )
    rows = np.sort(a.reshape(3, 100), 1)
    found = torch.searchsorted(torch.from_numpy(rows), torch.from_numpy(a.reshape(3, 100)), out_int32=True)
    assert found.dtype == torch.int32 and np.array_equal(
        found.numpy(), [np.searchsorted(s, v) for s, v in zip(rows, a.reshape(3, 100), strict=True)]
    )
    assert torch.searchsorted(torch.from_numpy(ranked[:0]), torch.from_numpy(a)).sum() == 0
    for few in (a[:3], a[:40]):
        assert np.array_equal(torch.isin(torch.from_numpy(a), torch.from_numpy(few)).numpy(), np.isin(a, few))
        assert np.array_equal(
            torch.isin(torch.from_numpy(a), torch.from_numpy(few), invert=True).numpy(), ~np.isin(a, few)
        )
    t = torch.from_numpy(a).view(10, 30)
    for dim in (0, 1, -1):
        assert np.array_equal(t.repeat_interleave(3, dim).numpy(), np.repeat(a.reshape(10, 30), 3, dim))
        assert np.array_equal(t.t().repeat_interleave(2, dim).numpy(), np.repeat(a.reshape(10, 30).T, 2, dim))
    assert np.array_equal(t.repeat_interleave(2).numpy(), np.repeat(a, 2))
    assert (
        torch.equal(t, t.clone())
        and not torch.equal(t, t + 1)
        and torch.equal(t.t(), t.t().contiguous())
        and not torch.equal(t, t[:2])
    )
    assert t.trace().item() == np.trace(a.reshape(10, 30))


def test_nan_is_found_nowhere_and_stands_last():
    x = torch.tensor([float("nan"), 1.0])
    assert torch.isin(x, x).tolist() == [False, True]
    assert torch.searchsorted(torch.tensor([0.0, 1.0, 2.0]), x).tolist() == [3, 1]
    assert not torch.equal(x, x.clone()) and torch.equal(torch.zeros(2), -torch.zeros(2))


def test_counted():
    a = np.random.default_rng(0).integers(0, 9, 5000)
    t = torch.from_numpy(a)
    assert np.array_equal(torch.bincount(t).numpy(), np.bincount(a)) and torch.bincount(t, minlength=20).shape == (20,)
    assert np.array_equal(F.one_hot(t.view(50, 100), 12).numpy(), np.eye(12, dtype="int64")[a.reshape(50, 100)])
    with pytest.raises(RuntimeError, match="non-negative"):
        torch.bincount(torch.tensor([1, -1]))
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        F.one_hot(t, 3)


def test_counts_of_numbers_at_the_end_of_their_range():
    # (x - least) * bins / width is infinite or no number here, and named a place outside of the bins
    assert torch.histc(torch.tensor([0.0, 3e38]), 10).tolist() == [1] + [0] * 8 + [1]
    assert torch.histc(torch.tensor([-3e38, 3e38]), 10).sum() == 2
    assert torch.histc(torch.tensor([0.0, 1.0, 1e308], dtype=torch.float64), 10).tolist() == [2] + [0] * 8 + [1]
    with pytest.raises(
        RuntimeError,
        match="maximum value of input overflowed, it should be < 9223372036854775807 but got 9223372036854775807",
    ):
        torch.bincount(torch.tensor([2**63 - 1]))


def test_a_sparse_result_is_not_written_into_a_dense_tensor():
    with pytest.raises(RuntimeError, match="Found self type = torch.LongTensor and src type = torch.sparse.LongTensor"):
        torch.ops.aten._to_sparse.sparse_dim_out(
            torch.ones(2, 3, dtype=torch.int64), 1, out=torch.zeros(2, 3, dtype=torch.int64)
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_are_those_that_keep_a_history(dtype, reduction):
    torch.manual_seed(0)
    x, y, rows = (
        torch.randn(70000, dtype=dtype),
        torch.randn(70000, dtype=dtype),
        torch.randn(40, 7, dtype=dtype).log_softmax(1),
    )
    places = torch.randint(0, 7, (40,))
    places[3] = -100
    weight = torch.rand(7, dtype=dtype)
    for loss in (
        F.mse_loss,
        F.l1_loss,
        F.smooth_l1_loss,
        F.huber_loss,
        lambda a, b, reduction: F.smooth_l1_loss(a, b, reduction=reduction, beta=0.3),
    ):
        kept = loss(x.clone().requires_grad_(), y, reduction=reduction)
        assert torch.allclose(loss(x, y, reduction=reduction), kept.detach(), rtol=1e-5)
    for w in (None, weight):
        for ignored in (-100, 2):
            where = places.masked_fill(places == -100, ignored)
            kept = F.nll_loss(rows.clone().requires_grad_(), where, w, reduction=reduction, ignore_index=ignored)
            assert torch.allclose(
                F.nll_loss(rows, where, w, reduction=reduction, ignore_index=ignored), kept.detach(), rtol=1e-5
            )
    with pytest.raises(IndexError, match="Target 9 is out of bounds."):
        F.nll_loss(rows[:1], torch.tensor([9]))


def drawn(*calls):
    """What the calls give, each from the same place of the stream."""
    found = []
    for call in calls:
        torch.manual_seed(7)
        found.append(call())
    return found


def test_draws_are_the_same_by_every_way():
    like, half = torch.empty(1001), torch.empty(1001, dtype=torch.float16)
    g = torch.Generator().manual_seed(7)
    pairs = [
        (lambda: torch.rand(1001), lambda: like.clone().uniform_()),
        (lambda: torch.rand(1001), lambda: torch.rand(1001, generator=torch.Generator().manual_seed(7))),
        (lambda: torch.randn(1001), lambda: torch.normal(0.0, 1.0, (1001,))),
        (lambda: torch.randn_like(like), lambda: like.clone().normal_()),
        (lambda: torch.rand_like(like), lambda: torch.rand(1001)),
        (lambda: torch.randint(3, 9, (1001,)), lambda: torch.randint_like(like, 3, 9).long()),
        (lambda: torch.randint(3, 9, (1001,)).int(), lambda: torch.empty(1001, dtype=torch.int32).random_(3, 9)),
        (lambda: torch.rand(1001, dtype=torch.float64) < 0.3, lambda: like.clone().bernoulli_(0.3).bool()),
        (lambda: torch.rand(1001) < 0.25, lambda: torch.bernoulli(torch.full((1001,), 0.25)).bool()),
        (lambda: -(1 - torch.rand(1001, dtype=torch.float64)).log() / 2, lambda: like.clone().exponential_(2.0)),
        (lambda: torch.rand(1001).half() % 1, lambda: half.clone().uniform_()),  # what rounds up to 1 begins again
    ]
    for one, other in pairs:
        a, b = drawn(one, other)
        assert torch.allclose(a.float(), b.float(), rtol=1e-6)
    assert not torch.equal(torch.rand(5, generator=g), torch.rand(5, generator=g))
    version = like._version
    assert like.uniform_() is like and like._version > version


@pytest.mark.parametrize("n", [0, 1, 2, 9, 1000, 70000])
def test_permutations(n):
    torch.manual_seed(7)
    order = torch.randperm(n)
    torch.manual_seed(7)
    pairs = (
        torch.empty(n // 2 + 1, dtype=torch.int64).random_(-(2**63), None).tolist()
    )  # two words each, the first one high
    words = [(pair >> shift) & 0xFFFFFFFF for pair in pairs for shift in (32, 0)]
    assert order.dtype == torch.int64 and torch.equal(order.sort()[0], torch.arange(n))
    expected = list(range(n))  # every place takes one of what is left
    for i in range(n - 1):
        to = i + words[i] % (n - i)
        expected[i], expected[to] = expected[to], expected[i]
    assert order.tolist() == expected


def test_permutations_are_all_as_likely():
    torch.manual_seed(0)
    seen = [tuple(torch.randperm(4).tolist()) for _ in range(4800)]
    counts = [seen.count(p) for p in set(seen)]
    assert len(counts) == 24 and max(counts) < 270 and min(counts) > 140


def test_division_of_complex_numbers_keeps_large_and_small_ones():
    r = np.random.default_rng(0)
    a, b = (r.standard_normal(99) + 1j * r.standard_normal(99) for _ in range(2))
    for scale in (1, 1e150, 1e-150):
        assert np.allclose((torch.from_numpy(a * scale) / torch.from_numpy(b * scale)).numpy(), a / b, rtol=1e-13)


def test_erfc_is_right_in_its_tail():
    import math

    x = torch.linspace(-5, 9.5, 3001)
    wanted = np.array([math.erfc(v) for v in x.tolist()])
    assert np.allclose(x.erfc().numpy(), wanted, rtol=2e-6, atol=1e-44)
    assert (
        x[[0]].mul(float("inf")).erfc().item() == 2
        and torch.tensor(float("inf")).erfc().item() == 0
        and torch.tensor(float("nan")).erfc().isnan()
    )
