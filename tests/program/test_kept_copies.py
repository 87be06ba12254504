"""Copies of weights that stay with a program are of what the weights hold, however that was written."""

import pytest
from recorded_images import Images, kept, weights

import shim_torch as torch
from shim_torch._impl.native import _core

pytestmark = pytest.mark.devices("cpu")


@pytest.fixture(autouse=True)
def loaded():
    torch.manual_seed(0)


def same(r):
    """The program equals its steps on its own inputs."""
    torch.testing.assert_close(r.run(), r.run_steps(), rtol=1e-4, atol=1e-5)


def two_layers(x, a, b):
    r = Images(x, a, b)
    return r.returns(r.conv(r.relu(r.conv(x, a)), b))


WRITES = {
    "in place": lambda w: w.mul_(2),
    "part": lambda w: w[1:3, :, 0].fill_(3),
    "data": lambda w: w.data.add_(1),
    "data of an alias": lambda w: w.detach().data.copy_(torch.randn_like(w)),
    "storage": lambda w: w.untyped_storage().copy_(torch.randn_like(w).untyped_storage()),
    "list": lambda w: torch._foreach_mul_([w], 1.5),
    "draws": lambda w: w.normal_(),
    "out": lambda w: torch.mul(w, 2, out=w),
    "version": lambda w: (w.mul_(2), torch._C._autograd._unsafe_set_version_counter((w,), (0,))),
    "array": lambda w: w.numpy().fill(2),
    "item": lambda w: w.__setitem__((0, 0, 0, 0), 7.0),
}


@pytest.mark.parametrize("how", WRITES)
def test_copies_are_of_what_weights_hold(how):
    x, (a, b) = torch.randn(2, 4, 6, 6), weights((8, 4, 3, 3), (4, 8, 3, 3))
    r = two_layers(x, a, b)
    assert len(kept(r)) == 2
    same(r)
    for _ in range(3):
        WRITES[how](a)
        same(r)
        same(r)


def test_other_weights_where_those_before_were():
    x, shapes = torch.randn(2, 4, 6, 6), ((8, 4, 3, 3), (4, 8, 3, 3))
    r = two_layers(x, *weights(*shapes))
    addresses = set()
    for i in range(40):
        inputs = [x, *weights(*shapes)]
        addresses.add(_core.memory_address(inputs[1]))
        torch.testing.assert_close(r.run(inputs), r.run_steps(inputs), rtol=1e-4, atol=1e-5)
        if i % 3 == 0:
            torch.testing.assert_close(r.run(inputs), r.run_steps(inputs), rtol=1e-4, atol=1e-5)
        del inputs
    assert len(addresses) < 40  # or nothing was asked


def test_programs_share_copies():
    a, b = weights((8, 4, 3, 3), (4, 8, 3, 3))
    programs = [two_layers(torch.randn(2, 4, n, 6), a, b) for n in (5, 6, 7)]
    for i in range(4):
        for r in programs if i % 2 else reversed(programs):
            same(r)
        a.mul_(1.5)
    del programs[0]
    for r in programs:
        same(r)
        other = [r.inputs[0], *weights((8, 4, 3, 3), (4, 8, 3, 3))]
        torch.testing.assert_close(r.run(other), r.run_steps(other), rtol=1e-4, atol=1e-5)
        same(r)


def test_weights_that_the_program_writes():
    x, (a, b) = torch.randn(2, 4, 6, 6), weights((8, 4, 3, 3), (4, 8, 3, 3))
    r = Images(x, a, b)
    y = r.relu(r.conv(x, a))
    r.step("mul_.Tensor", a, 1.5)
    r.returns(r.conv(y, b), r.conv(x, a))
    assert len(kept(r)) == 1
    for _ in range(3):
        first = a.clone()
        expected = r.run_steps()
        a.copy_(first)
        torch.testing.assert_close(r.run(), expected, rtol=1e-4, atol=1e-5)
