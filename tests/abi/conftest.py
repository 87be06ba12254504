"""Compiles the test extensions once a session and loads them into this process."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiling import compile_extension

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_extension(HERE / "extension.cpp", tmp_path_factory.mktemp("abi") / "abi_test.so")


@pytest.fixture(scope="session")
def ops(library: Path):
    import shim_torch as torch

    torch.ops.load_library(library)
    return torch.ops.abi_test
