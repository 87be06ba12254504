"""No test uses a real PyTorch: where one is installed, importing it outside a scope of the proxy fails as if it were not.

Tests with the fixture ``device`` run on the CPU, on meta tensors and, where there is a GPU, on CUDA (``-m cuda``).
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from typing import Any

import pytest


class NoTorch:
    """A meta path finder that finds no torch."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name == "torch" or name.startswith("torch."):
            raise ModuleNotFoundError(f"No module named {name!r} (the tests run without PyTorch)", name=name)
        return None


sys.meta_path.insert(0, NoTorch())  # type: ignore[arg-type]


def pytest_generate_tests(metafunc: Any) -> None:
    """A test with the argument ``device`` runs on every device there is; ``@pytest.mark.devices`` names the ones it is for."""
    if "device" not in metafunc.fixturenames:
        return
    from devices import devices

    only = metafunc.definition.get_closest_marker("devices")
    found = [d for d in devices() if only is None or d in only.args]
    metafunc.parametrize("device", [pytest.param(d, marks=getattr(pytest.mark, d)) for d in found], indirect=True)


@pytest.fixture
def device(request: Any) -> Any:
    """The device under test: where the test's factories make their tensors, unless they are told otherwise."""
    from devices import tested

    import shim_torch

    name = tested(request.param)
    if name == "cuda":
        shim_torch.backends.cudnn.allow_tf32 = False  # float32 is computed as such
    with shim_torch.device(name):
        yield name


def pytest_configure(config: Any) -> None:
    for line in (
        "devices(*names): the devices that a test with the fixture `device` is for (all by default)",
        "cpu: what runs on the CPU of a test with the fixture `device`",
        "meta: what runs on meta tensors of a test with the fixture `device`",
        "cuda: what runs on CUDA of a test with the fixture `device`",
    ):
        config.addinivalue_line("markers", line)
