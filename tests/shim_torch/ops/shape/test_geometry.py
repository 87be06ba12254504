"""A tensor's geometry by ATen's names against PyTorch 2.13."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import geometry_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


def test_nothing_is_read_of_tensors_without_data():
    x = torch.empty(2, 5, device="meta").t()
    aten = torch.ops.aten
    assert (aten.sym_size(x), aten.sym_stride(x), aten.sym_numel(x)) == ([5, 2], [1, 5], 10)
    assert torch.ops.prim.device(x) == torch.device("meta")
    made = aten._new_zeros_with_same_feature_meta(torch.ones(3), x, self_num_batch_dims=1)
    assert made.shape == (3, 5, 2) and made.stride() == (10, 1, 5) and made.is_meta
