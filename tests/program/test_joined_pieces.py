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
def test_rotary_embeddings_are_one_kernel(dtype):
    q, k = (torch.randn(2, 7, 3, 32).to(dtype).transpose(1, 2) for _ in range(2))
    cos, sin = torch.randn(7, 32).to(dtype), torch.randn(7, 32).to(dtype)
    r = Recording(q, k, cos, sin)
    made = [r.step("add.Tensor", r.step("mul.Tensor", x, cos), r.step("mul.Tensor", turned(r, x), sin)) for x in (q, k)]
    check(r.returns(*made))
    assert len(r.lines) == 1 and "fused" in r.lines[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_of_rotary_embeddings_are_one_kernel(dtype):
    q, k = (torch.randn(2, 3, 7, 32).to(dtype) for _ in range(2))
    cos, sin = torch.randn(7, 32).to(dtype), torch.randn(7, 32).to(dtype)
    r = Recording(q, k, cos, sin)
    made = []
    for g in (q, k):
        a, b = r.step("mul.Tensor", g, sin).chunk(2, -1)
        made.append(r.step("add.Tensor", r.step("cat", [b, r.step("neg", a)], -1), r.step("mul.Tensor", g, cos)))
    check(r.returns(*made))
    assert len(r.lines) == 1 and "fused" in r.lines[0]


def test_a_join_that_is_read_whole_too():
    x, sin = torch.randn(2, 7, 32), torch.randn(7, 32)
    w = torch.randn(32, 5)
    r = Recording(x, sin, w)
    whole = turned(r, x)
    y = r.step("mul.Tensor", whole, sin)
    check(r.returns(r.step("add.Tensor", y, 1), r.step("matmul", whole, w), r.step("matmul", y, w)))
    assert not any("aten.cat" in line for line in r.lines)


@pytest.mark.parametrize("seed", range(80))
def test_random_chains_of_joins(seed):
    """What is computed of joins and of what their pieces were cut from, some of it read otherwise as well or written to."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    x, y = torch.randn(3, 4, 8), torch.randn(4, 8)
    r = Recording(x, y)
    known = [x, r.step("mul.Tensor", x, y)]
    made = []
    for _ in range(rng.randint(3, 9)):
        kind, a, b = (
            rng.choice(["join", "join", "mul.Tensor", "add.Tensor", "exp", "write", "mm", "other join"]),
            *rng.choices(known, k=2),
        )
        if kind == "join":
            first, second = a.chunk(2, -1)
            pieces = (
                [r.step("neg", second), first] if rng.random() < 0.7 else [second, r.step("sin", b.chunk(2, -1)[0])]
            )
            known.append(r.step("cat", pieces, -1))
        elif kind == "other join":
            pieces = [r.step("cos", a.chunk(2, 1)[0]), b.chunk(2, 1)[rng.randint(0, 1)]]
            known.append(r.step("cat", pieces, 1))
        elif kind == "write":
            r.step("mul_.Tensor", a.chunk(2, -1)[rng.randint(0, 1)] if rng.random() < 0.5 else a, 0.5)
        elif kind == "mm":
            made.append(
                r.step("mm", a.reshape(12, 8), y.t()) if a.is_contiguous() else r.step("sum.dim_IntList", a, [0], False)
            )
        else:
            known.append(r.step(kind, *([a] if kind == "exp" else [a, b])))
    made += [r.step("tanh", t) for t in known if rng.random() < 0.4]
    check(r.returns(*made, *[t for t in known[1:] if rng.random() < 0.3], known[-1]), within=1e-3)


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
