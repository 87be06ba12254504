"""Sorting, rearranging, indexing and counting against values that PyTorch 2.13 gave for the same expressions."""

import json
from pathlib import Path

import numpy as np
import pytest
from devices import check_forms

import shim_torch

from .rearranging_cases import CASES, outcome, results

EXPECTED = json.loads(Path(__file__).with_name("rearranging_expected.json").read_text())


ON_CUDA = ("is out of bounds for dimension", "tried to access index", "number of ones in mask", "histogram_cpu")


def agree(got, wanted):
    if isinstance(wanted, list):
        return len(got) == len(wanted) and all(agree(g, w) for g, w in zip(got, wanted, strict=True))
    if isinstance(wanted, float):
        return bool(np.isclose(got, wanted, rtol=1e-5, atol=1e-6, equal_nan=True))
    return got == wanted


@pytest.mark.parametrize("expression", CASES)
def test_as_pytorch(expression, device):
    if device == "meta":
        check_forms(lambda: results(shim_torch, expression))
        return
    if device == "cuda" and expression.startswith("one_hot") and EXPECTED[expression][0] == "error":
        pytest.skip("given classes are not checked on CUDA: that would wait for the GPU")
    if device == "cuda" and any(text in str(EXPECTED[expression]) for text in ON_CUDA):
        pytest.skip(
            "what an index or a mask names wrongly ends the CUDA context, as in PyTorch; whole numbers have histograms there"
        )
    got = outcome(shim_torch, expression)
    assert agree(got, EXPECTED[expression]), got


def test_meta_results_have_the_shape_alone():
    t = shim_torch.empty(3, 4, device="meta")
    values, indices = t.sort(0)
    assert (values.shape, indices.dtype) == ((3, 4), shim_torch.int64)
    assert t.repeat(2, 1, 3).shape == (2, 3, 12)
    assert t.topk(2).values.shape == (3, 2)


def test_out_receives_both_results():
    values, indices = shim_torch.zeros(3), shim_torch.zeros(3, dtype=shim_torch.int64)
    shim_torch.sort(shim_torch.tensor([3.0, 1.0, 2.0]), out=(values, indices))
    assert values.tolist() == [1.0, 2.0, 3.0]
    assert indices.tolist() == [1, 2, 0]
