"""Which images of a program lie with channels last, on the CPU as it would be on CUDA; tests/compile/test_channels_last_on_cuda.py runs there."""

import random
import re

import pytest
from recorded_images import Images, kept, weights
from test_programs import check

import shim_torch as torch

pytestmark = pytest.mark.devices("cpu")


def steps(r, name):
    return [line for line in r.lines if re.search(rf"aten\.{name}\.|shim\.{name}\.", line)]


def last(text, channels, height, width, batch=2):
    """Whether a tensor's text has the strides of channels last."""
    strides = f"[{channels * height * width}, 1, {width * channels}, {channels}]"
    return f"[{batch}, {channels}, {height}, {width}].at{strides}+0" in text


@pytest.fixture(autouse=True)
def loaded():
    torch.manual_seed(0)
    torch.nn.functional.batch_norm(torch.randn(2, 3, 4, 4), torch.zeros(3), torch.ones(3))


def residual_network():
    x = torch.randn(2, 3, 16, 16)
    first, a, b, by = weights((8, 3, 7, 7), (16, 8, 3, 3), (16, 16, 3, 3), (16, 8, 1, 1))
    statistics = [torch.rand(8) + 0.5 for _ in range(4)]
    r = Images(x, first, a, b, by, *statistics)
    y = r.relu(r.norm(r.conv(x, first, stride=2), *statistics))
    y = r.step("max_pool2d_with_indices", y, [3, 3], [2, 2], [1, 1])[0]
    z = r.relu(r.add(r.conv(r.relu(r.conv(y, a)), b), r.conv(y, by)))
    return r, z, r.step("mean.dim", z, [-1, -2], True)


def test_a_network():
    r, _, means = residual_network()
    r.returns(means)
    check(r)
    convolutions = steps(r, "convolution")
    assert len(convolutions) == 4
    assert len(kept(r)) == 3  # the kernel of one place lies both ways
    assert last(convolutions[0], 3, 16, 16) and last(convolutions[0], 8, 8, 8)
    for line in convolutions[1:]:
        assert last(line, 8, 4, 4) or last(line, 16, 4, 4)
        assert not re.search(r"t\d+\[2, \d+, 4, 4\](?!\.at)", line)
    (pool,) = steps(r, "max_pool2d_with_indices")
    assert last(pool.split("=")[1], 8, 8, 8) and last(pool.split("=")[0], 8, 4, 4)
    copies = [line for line in r.lines if "fused_copy_(x0" in line]
    assert len(copies) == 1  # where the input enters
    assert "mean.dim(t" in r.lines[-1] and last(r.lines[-1], 16, 4, 4)


def test_what_leaves_has_the_strides_of_eager():
    r, z, means = residual_network()
    r.returns(z, means)
    check(r)
    got = r.run()[0]
    assert got.is_contiguous() and len(steps(r, "convolution")) == 4
    assert last(steps(r, "mean")[0], 16, 4, 4)  # within it is read as it lies


def test_written_in_place_and_seen():
    x, (a, b) = torch.randn(2, 4, 5, 6), weights((8, 4, 3, 3), (4, 8, 3, 3))
    r = Images(x, a, b)
    y = r.conv(x, a)
    z = r.conv(y, b)
    r.step("relu_", y)
    y2 = r.step("add_.Tensor", y, 1)
    check(r.returns(y2, r.add(z, x)))
    assert r.run()[0].is_contiguous()


def test_alone_a_convolution_is_left_as_it_is():
    x, (a,) = torch.randn(2, 4, 5, 6), weights((8, 4, 3, 3))
    r = Images(x, a)
    check(r.returns(r.relu(r.conv(x, a))))
    assert not kept(r) and "].at[" not in "".join(r.lines)


def test_images_that_lie_so_anyway():
    x, (a, b) = torch.randn(2, 4, 5, 6).to(memory_format=torch.channels_last), weights((8, 4, 3, 3), (4, 8, 3, 3))
    r = Images(x, a, b)
    check(r.returns(r.conv(r.relu(r.conv(x, a, torch.randn(8))), b.to(memory_format=torch.channels_last))))
    assert len(kept(r)) == 1 and not any("fused_copy_" in line for line in r.lines)
    assert r.run()[0].is_contiguous(memory_format=torch.channels_last)


def test_others_that_read_an_image_get_it_as_it_was():
    x, (a, b) = torch.randn(2, 4, 6, 6), weights((8, 4, 3, 3), (4, 8, 3, 3))
    r = Images(x, a, b)
    y = r.relu(r.conv(x, a))
    rows = r.step("cumsum", y, 3)
    check(r.returns(rows, r.conv(y, b)))
    assert not kept(r)
    r = Images(x, a, b)
    y = r.relu(r.conv(x, a))
    flat = r.step("mul.Tensor", y.view(2, 8, 36), 2)
    check(r.returns(flat, r.conv(y, b)))


def test_parts_of_images():
    x, (a, b) = torch.randn(2, 4, 6, 6), weights((8, 4, 3, 3), (4, 8, 3, 3))
    r = Images(x, a, b)
    y = r.conv(x, a)
    left, right = r.step("sigmoid", y[:, :4, 1:]), r.step("tanh", y[:, 4:, :-1])
    joined = r.step("cat", [r.add(left, right), left], 1)
    check(r.returns(r.conv(joined, b), joined))
    assert len(kept(r)) == 2


def test_channels_that_are_scaled():
    x, (a, b) = torch.randn(2, 4, 6, 6), weights((8, 4, 3, 3), (4, 8, 3, 3))
    r = Images(x, a, b)
    y = r.conv(x, a, torch.randn(8))
    by = r.step("sigmoid", r.step("mean.dim", y, [2, 3], True))
    mask = r.step("gt.Tensor", r.step("sum.dim_IntList", y, [1], True), 0)
    z = r.step("mul.Tensor", r.step("mul.Tensor", y, by), mask)
    check(r.returns(r.conv(z, b)))
    assert len(kept(r)) == 2


def test_kernels_that_the_program_makes():
    x, (a, b) = torch.randn(2, 4, 6, 6), weights((8, 4, 3, 3), (4, 8, 3, 3))
    r = Images(x, a, b)
    y = r.conv(x, r.step("mul.Tensor", a, 2))
    check(r.returns(r.conv(y, b)))
    assert len(kept(r)) == 1


def test_convolutions_of_groups():
    x, (a, b) = torch.randn(2, 4, 6, 6), weights((8, 4, 3, 3), (8, 1, 3, 3))
    c = torch.randn(8, 2, 3, 3) / 9
    r = Images(x, a, b, c)
    check(r.returns(r.conv(r.conv(r.conv(x, a), b, groups=8), c, groups=4)))
    assert len(kept(r)) == 2  # those of each channel by itself lie both ways


def test_transposed_convolutions():
    x, (a, b) = torch.randn(2, 4, 6, 6), weights((8, 4, 3, 3), (8, 2, 3, 3))
    r = Images(x, a, b)
    settings = [2, 2], [1, 1], [1, 1], True, [1, 1], 2
    check(r.returns(r.step("convolution", r.conv(x, a), b, torch.randn(4), *settings)))
    assert len(kept(r)) == 2 and last(steps(r, "convolution")[1], 4, 12, 12)


def test_convolutions_that_are_left():
    for to, taps, copies in ((1, 3, 0), (7, 3, 0), (9, 1, 0), (9, 3, 2), (12, 1, 1)):
        x, (a, other) = torch.randn(2, 4, 6, 6), weights((8, 4, 3, 3), (to, 8, taps, taps))
        r = Images(x, a, other)
        check(r.returns(r.conv(r.conv(x, a), other)))
        assert len(kept(r)) == copies


def test_programs_of_gradients_are_left_as_they_are():
    x, (a, b) = torch.randn(2, 4, 6, 6), weights((8, 4, 3, 3), (4, 8, 3, 3))
    r = Images(x, a, b)
    y = r.conv(r.conv(x, a), b)
    w = r.step("_convolution_weight", x, torch.randn(2, 8, 6, 6), [3, 3], [1, 1], [1, 1], [1, 1], 1)
    check(r.returns(y, w))
    assert not kept(r)


def random_network(rng):
    channels = rng.choice([1, 2, 4, 8])
    x = torch.randn(2, channels, rng.choice([1, 5, 8]), rng.choice([6, 8]))
    if rng.random() < 0.3:
        x = x.to(memory_format=torch.channels_last)
    shapes = [(o, i, k, k) for k in (1, 3) for i in (1, 2, 4, 8) for o in (2, 4, 8)]
    by_shape = {(s[0], s[1], s[2]): torch.randn(s) / (s[1] * s[2]) for s in shapes}
    r = Images(x, *by_shape.values())
    known, wanted = [x], []
    for _ in range(rng.randrange(4, 14)):
        y, kind = rng.choice(known[-2:]), rng.random()
        if kind < 0.55:
            w = by_shape[rng.choice([2, 4, 4, 8, 8]), y.shape[1], rng.choice([1, 3])]
            z = r.conv(y, w, torch.randn(w.shape[0]) if rng.random() < 0.3 else None, rng.choice([1, 1, 1, 2]))
        elif kind < 0.77:
            same = [k for k in known if k.shape == y.shape]
            z = r.add(y, rng.choice(same)) if rng.random() < 0.5 else r.step(rng.choice(["relu", "sigmoid"]), y)
        elif kind < 0.82 and min(y.shape[2:]) > 2:
            z = r.step("max_pool2d_with_indices", y, [3, 3], [2, 2], [1, 1])[0]
        elif kind < 0.86 and y is not x:
            z = r.step("relu_", y)
        elif kind < 0.9:
            wanted.append(r.step("mean.dim", y, [2, 3], rng.random() < 0.5))
            continue
        elif kind < 0.95 and y.shape[1] < 8:
            z = r.step("cat", [y, y], 1)
        else:
            z = r.step("add.Tensor", y[:, :, ::2] if rng.random() < 0.3 else y, 1)
        known.append(z)
        if rng.random() < 0.15:
            wanted.append(z)
    return r.returns(known[-1], *wanted)


@pytest.mark.parametrize("seed", range(60))
def test_random_networks(seed):
    torch.manual_seed(seed)
    r = random_network(random.Random(seed))
    check(r, within=1e-3)
    for got, expected in zip(r.run(), r.run_steps(), strict=True):
        assert got.stride() == expected.stride()
