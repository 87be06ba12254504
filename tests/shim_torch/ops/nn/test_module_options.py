"""Layers with options that are seldom given."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import module_options_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


@pytest.mark.parametrize("loss", [torch.nn.MSELoss, torch.nn.CrossEntropyLoss, torch.nn.KLDivLoss])
def test_old_arguments_of_losses_warn(loss):
    with pytest.warns(
        UserWarning, match="size_average and reduce args will be deprecated, please use reduction='sum' instead"
    ):
        assert loss(size_average=False).reduction == "sum"
