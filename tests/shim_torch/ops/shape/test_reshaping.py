"""Flattened forms and transposes as properties against PyTorch 2.13; what is a view."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import reshaping_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


def test_what_needs_no_copy_shares_memory():
    x = torch.zeros(2, 3, 4)
    for made in (
        x.flatten(),
        x.flatten(1),
        x.unflatten(2, (2, 2)),
        x.ravel(),
        x.mT,
        torch.atleast_3d(x[0]),
        torch.broadcast_tensors(x, x[0])[1],
    ):
        assert made.data_ptr() == x.data_ptr() and made.untyped_storage().nbytes() == 96
    assert x.flatten(1, 1) is x and torch.atleast_2d(x) is x
    turned = x.permute(2, 0, 1)
    assert turned.flatten().data_ptr() != x.data_ptr() and turned.flatten(1).data_ptr() == x.data_ptr()
