"""Tensors joined of pieces that groups make: the pieces are written to their places."""

import random

import pytest
from recording import Recording
from test_programs import check

import shim_torch as torch

pytestmark = pytest.mark.devices("cpu", "cuda")


def turned(r, x):
    """(-b, a) of x = (a, b), as rotary embeddings have it."""
    a, b = x.chunk(2, -1)
    return r.step("cat", [r.step("neg", b), a], -1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rotary_embeddings_are_two_kernels(dtype):
    q, k = (torch.randn(2, 7, 3, 32).to(dtype).transpose(1, 2) for _ in range(2))
    cos, sin = torch.randn(7, 32).to(dtype), torch.randn(7, 32).to(dtype)
    r = Recording(q, k, cos, sin)
    made = [r.step("add.Tensor", r.step("mul.Tensor", x, cos), r.step("mul.Tensor", turned(r, x), sin)) for x in (q, k)]
    check(r.returns(*made))
    assert not any("aten.cat" in line for line in r.lines)
    assert sum("fused" in line for line in r.lines) == 2


def test_what_no_group_makes_is_joined_by_the_operator():
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    r = Recording(x, y)
    check(r.returns(r.step("cat", [x, y], 0)))
    assert "aten.cat" in r.lines[0]


@pytest.mark.parametrize("seed", range(40))
def test_random_pieces(seed):
    """Joined along any dim of any layout, and read, whole and in part, and written to after."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    shape = [rng.choice([2, 4, 6]) for _ in range(rng.randint(1, 4))]
    order = rng.sample(range(len(shape)), len(shape))
    x, y = (torch.randn([shape[d] for d in order]).permute([order.index(d) for d in range(len(shape))]) for _ in "xy")
    r = Recording(x, y)
    dim = rng.randrange(len(shape))
    whole = r.step("cat", [r.step("sin", x), y, *([r.step("mul.Tensor", x, y)] if rng.random() < 0.5 else [])], dim)
    made = [whole, r.step("exp", whole)]
    part = whole.narrow(dim, rng.randrange(whole.shape[dim] - shape[dim] + 1), shape[dim])
    made.append(r.step("add.Tensor", part, x))
    if rng.random() < 0.5:
        r.step("mul_.Tensor", part, y)
        made.append(r.step("neg", whole))
    check(r.returns(*made))
