"""What groups make cheaply is computed again by who reads it later, and not kept meanwhile."""

import random

import pytest
from recording import Recording

import shim_torch as torch
from shim_torch._impl.native import _core

pytestmark = pytest.mark.devices("cpu", "cuda")
ROWS, WIDE = 64, 512
MOST = ROWS * WIDE * 8  # elements where most are in use


@pytest.fixture(autouse=True)
def on_the_device(device):
    """Tensors are made there."""


def most(r):
    """Bytes of what the program makes, where most are there."""
    return _core.program_most_live(r.program)


def middle(r, x):
    """Work that needs more memory than what is around it, and is none of a group's."""
    return r.step(
        "mm",
        r.step("mm", x, torch.randn(x.size(1), 8 * WIDE, dtype=x.dtype) / WIDE),
        torch.randn(8 * WIDE, WIDE, dtype=x.dtype) / WIDE,
    )


def gated(dtype, kept):
    """silu(gate) * up, and the gradients of a product with it; with ``kept`` the values in between are results."""
    torch.manual_seed(0)
    x, w, v, o = ((torch.randn(*sizes) / 8).to(dtype) for sizes in [(ROWS, WIDE)] + [(WIDE, WIDE)] * 3)
    r = Recording(x, w, v, o)
    gate, up = r.step("mm", x, w), r.step("mm", x, v)
    bent = r.step("silu", gate)
    product = r.step("mul.Tensor", bent, up)
    slope = middle(r, r.step("mm", product, o))
    of_product = r.step("mm", slope, r.step("t", o))
    of_o = r.step("mm", r.step("t", product), slope)
    of_up = r.step("mul.Tensor", of_product, bent)
    of_gate = r.step("silu_backward", r.step("mul.Tensor", of_product, up), gate)
    last = r.step("mm", of_up, v), r.step("mm", of_gate, w)
    return r.returns(of_o, *last, *((bent, product) if kept else ()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_gated_product(dtype):
    """Equal to the last bit, and two tensors of the size of the gate fewer."""
    r, known = gated(dtype, False), gated(dtype, True)
    size = ROWS * WIDE * r.inputs[0].element_size()
    assert most(r) <= most(known) - 2 * size
    for a, b in zip(r.run(), known.run()[:3], strict=True):
        assert torch.equal(a, b)
    for a, b in zip(r.run(), r.run_steps(), strict=True):
        torch.testing.assert_close(a, b, rtol=2e-2, atol=2e-2)


def test_readers_come_behind_the_group_that_makes_it():
    lines = gated(torch.float32, False).lines
    group = next(i for i, line in enumerate(lines) if "silu_backward" in line)
    assert "fused_silu_mul_mul" in lines[group]  # the product is made there again
    assert sum("fused_silu" in line for line in lines) == 2
    later = lines[group].split("[")[0].strip()
    assert any(f"({later}[" in line and ".mm." in line for line in lines[group + 1 :])
    assert not any(f"({later}[" in line for line in lines[:group])


def norm(dtype=torch.bfloat16):
    """A norm by the root mean square of a sum, as models have it, and what its gradient reads."""
    torch.manual_seed(0)
    a, b, weight = torch.randn(ROWS, WIDE).to(dtype), torch.randn(ROWS, WIDE).to(dtype), torch.randn(WIDE).to(dtype)
    r = Recording(a, b, weight)
    x = r.step("add.Tensor", r.step("mm", a, torch.randn(WIDE, WIDE).to(dtype) / 16), b)
    y = r.step("_to_copy", x, dtype=torch.float32)
    level = r.step("rsqrt", r.step("add.Tensor", r.step("mean.dim", r.step("mul.Tensor", y, y), [-1], True), 1e-6))
    n = r.step("_to_copy", r.step("mul.Tensor", y, level), dtype=dtype)
    h = r.step("mul.Tensor", n, weight)
    g = r.step("mul.Tensor", middle(r, h), weight)
    s = r.step("sum.dim_IntList", r.step("mul.Tensor", r.step("_to_copy", g, dtype=torch.float32), y), [-1], True)
    back = r.step("sub.Tensor", r.step("mul.Tensor", g, level), r.step("mul.Tensor", r.step("mul.Tensor", y, s), level))
    return r.returns(back, r.step("mul.Tensor", n, g), r.step("add.Tensor", x, g))


def test_float_copies_are_not_kept():
    r = norm()
    big = ROWS * 8 * WIDE * 2
    assert (
        most(r) <= big + 3 * ROWS * WIDE * 2 + ROWS * 64
    )  # the sum, what the product reads and gives, and a number a row
    for a, b in zip(r.run(), r.run_steps(), strict=True):
        torch.testing.assert_close(a, b, rtol=2e-2, atol=2e-2)


def test_both_times_the_same_is_computed():
    """What was a group's own value with more digits than memory holds is read with those that memory holds, the first time too."""
    torch.manual_seed(0)
    a, b = (torch.randn(ROWS, WIDE).bfloat16() for _ in range(2))
    r = Recording(a, b)
    x = r.step("add.Tensor", a, b)
    y = r.step("_to_copy", x, dtype=torch.float32)
    first = r.step("sum.dim_IntList", y, [-1], True)
    z = middle(r, r.step("add.Tensor", x, first))
    y = r.step("where.self", r.step("gt.Tensor", z, float("inf")), z, y)  # y, when z is there
    second = r.step("sum.dim_IntList", y, [-1], True)
    r.returns(first, second, r.step("add.Tensor", z, r.step("mul.Tensor", y, x)))
    assert most(r) <= ROWS * 9 * WIDE * 4 + ROWS * 64  # what the product between reads and gives
    first, second, _ = r.run()
    assert torch.equal(first, second)


@pytest.mark.parametrize("written", ["input", "made"])
def test_what_was_written_to_is_not_read_again(written):
    torch.manual_seed(0)
    x, w = torch.randn(ROWS, WIDE), torch.randn(WIDE, WIDE) / 8
    r = Recording(x, w)
    source = x if written == "input" else r.step("mm", x, w)
    y = r.step("exp", r.step("mul.Tensor", source, 0.1))
    z = middle(r, y)
    r.step("mul_.Tensor", source, 3)  # a step of an optimizer, or an activation in place
    z = middle(r, z)
    r.returns(r.step("add.Tensor", y, z), r.step("add.Tensor", source, 1))
    given = [x.clone(), w.clone()]
    got = r.run([x.clone(), w.clone()])
    for a, b in zip(got, r.run_steps(given), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_what_is_written_to_later_is_read_again_before():
    """The write is behind the last reader."""
    torch.manual_seed(0)
    x, w = torch.randn(ROWS, WIDE), torch.randn(WIDE, WIDE) / 8
    r = Recording(x, w)
    y = r.step("exp", r.step("mul.Tensor", x, 0.1))
    z = middle(r, y)
    out = r.step("mm", r.step("add.Tensor", y, z), w)
    r.step("mul_.Tensor", r.step("slice.Tensor", x, 0, 0, ROWS // 2), 3)
    r.returns(out)
    assert sum("fused_mul_exp" in line for line in r.lines) == 2
    a, b = x.clone(), x.clone()
    torch.testing.assert_close(r.run([a, w])[0], r.run_steps([b, w])[0], rtol=1e-4, atol=1e-4)
    assert torch.equal(a, b)


def test_draws_and_products_are_not_repeated():
    torch.manual_seed(0)
    x, w = torch.randn(ROWS, WIDE), torch.randn(WIDE, WIDE) / 8
    r = Recording(x, w)
    drawn = r.step("bernoulli", r.step("sigmoid", x))
    product = r.step("mm", x, w)
    y = r.step("mul.Tensor", r.step("mul.Tensor", drawn, product), 2)
    z = middle(r, y)
    r.returns(r.step("add.Tensor", y, z), drawn, product)
    text = "\n".join(r.lines)
    assert text.count("bernoulli") == 1 and text.count(".mm.") == 3
    assert text.count("fused_mul_mul") == 2  # from what was drawn
    torch.manual_seed(1)
    got = r.run()
    torch.manual_seed(1)
    for a, b in zip(got, r.run_steps(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", range(30))
def test_random_values_of_later_readers(seed):
    """Values that are read again behind products, some of them or what they are made of written to meanwhile."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    dtype = rng.choice([torch.float32, torch.float64])
    x, y = torch.randn(ROWS, WIDE).to(dtype), torch.randn(ROWS, WIDE).to(dtype)
    r = Recording(x, y)
    known = [x, y]
    for _ in range(rng.randint(8, 20)):
        kind = rng.choice(["chain"] * 4 + ["row", "middle", "write", "part"])
        a, b = rng.choices(known[-6:], k=2)
        if kind == "middle":
            known.append(r.step("tanh", middle(r, r.step("tanh", a))))
        elif kind == "row":
            known.append(r.step("sub.Tensor", a, r.step("mean.dim", b, [-1], True)))
        elif kind == "write":
            r.step(rng.choice(["mul_.Tensor", "add_.Tensor"]), rng.choice(known), 0.5)
        elif kind == "part":
            r.step("mul_.Tensor", r.step("slice.Tensor", rng.choice(known), 0, 0, ROWS // 2), b[: ROWS // 2])
        else:
            known.append(
                r.step(rng.choice(["add.Tensor", "mul.Tensor"]), r.step(rng.choice(["sin", "tanh", "sigmoid"]), a), b)
            )
    r.returns(*known[-2:], *rng.choices(known[2:], k=1))
    inputs = [x.clone(), y.clone()]
    copies = [x.clone(), y.clone()]
    close = {"rtol": 1e-3, "atol": 1e-3}
    for a, b in zip([*r.run(copies), *copies], [*r.run_steps(inputs), *inputs], strict=True):
        torch.testing.assert_close(a, b, **close)
