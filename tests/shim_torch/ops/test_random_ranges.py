"""Bounds of random_(), randint(), randperm() and normal(): PyTorch's errors and warnings."""

from __future__ import annotations

import pytest

import shim_torch as torch


def test_random_refuses_what_the_dtype_cannot_hold():
    with pytest.raises(RuntimeError, match="^to - 1 is out of bounds for unsigned char"):
        torch.empty(3, dtype=torch.uint8).random_(0, 257)
    with pytest.raises(RuntimeError, match="^from is out of bounds for bool"):
        torch.empty(3, dtype=torch.bool).random_(-1, 1)
    with pytest.raises(RuntimeError, match="to - 1 is out of bounds for c10::Half"):
        torch.empty(3, dtype=torch.float16).random_(0, 70000)
    with pytest.raises(RuntimeError, match="'from' to be less than 'to', but got from=5 >= to=5"):
        torch.randint(5, 5, (2,))
    with pytest.raises(RuntimeError, match="check_random_bounds handles only integral"):
        torch.randint(5, (2,), dtype=torch.complex64)


def test_random_warns_where_digits_are_too_few():
    with pytest.warns(
        UserWarning, match=r"to - 1 is out of bounds \[-\(2\^8\), 2\^8\]. Due to precision limitations c10::BFloat16"
    ):
        x = torch.empty(2000, dtype=torch.bfloat16).random_(0, 1000)
    assert 0 <= float(x.min()) and float(x.max()) <= 1000
    whole = torch.empty(2000, dtype=torch.uint8).random_()
    assert whole.min() < 10 and whole.max() > 245


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


def test_random_reaches_both_ends():
    assert set(torch.empty(100, dtype=torch.bool).random_().tolist()) == {True, False}
    assert torch.empty(20000, dtype=torch.uint8).random_().max() == 255
    assert torch.empty(1000, dtype=torch.int64).random_(2**62, None).min() >= 2**62


def test_uniform_bounds():
    x = torch.empty(3)
    for low, high, text in (
        (2, 1, "found from=2 > to=1"),
        (0, 1e39, "to is out of bounds for float"),
        (float("nan"), 1, "from is out of bounds for float"),
        (-3e38, 3e38, r"uniform_ expects to-from <= std::numeric_limits<Float>::max\(\)"),
    ):
        with pytest.raises(RuntimeError, match=text):
            x.uniform_(low, high)
    made = torch.empty(100, dtype=torch.complex64).uniform_(1, 2)
    assert made.real.min() >= 1 and made.imag.min() >= 1 and made.imag.max() <= 2
