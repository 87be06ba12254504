"""New tensors of random numbers: their bounds and errors, permutations, normal numbers of narrow dtypes."""

from __future__ import annotations

import pytest

import shim_torch as torch


def test_randperm_needs_countable_dtypes():
    for dtype, n in ((torch.uint8, 257), (torch.float16, 2**11 + 2), (torch.float32, 2**24 + 2)):
        with pytest.raises(RuntimeError):
            torch.randperm(n, dtype=dtype)
    assert sorted(torch.randperm(256, dtype=torch.uint8).tolist()) == list(range(256))


def test_normal_into_out_and_bad_deviations():
    out = torch.empty(100, 100)
    assert torch.normal(2, 3, (100, 100), out=out) is out
    assert abs(out.mean().item() - 2) < 0.3 and abs(out.std().item() - 3) < 0.3
    assert torch.equal(torch.normal(out, 0), out)
    with pytest.raises(RuntimeError, match="normal expects all elements of std >= 0.0"):
        torch.normal(torch.tensor(0.0), torch.tensor(-1.0))
    with pytest.raises(RuntimeError, match="normal expects std >= 0.0, but found std -1"):
        torch.normal(torch.zeros(2), -1)
    with pytest.raises(RuntimeError, match="standard deviation to be non-complex"):
        torch.normal(0, torch.ones(2, dtype=torch.complex64))
    assert torch.normal(0.0, torch.ones(2)).shape == (2,)


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


def test_normal_numbers_of_narrow_dtypes_end_in_a_block_of_their_own():
    torch.manual_seed(0)
    last = [-0.5859375, -0.173828125, 0.18359375, 1.390625, 1.5859375, 0.9453125, -0.84375]
    assert torch.randn(19, dtype=torch.bfloat16)[-7:].tolist() == last
