"""Losses and arrays under a fake mode: shapes alone, no questions about values."""

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode


@pytest.mark.parametrize("smoothing", [0.0, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_of_classes(smoothing, weighted, reduction):
    given = [torch.ones(3, 5, requires_grad=True), torch.tensor([0, 4, 2]), torch.ones(5) if weighted else None]
    with FakeTensorMode() as mode:
        fakes = [x if x is None else mode.from_tensor(x) for x in given]
        loss = torch.nn.functional.cross_entropy(*fakes, label_smoothing=smoothing, reduction=reduction)
        assert isinstance(loss, FakeTensor) and loss.shape == ((3,) if reduction == "none" else ())


def test_targets_out_of_range_are_refused_where_they_are_known():
    with pytest.raises(IndexError, match="Target 5 is out of bounds."):
        torch.nn.functional.cross_entropy(torch.ones(2, 5), torch.tensor([0, 5]), label_smoothing=0.5)


@pytest.mark.parametrize(
    "make",
    [
        lambda a: torch.tensor(a),
        lambda a: torch.tensor(a, dtype=torch.float32),
        lambda a: torch.as_tensor(a),
        lambda a: torch.from_numpy(a),
    ],
)
def test_arrays_become_fakes(make):
    array = np.arange(6.0).reshape(2, 3)
    with FakeTensorMode():
        found = make(array)
    plain = make(array)
    assert isinstance(found, FakeTensor) and found.shape == (2, 3) and found.dtype == plain.dtype
    assert type(plain) is torch.Tensor and plain.tolist() == array.tolist()


GRADIENTS = {
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(1),
    "layer_norm": lambda x: torch.nn.functional.layer_norm(x, (4,)),
    "attention": lambda x: torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
    "dropout": lambda x: torch.nn.functional.dropout(x),
    "linear": lambda x: torch.nn.functional.linear(x, x),
    "cross_entropy": lambda x: torch.nn.functional.cross_entropy(x, x.detach().argmax(1), label_smoothing=0.1),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_fakes_have_gradients_of_operators_that_modes_see_as_parts(name):
    x = torch.ones(3, 4, requires_grad=True)
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(x)
        found = GRADIENTS[name](fake)
        assert found.grad_fn is not None
        found.sum().backward()
        assert isinstance(fake.grad, FakeTensor) and fake.grad.shape == (3, 4)
