"""Meta tensors in pickles: their kind is kept, for there is no memory."""

import pickle

import pytest

import shim_torch as torch

MADE = {
    "contiguous": lambda: torch.ones(2, 3, device="meta"),
    "transposed": lambda: torch.ones(2, 3, device="meta").t(),
    "a leaf": lambda: torch.ones(2, dtype=torch.bfloat16, device="meta", requires_grad=True),
    "a parameter": lambda: torch.nn.Parameter(torch.ones(2, device="meta")),
    "a fixed parameter": lambda: torch.nn.Parameter(torch.ones(2, device="meta"), requires_grad=False),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_tensors(make):
    tensor = make()
    tensor.tag = 5
    again = pickle.loads(pickle.dumps(tensor))
    assert type(again) is type(tensor) and again.is_meta and again.is_leaf and again.tag == 5
    for attribute in ("shape", "dtype", "requires_grad"):
        assert getattr(again, attribute) == getattr(tensor, attribute)
    assert again.stride() == tensor.stride()


def test_modules():
    with torch.device("meta"):
        layer = torch.nn.LSTM(2, 3)
    again = pickle.loads(pickle.dumps(layer))
    assert all(t.is_meta for t in again.state_dict().values())
    assert again.to_empty(device="cpu")(torch.zeros(1, 1, 2))[0].shape == (1, 1, 3)
