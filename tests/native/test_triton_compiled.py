"""Launches of Triton kernels are operators of compiled functions, over a driver whose kernels are functions of NumPy (simulated_cuda/)."""

from __future__ import annotations

import pytest
from test_simulated_cuda import HERE, kernel_variables, simulated  # noqa: F401 (a fixture)
from test_triton_dispatch import driver, launched  # noqa: F401 (a fixture)

PARTS = [
    ("triton_compiled_checks", "one_program", "arguments", "addresses", "reads", "order"),
    ("triton_compiled_checks", "parts", "guards", "training", "graphs", "graphs_after_each_other"),
    ("triton_seldom_checks", "at_once", "tuned", "backends", "libraries", "random_functions"),
]


@pytest.mark.slow
@pytest.mark.parametrize("parts", PARTS)
def test_parts(simulated, driver, parts, tmp_path):  # noqa: F811
    variables = kernel_variables(simulated, tmp_path)
    variables["LD_LIBRARY_PATH"] = f"{driver}:{simulated}"
    launched(driver, HERE / "simulated_cuda" / f"{parts[0]}.py", parts[1:], variables)
