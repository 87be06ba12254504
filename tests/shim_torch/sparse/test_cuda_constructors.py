"""``torch.cuda.sparse``'s old constructors."""

from __future__ import annotations

import importlib

import pytest

import shim_torch as torch

CLASSES = (
    "BFloat16Tensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor".split()
)


def test_classes():
    module = importlib.import_module("shim_torch.cuda.sparse")
    assert torch.cuda.sparse is module and sorted(n for n in dir(module) if n.endswith("Tensor")) == CLASSES
    assert not isinstance(torch.eye(2).to_sparse(), torch.cuda.sparse.FloatTensor)  # on the CPU
    assert isinstance(torch.eye(2).to_sparse(), torch.sparse.FloatTensor)
    assert (
        torch.cuda.sparse.FloatTensor.__module__ == "torch.cuda.sparse"
        and torch.cuda.sparse.FloatTensor.dtype == torch.float32
    )
    for name in ("BoolTensor", "gone"):
        with pytest.raises(AttributeError):
            getattr(module, name)


def test_makes():
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError):
            torch.cuda.sparse.FloatTensor(2, 2)
        return
    made = torch.cuda.sparse.FloatTensor(
        torch.tensor([[0], [1]]).cuda(), torch.tensor([2.0]).cuda(), torch.Size([2, 2])
    )
    assert (
        made.is_cuda and made.to_dense().tolist() == [[0, 2], [0, 0]] and made.type() == "torch.cuda.sparse.FloatTensor"
    )
