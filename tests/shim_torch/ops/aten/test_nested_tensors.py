"""Makers of nested tensors against PyTorch 2.13; views share the buffer."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import nested_tensors_cases as cases


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


def test_a_view_of_a_buffer_shares_it_and_a_copy_does_not():
    buffer, table = torch.arange(5.0), (torch.tensor([[2], [3]]), torch.tensor([[1], [1]]), torch.tensor([0, 2]))
    view = torch._nested_view_from_buffer(buffer, *table)
    copy = torch._nested_view_from_buffer_copy(buffer, *table)
    buffer.add_(1)
    assert [p.tolist() for p in view.unbind()] == [[1, 2], [3, 4, 5]]
    assert [p.tolist() for p in copy.unbind()] == [[0, 1], [2, 3, 4]]
