"""Bags of embeddings without values: fake and meta tensors are not read."""

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("settings", [{}, {"include_last_offset": True}, {"padding_idx": 1}])
def test_fake_results_are_shaped_as_real_ones(mode, settings):
    given = torch.tensor([1, 2, 4, 5, 4, 3]), torch.rand(10, 3), torch.tensor([0, 4, 6])
    real = F.embedding_bag(*given, mode=mode, **settings)
    fakes = FakeTensorMode()
    with fakes:
        found = F.embedding_bag(*map(fakes.from_tensor, given), mode=mode, **settings)
    assert (
        isinstance(found, FakeTensor)
        and found.shape == real.shape
        and found.dtype is real.dtype
        and found.device == real.device
    )


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_all_four_results(mode):
    given = torch.rand(10, 3), torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2])
    real = torch.ops.aten._embedding_bag(*given, False, mode)
    fakes = FakeTensorMode()
    with fakes:
        found = torch.ops.aten._embedding_bag(*map(fakes.from_tensor, given), False, mode)
    assert [r.shape for r in found] == [r.shape for r in real]
    meta = torch.ops.aten._embedding_bag(*(t.to("meta") for t in given), False, mode)
    assert [tuple(r.shape) for r in meta] == [(2, 3), (4,), (2,), (2, 3) if mode == 2 else (0,)]
