"""Expected values of tests, as PyTorch gives them. The cases stand beside the tests, which run them with shim-torch."""

import importlib
import sys
import warnings
from functools import partial
from pathlib import Path

import torch

SAVED = ("objects", "objects_legacy", "model")
TESTS = Path(__file__).resolve().parents[2] / "tests"


def _written(folder, module, *given):
    """What ``written(torch, *given)`` of a module beside the tests gives."""
    while (TESTS / folder / "__init__.py").exists():  # a package is imported from the folder beside it
        folder, module = Path(folder).parent, f"{Path(folder).name}.{module}"
    sys.path.insert(0, str(TESTS / folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(module).written(torch, *given)


def _of_cases(folder, module, stored, *others):
    """The files of a folder whose cases stand in modules ``*_cases``, below it too, all written by one module of the folder;
    ``others`` write their own.
    """
    files = (TESTS / folder).rglob("*_cases.py")
    names = {str(file.relative_to(TESTS / folder).with_suffix("")) for file in files} - set(others)
    return {f"tests/{folder}/{stored(name)}": partial(_written, folder, module, name) for name in sorted(names)}


def _of_one(folder, module, stored):
    return {f"tests/{folder}/{stored}": partial(_written, folder, module)}


FILES = {
    **_of_cases("autograd", "outcome", lambda name: name.replace("_cases", "_expected.json")),
    **_of_one("autograd", "saved", "saved_expected.json"),
    **_of_cases("shim_torch/nn", "described", "expected/{}.json".format),
    **_of_cases("shim_torch/ops", "expressions", "expected/{}.json".format, "rearranging_cases"),
    **_of_one("shim_torch/ops", "rearranging_cases", "rearranging_expected.json"),
    **_of_one("shim_torch/optim", "matrices_cases", "matrices_expected.json"),
    **_of_one("shim_torch/optim", "steps_cases", "steps_expected.json"),
    **_of_one("shim_torch/optim", "schedules_cases", "schedules_expected.json"),
    **_of_one("shim_torch", "window_cases", "data/windows.json"),
    **_of_one("shim_torch", "distribution_single_cases", "data/distributions.json"),
    **_of_one("shim_torch", "distribution_part_cases", "data/distribution_parts.json"),
    **_of_one("shim_torch", "distribution_cases", "data/distribution_values.json"),
    **{f"tests/shim_torch/data/{name}.pt": partial(_written, "shim_torch", "saved_objects", name) for name in SAVED},
}
