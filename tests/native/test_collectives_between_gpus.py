"""Collectives by kernels of our own, compiled for the host, and by copies between GPUs, beside the tests' NCCL; no GPU."""

from __future__ import annotations

import pytest
from test_simulated_cuda import HERE, compiled, kernel_variables
from test_simulated_nccl import together  # which also finds the programs of the ranks

from device_small import KINDS, MOST  # isort: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small_collectives")
    compiled(HERE / "simulated_cuda" / "driver.cpp", folder / "libcuda.so.1")
    compiled(HERE / "simulated_cuda" / "nvrtc.cpp", folder / "libnvrtc.so.13")
    compiled(HERE / "simulated_cuda" / "nccl.cpp", folder / "libnccl.so.2")
    return folder


def small(library, number, program, folder, *args, **more):
    variables = (
        kernel_variables(library)
        | {"module": "device_small", "SHIM_SMALL_COLLECTIVES": "1", "SHIM_PEER_COPIES": "1"}
        | more
    )
    return together(library, number, program, folder, *args, **variables)


@pytest.mark.parametrize("number", [2, 3])
def test_results_are_nccls(library, number, tmp_path):
    (tmp_path / "ours").mkdir(), (tmp_path / "theirs").mkdir()
    ours = small(library, number, "every", tmp_path / "ours")
    theirs = small(library, number, "every", tmp_path / "theirs", SHIM_SMALL_COLLECTIVES="0")
    for a, b in zip(ours, theirs, strict=True):
        assert b["ours"] == []
        floats = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
        integers = ("uint8", "int8", "int32", "int64")
        assert set(a["ours"]) == {
            *((k, d, op) for k in KINDS[:2] for d in floats[:4] for op in ("SUM", "AVG", "PRODUCT")),
            *((k, d, op) for k in KINDS[:2] for d in floats[4:] for op in ("SUM", "AVG")),
            *((k, d, op) for k in KINDS[:2] for d in integers for op in ("SUM", "PRODUCT", "MIN", "MAX")),
            *((k, "bool", op) for k in KINDS[:2] for op in ("SUM", "PRODUCT", "MIN", "MAX")),
            *((k, d, "") for k in KINDS[2:] for d in (*floats, *integers, "bool", "int16", "float8_e5m2")),
        }
        for key, value in a["found"].items():
            assert number > 2 or value == b["found"][key], key
    assert all(a["found"] is not None for a in ours)


@pytest.mark.parametrize("number", [2, 3])
def test_sizes_and_addresses(library, number, tmp_path):
    most = MOST // (number - 1) // 8 * 8
    for found in small(library, number, "sizes", tmp_path):
        for key, value in found.items():
            assert value == (0 if isinstance(key, str) or key[1] == "uneven" else (0, key[1] <= most)), key


def test_streams_groups_and_nccl_between(library, tmp_path):
    (tmp_path / "ours").mkdir(), (tmp_path / "theirs").mkdir()
    ours = small(library, 2, "mixed", tmp_path / "ours")
    theirs = small(library, 2, "mixed", tmp_path / "theirs", SHIM_SMALL_COLLECTIVES="0")
    for a, b in zip(ours, theirs, strict=True):
        assert a[:-1] == b[:-1] and a[-1] and not b[-1]


def test_a_rank_that_dies(library, tmp_path):
    found, _ = small(library, 2, "lost", tmp_path, dies=(1,))
    assert found[0] == 1
    assert found[1][0] == "DistBackendError" and "rank 1" in found[1][1], found


def test_devices_that_do_not_reach_each_other(library, tmp_path):
    assert all(f["ours"] == [] for f in small(library, 2, "every", tmp_path, SIMULATED_NO_PEERS="1"))


@pytest.mark.parametrize("number", [2, 3])
def test_copies_between_devices(library, number, tmp_path):
    for found in small(library, number, "collectives", tmp_path, module="device_copies"):
        kinds = {key if isinstance(key, str) else key[0] for key in found}
        assert kinds == {"message", "all_gather", "reduce_scatter", "all_reduce", "small"}
        for key, value in found.items():
            rounded = 0.05 if "bfloat16" in str(key[-1]) else 1e-6  # of means
            assert value is True or value <= (rounded if "reduce" in key[0] else 0), key


@pytest.mark.parametrize("why", ["SIMULATED_NO_PEERS=1", "SHIM_PEER_COPIES=0"])
def test_no_copies(library, tmp_path, why):
    name, value = why.split("=")
    assert small(library, 2, "collectives", tmp_path, module="device_copies", **{name: value}) == [None, None]
