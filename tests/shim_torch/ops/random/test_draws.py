"""Random numbers: bounds, errors and warnings as PyTorch's, the same numbers by every way."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.tensor.generator import philox


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


def test_draws_fill_tensors_and_count_as_writes():
    for make in (
        lambda: torch.rand(7),
        lambda: torch.randn(7),
        lambda: torch.randint(0, 1000, (7,)),
        lambda: torch.rand(7, dtype=torch.float64),
    ):
        torch.manual_seed(5)
        first = make()
        torch.manual_seed(5)
        assert torch.equal(first, make())
    x = torch.zeros(4)
    version = x._version
    x.uniform_(2, 3)
    assert x._version == version + 1 and bool(((x >= 2) & (x < 3)).all())


def test_integers_are_drawn():
    assert torch.empty(200, dtype=torch.int8).geometric_(0.5).min() == 1
    out = torch.bernoulli(torch.tensor([0.0, 1.0]), out=torch.empty(2, dtype=torch.int8))
    assert out.tolist() == [0, 1] and out.dtype == torch.int8


@pytest.mark.parametrize(
    ("draw", "text"),
    [
        (lambda x: x.exponential_(0), "exponential_ expects lambda > 0.0, but found lambda=0"),
        (lambda x: x.cauchy_(0, -1), "cauchy_ expects sigma > 0.0, but found sigma=-1"),
        (lambda x: x.log_normal_(0, 0), "log_normal_ expects std > 0.0, but found std=0"),
        (lambda x: torch.bernoulli(x + 2), "Expected p_in >= 0 && p_in <= 1"),
        (lambda x: torch.multinomial(x * 0, 1), "sum of probabilities <= 0"),
        (
            lambda x: torch.multinomial(x.long(), 1),
            "multinomial only supports floating-point dtypes for input, got: Long",
        ),
        (lambda x: x.long().exponential_(), "Exponential distribution is a continuous probability distribution"),
    ],
)
def test_what_cannot_be_drawn(draw, text):
    with pytest.raises(RuntimeError, match=text):
        draw(torch.ones(3))


@pytest.mark.parametrize("seed", [2**63 + 5, 2**64 - 1, -7, 3])
def test_a_cuda_seed_is_an_int_of_schemas(seed):
    """Operators' schemas hold 64 bits with a sign; the stream is that of the seed's bits."""
    generator = torch.Generator(torch.device("cuda", 0)).manual_seed(seed)
    taken, start = generator._take(4)
    assert -(2**63) <= taken < 2**63 and taken % 2**64 == generator.initial_seed() and start == 0
    assert (philox(np, taken, 0, 3) == philox(np, generator.initial_seed(), 0, 3)).all()
