"""Operators against what PyTorch 2.13 gave for the same expressions: values, dtypes, gradients, error texts."""

import importlib

import pytest
from devices import check_forms

import shim_torch

from .expressions import difference, error_of, outcome, results, stored, tolerance

MODULES = (
    "convolution_cases",
    "spatial_cases",
    "linalg_cases",
    "fourier_cases",
    "lists_cases",
    "layers_cases",
    "special_cases",
    "names_cases",
    "attention_cases",
    "padding_cases",
    "products_cases",
    "corners_cases",
    "samples_cases",
    "layout_cases",
)


# The device's number is another; a determinant of which rounding decides whether it is zero; on CUDA a dim that keeps its size is
# resampled by its factor, and bytes are not resampled in integers.
CPU_ALONE = (
    "torch.get_device(x)",
    "L.det(singular)",
    "F.interpolate(x2.detach(), scale_factor=1.15, mode='bilinear', antialias=True)",
    "F.interpolate((u.detach() * 60 + 128).to(torch.uint8), (2, 7), mode='lanczos', antialias=True)",
)


def _all():
    for name in MODULES:
        cases = importlib.import_module(f".{name}", __package__)
        for expression in cases.CASES:
            yield pytest.param(cases, expression, stored(name)[expression], id=f"{name[:-6]}: {expression}")


def _about_values(cases, expression, expected):
    """Whether PyTorch's error came from what the elements are: without them there is none."""
    if expected[0] != "error":
        return False
    try:
        with shim_torch.device("meta"):
            results(shim_torch, cases, expression)
    except Exception as error:
        return error_of(error) != expected
    return True


@pytest.mark.parametrize(("cases", "expression", "expected"), list(_all()))
def test_as_pytorch(cases, expression, expected, device):
    if device == "meta":
        check_forms(lambda: results(shim_torch, cases, expression))
        return
    if device == "cuda" and (expression in CPU_ALONE or _about_values(cases, expression, expected)):
        pytest.skip("an index out of range ends the CUDA context, as in PyTorch; or the answer is the CPU's")
    got = outcome(shim_torch, cases, expression)
    if got[0] == "error":
        got[2] = got[2].replace("torch.cuda.", "torch.")
    if got[0] == "error" and expected[0] == "values":
        pytest.fail(f"{got[1]}: {got[2]}")
    found = difference(got, expected, rtol=tolerance(expression))
    assert found is None, found
