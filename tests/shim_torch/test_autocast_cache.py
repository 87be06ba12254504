"""Autocast casts a weight once a region: layers that share it share its cast and that cast's node."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import shim_torch as torch
from shim_torch.utils._python_dispatch import TorchDispatchMode

F = torch.nn.functional


def cast_of(y, operand=1):
    """The node that cast an operand of a layer; the fused operator's node follows the inputs' order."""
    return y.grad_fn.next_functions[operand][0]


@pytest.fixture
def layer():
    return torch.ones(2, 3), torch.ones(5, 3, requires_grad=True), torch.ones(5, requires_grad=True)


def test_calls_of_a_region_share_the_casts(layer):
    x, w, b = layer
    with torch.autocast("cpu"):
        assert torch.is_autocast_cache_enabled()
        first, second = F.linear(x, w, b), F.linear(x, w, b)
        with torch.autocast("cpu", enabled=False):
            assert F.linear(x, w, b).dtype is torch.float32
        with torch.autocast("cpu"):
            inner = F.linear(x, w, b)
        for operand in (1, 2):
            assert cast_of(first, operand) is cast_of(second, operand) is cast_of(inner, operand)
            assert type(cast_of(first, operand)).__name__ == "ToCopyBackward0"
    with torch.autocast("cpu"):
        assert cast_of(F.linear(x, w, b)) is not cast_of(first)


def test_gradients_flow_through_the_shared_cast(layer):
    x, w, _ = layer
    with torch.autocast("cpu"):
        first, second = F.linear(x, w), F.linear(2 * x, w)
    first.sum().backward()
    second.sum().backward()
    assert w.grad.dtype is torch.float32 and (w.grad == 6).all()


def test_what_is_not_shared(layer):
    x, w, _ = layer
    half = torch.ones(5, 3, dtype=torch.float16, requires_grad=True)
    with torch.autocast("cpu"):
        first = cast_of(F.linear(x, w))
        torch.clear_autocast_cache()
        assert cast_of(F.linear(x, w)) is not first
        with torch.autocast("cpu", cache_enabled=False):
            assert not torch.is_autocast_cache_enabled()
            assert cast_of(F.linear(x, w)) is not cast_of(F.linear(x, w))
        assert cast_of(F.linear(x, w[:2])) is not cast_of(F.linear(x, w[:2]))
        product = 2 * w
        assert cast_of(F.linear(x, product)) is not cast_of(F.linear(x, product))
        assert cast_of(F.linear(x, half)) is not cast_of(F.linear(x, half))


def test_each_dtype_has_its_cast(layer):
    x, w, _ = layer
    with torch.autocast("cpu"):
        assert F.linear(x, w).dtype is torch.bfloat16
        with torch.autocast("cpu", dtype=torch.float16):
            assert F.linear(x, w).dtype is torch.float16
        assert F.linear(x, w).dtype is torch.bfloat16


def test_a_call_without_gradients_hides_no_weight_from_later_ones(layer):
    x, w, _ = layer
    with torch.autocast("cpu"):
        with torch.no_grad():
            assert F.linear(x, w).grad_fn is None
        F.linear(x, w).sum().backward()
    assert w.grad is not None


def test_nothing_is_held_after_the_region(layer):
    x, w, _ = layer
    with torch.autocast("cpu"):
        weight = (2 * w).detach().requires_grad_()
        gone = weakref.ref(weight)
        F.linear(x, weight)
        del weight
    gc.collect()
    assert gone() is None


def test_other_threads_have_their_own(layer):
    x, w, _ = layer
    found = []

    def run():
        with torch.autocast("cpu"):
            found.append(cast_of(F.linear(x, w)))

    with torch.autocast("cpu"):
        mine = cast_of(F.linear(x, w))
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert found[0] is not mine


def test_casts_of_a_mode_do_not_outlive_it(layer):
    x, w, _ = layer

    class Count(TorchDispatchMode):
        casts = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.casts += str(func) == "aten._to_copy.default"
            return func(*args, **(kwargs or {}))

    with torch.autocast("cpu"):
        F.linear(x, w)
        with Count() as count:
            F.linear(x, w)
        assert count.casts == 2
