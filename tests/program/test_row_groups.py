"""Reductions of rows are parts of groups: norms and softmax that are written out."""

import random

import pytest
from recording import Recording
from test_programs import FLOATS, check

import shim_torch as torch

pytestmark = pytest.mark.devices("cpu", "cuda")


def rms_norm(r, x, w):
    square = r.step("pow.Tensor_Tensor", x, 2)
    spread = r.step("add.Tensor", r.step("mean.dim", square, [-1], True), 1e-6)
    return r.step("mul.Tensor", r.step("mul.Tensor", x, r.step("rsqrt", spread)), w)


def layer_norm(r, x, w):
    middle = r.step("sub.Tensor", x, r.step("mean.dim", x, [-1], True))
    variance = r.step("mean.dim", r.step("mul.Tensor", middle, middle), [x.dim() - 1], True)
    root = r.step("sqrt", r.step("add.Tensor", variance, 1e-5))
    return r.step("mul.Tensor", r.step("div.Tensor", middle, root), w)


def softmax(r, x, w):
    e = r.step("exp", r.step("sub.Tensor", x, r.step("amax", x, [-1], True)))
    return r.step("div.Tensor", e, r.step("sum.dim_IntList", e, [-1], True))


def layouts(dtype):
    x = torch.randn(6, 5, 200)
    yield x.to(dtype)
    yield x.transpose(0, 1).to(dtype)
    yield torch.randn(200, 30).t().to(dtype)
    yield torch.randn(5, 4, 400).to(dtype)[..., ::2]
    yield torch.randn(70).to(dtype)
    yield torch.randn(3, 5000).to(dtype)
    yield torch.randn(700, 64).to(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("written_out", [rms_norm, layer_norm, softmax])
def test_one_kernel(written_out, dtype):
    for x in layouts(dtype):
        w = torch.randn(x.shape[-1]).to(dtype)
        r = Recording(x, w)
        check(r.returns(written_out(r, x, w)))
        assert len(r.lines) == 1 and r.lines[0].count("fused_") == 1, r.lines
        if (
            dtype == torch.float32 and x.is_contiguous() and x.device.type == "cpu"
        ):  # others are added up in the order of memory
            (a,), (b,) = r.run_steps(), r.run()
            assert torch.equal(a, b)


def test_results_of_rows_are_given_too():
    x = torch.randn(9, 100)
    r = Recording(x)
    total = r.step("sum.dim_IntList", x, [1], False)
    kept = r.step("amin", x, [1], True)
    shifted = r.step("sub.Tensor", x, kept)
    whole = r.step("add.Tensor", torch.zeros(9, 100), kept)
    rows = r.step("mul.Tensor", kept, 2.0)
    check(r.returns(total, kept, shifted, whole, rows))
    assert [line for line in r.lines if "sum_amin_sub_add_mul" in line]


def test_a_row_that_is_written_is_read_as_it_is_then():
    x, y = torch.randn(9, 100), torch.randn(9, 1)
    r = Recording(x, y)
    r.step("mul_.Tensor", x, 3.0)
    total = r.step("sum.dim_IntList", x, [-1], True)
    r.step("add_.Tensor", y, total)
    r.step("sub_.Tensor", x, y)
    again = r.step("mul.Tensor", y, 2.0)
    check(r.returns(again))
    assert len(r.lines) == 1


def test_numbers_that_a_call_brings():
    x = torch.randn(9, 100)
    r = Recording(x)
    mean = r.step("mean.dim", r.step("mul.Tensor", x, x), [-1], True)
    spread = r.step("add.Tensor", mean, 0.5)
    r.parameter(1, 0.5)
    check(r.returns(r.step("div.Tensor", x, spread)), [2.0])


@pytest.mark.parametrize(
    "arguments",
    [
        ("sum.dim_IntList", [0], True),
        ("sum.dim_IntList", [-1, 0], True),
        ("sum.dim_IntList", None, True),
        ("mean.dim", [-1], True, torch.float64),
        ("amax", [0], True),
    ],
    ids=str,
)
def test_others_are_steps_of_their_own(arguments):
    x = torch.randn(80, 100)
    r = Recording(x)
    name, *rest = arguments
    made = r.step(name, r.step("mul.Tensor", x, 2.0), *rest[:2], **({"dtype": rest[2]} if len(rest) > 2 else {}))
    check(r.returns(r.step("add.Tensor", made, 1.0)))
    assert len(r.lines) == 3 + ("arena" in r.lines[0])


def test_a_reduction_alone_is_the_operator():
    x = torch.randn(80, 100)
    r = Recording(x)
    check(r.returns(r.step("sum.dim_IntList", x, [-1], True)))
    assert "torch.ops.aten.sum.dim_IntList" in r.lines[0]


def test_what_is_not_a_number_and_infinities():
    x = torch.randn(4, 100)
    x[0, 3], x[1, 5], x[2] = float("nan"), float("inf"), float("-inf")
    r = Recording(x)
    r.returns(softmax(r, x, None))
    (a,), (b,) = r.run_steps(), r.run()
    torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("seed", range(60))
def test_random_steps(seed):
    """Values of whole tensors and of rows, in any order, some in place."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    rows, columns = rng.choice([1, 3, 40]), rng.choice([64, 100, 2100])
    whole = [torch.randn(rows, columns), torch.randn(rows, columns), torch.randn(columns)]
    narrow = [torch.randn(rows, 1)]
    r = Recording(*whole, *narrow)
    made = []
    for _ in range(rng.randrange(3, 14)):
        kind = rng.randrange(6)
        full = [t for t in whole if t.shape == (rows, columns)]
        if kind == 0:
            name = rng.choice(["sum.dim_IntList", "mean.dim", "amax", "amin"])
            narrow.append(r.step(name, rng.choice(full), [-1], True))
        elif kind == 1:
            narrow.append(r.step(rng.choice(["abs", "tanh", "sigmoid"]), rng.choice(narrow)))
        elif kind == 2:
            narrow.append(r.step("add.Tensor", rng.choice(narrow), rng.choice(narrow)))
        elif kind == 3:
            r.step("mul_.Tensor", rng.choice(full), rng.choice(narrow))
            continue
        else:
            op = rng.choice(["add.Tensor", "sub.Tensor", "mul.Tensor"])
            whole.append(r.step(op, rng.choice(full), rng.choice(whole + narrow)))
        made.append((whole if kind > 3 else narrow)[-1])
    if made:
        check(r.returns(*rng.sample(made, min(3, len(made)))), within=1e-4)
