"""Tensors of other sizes are no way of their own: the operators' results are foreseen from the sizes of the call."""

from __future__ import annotations

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch._impl.compile.calls import counts


def counted(call):
    before = {name: counts[name] for name in ("deferred", "learned", "resized")}
    result = call()
    return result, {name: counts[name] - n for name, n in before.items()}


def chain(x, w):
    h = F.softmax((x @ w).relu() * 0.5, -1)
    return h.t() + x.sum(), torch.cat([h, h * 2]), h.view(-1)[1:]


def test_each_size_is_deferred_when_it_is_met():
    compiled = torch.compile(chain)
    w = torch.randn(4, 3)
    for i, n in enumerate([2, 5, 3, 17, 2, 5, 40, 1, 9, 10, 11, 12, 13, 14]):
        x = torch.randn(n, 4)
        got, did = counted(lambda x=x: compiled(x, w))
        for a, b in zip(got, chain(x, w), strict=True):
            assert a.stride() == b.stride()
            torch.testing.assert_close(a, b)
        assert (did["deferred"] == 0) == (i == 0) and (did["learned"] == 0) == (i > 0)
    _, did = counted(lambda: compiled(torch.randn(5, 4), w))
    assert did["resized"] == 0 and did["deferred"] > 4


def test_more_sizes_than_are_kept():
    compiled = torch.compile(lambda x: ((x + 1) * x).relu().sum(0))
    for n in range(1, 90):
        x = torch.randn(n, 3)
        torch.testing.assert_close(compiled(x), ((x + 1) * x).relu().sum(0))


def test_static_shapes_are_ways_of_their_own():
    compiled = torch.compile(lambda x: (x + 1) * 2, dynamic=False)
    for n in (2, 3, 4):
        _, did = counted(lambda n=n: compiled(torch.ones(n)))
        assert did["learned"] == 2 and did["resized"] == 0


def test_in_place_and_gradients_of_other_sizes():
    def f(x, w):
        y = x * w
        y[1:].mul_(2)
        y = y.tanh()
        loss = (y * y).mean()
        loss.backward()
        return y.detach(), w.grad.clone()

    compiled = torch.compile(f)
    for n in (3, 4, 6, 3, 8, 4):
        x = torch.randn(n, 2)
        w, v = (torch.full((2,), 0.5, requires_grad=True) for _ in range(2))
        for a, b in zip(compiled(x, w), f(x, v), strict=True):
            torch.testing.assert_close(a, b)


def test_integers_go_with_the_sizes():
    def f(x):
        return torch.zeros(x.shape[0]) + x.sum(1), torch.arange(x.shape[0] * 2) * 2, x.repeat(x.shape[0], 1)

    compiled = torch.compile(f, dynamic=True)
    for n in (2, 3, 7, 4, 2, 3):
        x = torch.randn(n, 3)
        assert all(torch.equal(a, b) for a, b in zip(compiled(x), f(x), strict=True))


def test_errors_of_other_sizes_come_from_their_line():
    def f(x, y):
        z = x * 2
        try:
            return z + y
        except RuntimeError as e:
            return z, str(e)

    compiled = torch.compile(f)
    for n in (3, 3, 3):
        compiled(torch.ones(3), torch.ones(n))
    z, text = compiled(torch.ones(3), torch.ones(4))
    assert "must match the size of tensor b (4)" in text and z.tolist() == [2, 2, 2]


def test_a_growing_cache():
    def f(cache, x):
        cache = torch.cat([cache, x])
        return cache, (cache * x.sum()).mean(0)

    compiled = torch.compile(f)
    ours = theirs = torch.zeros(1, 2)
    learned = 0
    for i in range(30):
        x = torch.full((1, 2), float(i))
        (ours, a), did = counted(lambda c=ours, x=x: compiled(c, x))
        theirs, b = f(theirs, x)
        torch.testing.assert_close(a, b)
        assert torch.equal(ours, theirs)
        learned += did["learned"]
    assert learned == 4


def test_another_number_of_dims_is_another_way():
    compiled = torch.compile(lambda x: x * 2 + 1, recompile_limit=2)
    for shape in [(2,), (2, 2), (2, 2, 2), (1, 2, 2, 2)]:
        for _ in range(2):
            assert torch.equal(compiled(torch.ones(shape)), torch.full(shape, 3.0))
    assert counted(lambda: compiled(torch.ones(1, 2, 2, 2)))[1]["deferred"] == 0
    assert counted(lambda: compiled(torch.ones(7)))[1]["deferred"] == 2


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_backends_that_run_each_operator(backend):
    compiled = torch.compile(chain, backend=backend)
    w = torch.randn(4, 3)
    for n in (2, 5, 3, 5, 2):
        x = torch.randn(n, 4)
        assert all(torch.equal(a, b) for a, b in zip(compiled(x, w), chain(x, w), strict=True))


def test_an_error_that_sizes_do_not_tell_keeps_its_text():
    def f(x, y):
        try:
            x.addcmul_(y, y)
        except (RuntimeError, NotImplementedError) as e:
            return str(e)
        return x

    compiled = torch.compile(f)
    for _ in range(2):
        compiled(torch.ones(3), torch.ones(3))
    x, y = torch.ones(3, dtype=torch.bool), torch.ones(3)
    assert compiled(x, y) == f(x.clone(), y)


def test_strides_of_casts_of_overlapping_views():
    x = torch.ones(4, 4, device="meta").unfold(0, 2, 1)
    assert x.double().stride() == torch.ones(4, 4).unfold(0, 2, 1).double().stride() == (8, 1, 4)


LAID_OUT = {
    "layer_norm": lambda x: F.dropout(F.layer_norm(x, x.shape[1:]), 0.4),  # draws in the order of memory
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]),
    "softshrink": F.softshrink,
    "sort": lambda x: x.sort(0),
    "index_fill": lambda x: x.index_fill(0, torch.tensor([1]), 2.0),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
}


@pytest.mark.parametrize("name", LAID_OUT)
def test_tensors_that_lie_otherwise(name):
    """Results lie as eager's do, whatever was called before."""
    f = LAID_OUT[name]
    compiled = torch.compile(f)
    x, y = torch.randn(3, 4, 5), torch.randn(4, 6, 5)
    wide = torch.randn(3, 4, 10)
    for t in (x, x, y, x.mT.contiguous().mT, x[:1].expand(3, 4, 5), y.permute(2, 0, 1), wide[..., ::2], x, y):
        torch.manual_seed(0)
        wanted = f(t)
        torch.manual_seed(0)
        got = compiled(t)
        for a, b in zip(wanted, got, strict=True) if isinstance(wanted, tuple) else ((wanted, got),):
            assert torch.allclose(a, b) and a.stride() == b.stride()
