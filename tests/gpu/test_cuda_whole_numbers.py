"""Divisors, members of sets, nearness and counts on CUDA against the CPU's."""

import pytest
from kernel_checks import same_on_both

import shim_torch as torch

pytestmark = pytest.mark.usefixtures("on_our_kernels")

INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_divisors(dtype):
    a, b = torch.randint(0, 100, (40, 33)).to(dtype), torch.randint(0, 100, (33,)).to(dtype)
    if dtype is not torch.uint8:
        a, b = a - 50, b - 50
    for call in (torch.gcd, torch.lcm):
        same_on_both(call, a.int() if dtype is torch.int8 else a, b)
        same_on_both(call, a.t(), b[:, None])
    assert torch.equal(a.cuda().gcd_(b.cuda()).cpu(), torch.gcd(a, b))


@pytest.mark.parametrize("call", [torch.gcd, torch.lcm])
def test_divisors_of_the_largest(call):
    same_on_both(call, torch.tensor([-(2**63), 2**62, 0]), torch.tensor([6, -4, 0]))
    same_on_both(call, torch.tensor([-128, 127, 0], dtype=torch.int8), torch.tensor([12], dtype=torch.int32))


@pytest.mark.parametrize("dtype", [*INTEGERS, torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("members", [0, 5, 32, 33, 70, 5000])
def test_members(members, dtype):
    x, m = torch.randint(0, 100, (500, 7)).to(dtype), torch.randint(0, 100, (members,)).to(dtype)
    for invert in (False, True):
        same_on_both(lambda x, m, i=invert: torch.isin(x, m, invert=i), x, m)
        same_on_both(lambda x, m, i=invert: torch.isin(x.t(), m.double(), invert=i), x, m)
    same_on_both(lambda x: torch.isin(x, 7), x)


def test_no_number_is_no_member():
    x = torch.tensor([float("nan"), 0.0, -0.0, 1.5, float("inf")])
    same_on_both(torch.isin, x, x)
    same_on_both(torch.isin, x, x.repeat(20))


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool])
def test_nearness_and_counts(dtype):
    a, b = torch.randint(0, 5, (60, 31)).to(dtype), torch.randint(0, 5, (31,)).to(dtype)
    for rtol, atol in ((0, 0), (0.5, 0), (0, 1), (1e-5, 1e-8)):
        same_on_both(lambda x, y, r=rtol, t=atol: torch.isclose(x, y, r, t), a, b)
    same_on_both(torch.count_nonzero, a)
    same_on_both(lambda x: torch.count_nonzero(x, 0), a)
    same_on_both(lambda x: torch.count_nonzero(x, (0, 1)), a)
    if dtype is not torch.bool:
        same_on_both(torch.heaviside, a, b)


def test_steps_at_no_number():
    steps = torch.heaviside(torch.tensor([-1.5, 0, 2], device="cuda"), torch.tensor([float("nan")], device="cuda"))
    assert steps[::2].tolist() == [0, 1] and steps[1].isnan()


def test_nearness_of_large_numbers():
    large = torch.tensor([2**60, 2**60 + 1])
    same_on_both(lambda x, y: torch.isclose(x, y, 0, 0), large, large.flip(0))


def test_nearness_of_complex_numbers():
    z = torch.tensor([1 + 2j, complex("nan"), complex("inf"), 3j])
    for equal_nan in (False, True):
        same_on_both(lambda a, b, e=equal_nan: torch.isclose(a, b, 1e-3, equal_nan=e), z, z * (1 + 1e-4j))
