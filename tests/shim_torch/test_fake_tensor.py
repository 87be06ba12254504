"""Fake tensors: shapes, dtypes and devices without data; texts are PyTorch's."""

from __future__ import annotations

import copy

import pytest

import shim_torch as torch
from shim_torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeCopyMode,
    FakeTensor,
    FakeTensorMode,
    is_fake,
    unset_fake_temporarily,
)


@pytest.fixture
def mode():
    return FakeTensorMode()


def test_made_by_operators_and_factories(mode):
    with mode:
        a, c = torch.empty(2, 3), torch.tensor([1, 2])
        assert torch._guards.active_fake_mode() is mode
        assert torch.empty(2, device="cuda").device == torch.device("cuda:0")
    for t, text in [
        (a, "FakeTensor(..., size=(2, 3))"),
        (c, "FakeTensor(..., size=(2,), dtype=torch.int64)"),
        (a @ a.t() + 1, "FakeTensor(..., size=(2, 2))"),
        (torch.nn.Parameter(a), "Parameter(FakeTensor(..., size=(2, 3), requires_grad=True))"),
    ]:
        assert type(t) is FakeTensor and repr(t) == text
    assert a.device.type == "cpu" and a.is_cpu and not a.is_meta
    assert torch._guards.active_fake_mode() is None and torch._guards.detect_fake_mode([a]) is mode
    assert type(torch.ones(3)) is torch.Tensor
    with mode, unset_fake_temporarily() as found:
        assert found is mode and type(torch.ones(3)) is torch.Tensor


def test_of_real_tensors(mode):
    p = torch.nn.Parameter(torch.ones(2, 3))
    fake = mode.from_tensor(p)
    assert isinstance(fake, torch.nn.Parameter) and fake.requires_grad and fake.is_leaf and mode.from_tensor(p) is fake
    inner = mode.from_tensor(p * 2)
    assert inner.requires_grad and not inner.is_leaf
    base = torch.ones(4, 4)
    whole, part = mode.from_tensor(base), mode.from_tensor(base[1:])
    assert part._is_view() and part._base is whole and part.storage_offset() == 4


def test_gradients(mode):
    w = mode.from_tensor(torch.ones(2, 3, requires_grad=True))
    (w @ w.t()).relu().sum().backward()
    assert type(w.grad) is FakeTensor and w.grad.shape == (2, 3)
    with mode:
        layer = torch.nn.Linear(3, 4)
        out = layer(torch.empty(5, 3))
        out.sum().backward()
    assert isinstance(layer.weight, FakeTensor) and layer.weight.grad.shape == (4, 3) and out.shape == (5, 4)


def test_what_depends_on_data(mode):
    with mode:
        a = torch.empty(2, 3)
        assert torch.tensor(5).item() == 5
    for ask, kind, text in [
        (lambda: a.sum().item(), DataDependentOutputException, "aten._local_scalar_dense.default"),
        (lambda: bool(a.sum() > 0), DataDependentOutputException, "aten._local_scalar_dense.default"),
        (lambda: a.tolist(), DataDependentOutputException, "aten._local_scalar_dense.default"),
        (lambda: a.nonzero(), DynamicOutputShapeException, "aten.nonzero.default"),
        (lambda: a[a > 0], DynamicOutputShapeException, "aten.nonzero.default"),
        (lambda: torch.unique(a), DynamicOutputShapeException, "aten._unique2.default"),
    ]:
        with pytest.raises(kind) as caught:
            ask()
        assert str(caught.value) == text
    with pytest.raises(RuntimeError, match=r"\.numpy\(\) is not supported for tensor subclasses"):
        a.numpy()


def test_mixed_with_real_tensors_and_devices(mode):
    with mode:
        a = torch.empty(2, 3)
        on_gpu = torch.zeros(2, device="cuda")
        assert (on_gpu + torch.zeros(())).device.type == "cuda"
        with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu!"):
            on_gpu + torch.zeros(2)
        assert on_gpu.cpu().device.type == "cpu"
    with pytest.raises(AssertionError) as caught:
        a + torch.ones(2, 3)
    assert str(caught.value) == (
        "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with 'allow_non_fake_inputs'. "
        "Found in aten.add.Tensor(FakeTensor(..., size=(2, 3)), tensor([...], size=(2, 3)))"
    )
    with pytest.raises(AssertionError, match="Mixing fake modes NYI"):
        FakeTensorMode().from_tensor(torch.ones(3)) + a
    real = torch.ones(2)
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert is_fake(real + torch.zeros(2))


def test_deep_copies(mode):
    with mode:
        a = torch.empty(2, 3)
    assert repr(copy.deepcopy(a)) == "FakeTensor(..., size=(2, 3))"
    with mode, FakeCopyMode(mode):
        made = copy.deepcopy(torch.nn.Linear(2, 2))
    assert is_fake(made.weight) and isinstance(made.weight, torch.nn.Parameter)


def test_numbers_alone_and_printing_within_the_mode(mode):
    real = torch.tensor([1.0, 2.0])
    with mode:
        assert type(torch.div(3, 2)) is FakeTensor
        assert repr(real) == "tensor([1., 2.])"
