"""Objects of tensors that only C++ holds: weak references find them, and outlive them safely."""

from __future__ import annotations

import gc
import weakref

import pytest

import shim_torch as torch


class Sub(torch.Tensor):
    pass


@pytest.mark.parametrize("kind", [torch.Tensor, Sub])
def test_a_weak_reference_finds_a_gradient(kind: type) -> None:
    x = torch.full((2,), 3.0).as_subclass(kind)
    y = torch.empty(2)
    found = weakref.ref(x)
    y.grad = x
    name = id(x)
    del x
    gc.collect()
    assert id(found()) == name and type(found()) is kind and found().tolist() == [3, 3]
    y.grad = None
    assert found() is None


@pytest.mark.parametrize("kind", [torch.Tensor, Sub])
def test_an_object_that_outlives_its_holder_has_its_tensor(kind: type) -> None:
    x = torch.ones(2).as_subclass(kind)
    y = torch.empty(2)
    found = weakref.ref(x)
    y.grad = x
    del x
    x = found()
    del y
    assert x.tolist() == [1, 1] and type(x) is kind
    del x
    gc.collect()
    assert found() is None


def test_cycles_that_a_gradient_holds_stay() -> None:
    class Tracker:
        pass

    x, y, z = torch.empty(2), torch.empty(2), torch.empty(2)
    x.other, y.other, x.tracker = y, x, Tracker()
    alive = weakref.ref(x.tracker)
    z.grad = x
    del x, y
    gc.collect()
    assert alive() is not None
    del z
    gc.collect()
    assert alive() is None


def test_finalizers_of_classes_run_at_the_end_of_the_tensor() -> None:
    ended = []

    class Told(torch.Tensor):
        def __del__(self) -> None:
            ended.append(self.tolist())

    x, y = torch.ones(2).as_subclass(Told), torch.empty(2)
    x.label = "mine"
    y.grad = x
    del x
    assert not ended and type(y.grad) is Told and y.grad.label == "mine" and not ended
    y.grad = None
    assert ended == [[1, 1]]
