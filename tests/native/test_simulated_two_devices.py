"""Several devices in one process without a GPU: the simulated driver has two, and refuses handles of another context as the real one does."""

from __future__ import annotations

import pytest
from test_simulated_cuda import ROOT, run, simulated  # noqa: F401 (a fixture)


@pytest.mark.parametrize("part", ["the_driver_refuses", "copies", "memory", "products", "streams", "backward"])
def test_part(simulated, part):  # noqa: F811
    run(simulated, f"import two_device_checks; two_device_checks.{part}()")


def test_copies_without_peer_access(simulated):  # noqa: F811
    run(simulated, "import two_device_checks; two_device_checks.copies_without_peers()", SIMULATED_NO_PEERS="1")


def test_one_device(simulated):  # noqa: F811
    run(simulated, "import two_device_checks; two_device_checks.one_device()", SIMULATED_DEVICES="1")


# The tests that need nothing of CuPy and no large tensors; their kernels are compiled for the host.
CHOSEN = {
    "test_two_devices.py": "add or factories or linear or across or AdamW or streams or works_on or generators or threads or "
    "(mixed and (mm or cat or embedding or conv1d))",
    "test_two_devices_libraries.py": "data_parallel or broadcast or said",
}


@pytest.mark.slow
@pytest.mark.parametrize("file", CHOSEN)
def test_the_gpu_tests_on_the_host(simulated, file):  # noqa: F811
    tests = ROOT / "tests" / "gpu" / file
    arguments = [str(tests), "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", CHOSEN[file]]
    out = run(simulated, f"import pytest, sys; sys.exit(pytest.main({arguments!r}))")
    assert " passed" in out and "skipped" not in out
