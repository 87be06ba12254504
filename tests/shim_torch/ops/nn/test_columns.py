"""Windows of an image as columns, and columns summed into an image."""

import numpy as np
import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import columns_cases as cases


def test_windows_as_columns_and_back():
    rng = np.random.RandomState(0)
    x = torch.tensor(rng.randn(2, 3, 7, 9), requires_grad=True)
    for settings in (
        {"kernel_size": 3},
        {"kernel_size": (2, 3), "stride": 2, "padding": 1},
        {"kernel_size": 2, "dilation": 2, "stride": (1, 2)},
    ):
        columns = torch.nn.functional.unfold(x, **settings)
        narrow = torch.nn.functional.unfold(x.float(), **settings)
        np.testing.assert_allclose(narrow.detach().numpy(), columns.detach().numpy(), rtol=1e-6)
        assert torch.equal(torch.nn.functional.unfold(x[0], **settings), columns[0])
        assert torch.autograd.gradcheck(lambda t, s=settings: torch.nn.functional.unfold(t, **s), (x,))
        folded = torch.nn.functional.fold(columns, (7, 9), **settings)
        counts = torch.nn.functional.fold(torch.ones_like(columns), (7, 9), **settings)
        np.testing.assert_allclose(folded.detach().numpy(), (x * counts).detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None
