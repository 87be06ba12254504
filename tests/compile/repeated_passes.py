"""Compiled and plain calls beside each other, for tests of backward passes that are repeated (native/src/trace/known_backward.h)."""

import shim_torch as torch
from shim_torch._impl.compile import calls


def backwards() -> int:
    return calls.status()["backwards"]


def leaves(n=2, size=4):
    torch.manual_seed(0)
    return [torch.randn(size, size, requires_grad=True) for _ in range(n)]


def same(function, setup, calls_=6, repeated=True):
    """Compiled and plain calls of a function of (call number, what setup gives): results and gradients, bit for bit."""
    plain, compiled = setup(), setup()
    run = torch.compile(function, backend="eager")
    before = backwards()
    for n in range(calls_):
        expected, got = function(n, *plain), run(n, *compiled)
        torch.testing.assert_close(got, expected, rtol=0, atol=0)
        for a, b in zip(plain, compiled, strict=True):
            if isinstance(a, torch.Tensor):
                assert (a.grad is None) == (b.grad is None)
                if a.grad is not None:
                    torch.testing.assert_close(b.grad, a.grad, rtol=0, atol=0)
                    assert b.grad.stride() == a.grad.stride()
                assert a._version == b._version
    assert (backwards() > before) == repeated
