"""Groups over NCCL without a GPU: the core's own engine, on the tests' driver and a library whose messages are files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from test_simulated_cuda import HERE, INSTALLED, compiled, kernel_variables, simulated  # noqa: F401

sys.path.append(str(Path(__file__).parents[1] / "shim_torch" / "distributed"))
import processes
from collective_programs import plain, torch, values
from device_programs import OPS, REDUCED
from test_process_groups import close, expected


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated_nccl")
    compiled(HERE / "simulated_cuda" / "driver.cpp", folder / "libcuda.so.1")
    compiled(HERE / "simulated_cuda" / "nccl.cpp", folder / "libnccl.so.2")
    return folder


def together(library, number, program, folder, *args, dies=(), module="device_programs", **variables):
    variables = {
        "LD_LIBRARY_PATH": str(library),
        "SHIM_NCCL_PATH": str(library / "libnccl.so.2"),
        "SIMULATED_NCCL": str(folder),
        "SHIM_TORCH_COMPILE_AHEAD": "0",
        "SHIM_SMALL_COLLECTIVES": "0",  # which would not be NCCL's
        "SHIM_PEER_COPIES": "0",
    } | variables
    return processes.together(number, module, program, folder, *args, dies=dies, env=variables)


def refusal(dtype, op):
    if "complex" in dtype and op not in ("SUM", "AVG"):
        return "ValueError", f"all_reduce does not support RedOpType.{op} on complex tensors"
    if op.startswith("B"):
        return "ValueError", f"Cannot use ReduceOp.{op} with NCCL"
    return ("TypeError", "Cannot use ReduceOp.AVG with boolean inputs") if op == "AVG" and dtype == "bool" else None


@pytest.mark.parametrize("number", [2, 3])
def test_reductions(library, number, tmp_path):
    found = together(library, number, "reductions", tmp_path)
    for dtype in REDUCED:
        for op in OPS:
            refused = refusal(dtype, op)
            for f in found:
                case = f["all_reduce", dtype, op]
                if refused:
                    assert case == refused, (dtype, op)
                elif op == "AVG" and "float" not in dtype and "complex" not in dtype:
                    whole = expected(dtype, "SUM", number).div(number, rounding_mode="trunc")
                    assert case == plain(whole.to(getattr(torch, dtype))), (dtype, op)
                else:
                    assert close(case, expected(dtype, op, number), number), (dtype, op, case)
            if not refused and op in ("SUM", "MAX"):
                assert close(found[-1]["reduce", dtype, op], expected(dtype, op, number), number)
                rows = [values(dtype, r, (number, 4)) for r in range(number)]
                assert all(len(f["reduce_scatter", dtype, op][1]) == 4 for f in found) and len(rows) == number
    for dtype in ("float32", "float16", "bfloat16", "float64"):
        total = expected(dtype, "SUM", number).double()
        for f in found:
            for case, factor in zip(f["premul", dtype], (0.5, 0.25), strict=True):
                assert case[0] == dtype
                assert torch.allclose(torch.tensor(case[1], dtype=torch.float64), total * factor, rtol=2e-2)
    for f in found:
        assert f["int16"] == ("TypeError", "Input tensor data type is not supported for NCCL process group: Short")
        assert f["cpu"] == ("RuntimeError", "No backend type associated with device type cpu")
        assert f["strided"] == ("ValueError", "Tensors must be contiguous")


@pytest.mark.parametrize("number", [2, 3])
def test_movements(library, number, tmp_path):
    found = together(library, number, "movements", tmp_path)
    for dtype in REDUCED:
        every = [plain(values(dtype, rank, (number, 4))) for rank in range(number)]
        for rank, f in enumerate(found):
            parts, at_root, whole = f["gathered", dtype]
            assert parts == every and at_root == (every if rank == 1 else None)
            assert whole[1] == [row for x in every for row in x[1]]
            assert f["spread", dtype] == [every[1], every[0]]
            out, parts = f["exchanged", dtype]
            assert out[1] == [x[1][rank] for x in every] == [part[1] for part in parts]
    for rank, f in enumerate(found):
        total = float(sum(r + 1 for r in range(number)))
        assert f["uneven lists"] == ("float32", [total] * (rank + 1))
        assert f["uneven gather"] == [("float32", [float(r + 1)] * (r + 1)) for r in range(number)]
        sent = [list(range(r + 1 + number * 2)) for r in range(number)]
        last = rank == number - 1
        assert f["uneven"][1] == [x for s in sent for x in (s[2 * rank :] if last else s[2 * rank : 2 * rank + 2])]


@pytest.mark.parametrize("number", [2, 4])
def test_together(library, number, tmp_path):
    found = together(library, number, "together", tmp_path)
    base = sum(range(number))
    sums = [float(base + i * number) for i in range(4)]
    for rank, f in enumerate(found):
        first, second, got, source, completed, error, later, result, objects, shared, group, ranks, half, pointer = f
        assert [x[1] for x in first] == [[s] * 3 for s in sums]
        assert [x[1] for x in second] == [[s * number] * 3 for s in sums]
        assert got[1] == [float((rank - 1) % number)] * 8 and source == {0: 1, 1: 0}.get(rank)
        assert completed and error is None and later == [sums[0] * number**2] * 3 == result[0][1]
        assert objects == [{"rank": r} for r in range(number)] and shared == ["a", {1: 2}]
        assert group == (("float32", [float(1 + number)]) if rank in (0, number - 1) else None)
        mine = [0, 1] if rank < 2 else [2, 3]
        assert ranks == mine and half == ("float32", [float(sum(r + 1 for r in mine))]) and pointer


def test_streams_and_memory(library, tmp_path):
    for found in together(library, 2, "on_streams", tmp_path, module="device_streams"):
        assert found == [True, True, True, 4096 * 4, 0, 4096 * 4, 0, 3]


def test_states_of_the_cpu_from_the_first_process(library, tmp_path):
    expected = [("cpu", 4.0), ("cuda", [0.0, 1.0, 2.0]), ("cpu", [True]), ("cpu", [1.0, 1.0])]
    assert together(library, 2, "states_of_the_first", tmp_path, module="device_states") == [(expected, 0.5)] * 2


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gathered_memory_is_used_again_only_in_order(library, simulated, tmp_path, dtype):  # noqa: F811
    variables = kernel_variables(simulated)
    for found in together(library, 2, "gathers", tmp_path, dtype, module="device_streams", **variables):
        assert found["again"] > 20 and found["early"] == 0
        # The first step does not know which block is the last; its peak hangs on when its works, of which it sees the ends, are let go.
        for sizes in (found["kept"], found["peaks"][1:]):
            assert sizes == sorted(sizes, reverse=True), found
        assert len(set(found["kept"][2:])) == 1 and found["reserved"] == 0, found


def test_the_current_stream_is_asked_for_with_the_interpreters_lock(library, tmp_path):
    for locked, unlocked in together(library, 2, "asked_for_streams", tmp_path):
        assert locked > 8 and unlocked == 0


def test_a_collective_that_does_not_end(library, tmp_path):
    first, _ = together(library, 2, "stuck", tmp_path, "2")
    (kind, text), took, again = first
    assert kind == "DistBackendError" and took < 10
    for part in (
        "[Rank 0] WorkNCCL(SeqNum=2, OpType=all_reduce, NumelIn=0, NumelOut=8, Timeout(ms)=600)",
        "Watchdog caught",
    ):
        assert part in text
    assert again[0] == "DistBackendError" and "Watchdog caught" in again[1]


def test_a_collective_that_ends_the_process(library, tmp_path):
    started = processes.start(
        2, "device_programs", "stuck", tmp_path, "3",
        env={"LD_LIBRARY_PATH": str(library), "SHIM_NCCL_PATH": str(library / "libnccl.so.2"), "SIMULATED_NCCL": str(tmp_path),
             "SHIM_SMALL_COLLECTIVES": "0"},
    )  # fmt: skip
    outputs = [process.communicate(timeout=60)[0] for process in started]
    assert started[0].returncode == -6 and started[1].returncode == 0
    assert "Watchdog caught" in outputs[0] and "TORCH_NCCL_ASYNC_ERROR_HANDLING" in outputs[0]


def test_without_the_library(library, tmp_path):
    env = {"LD_LIBRARY_PATH": str(library), "SHIM_NCCL_PATH": "/nowhere/libnccl.so.2", "PYTHONPATH": INSTALLED}
    code = (
        "import shim_torch.distributed as d\nassert not d.is_nccl_available()\n"
        "try:\n    d.init_process_group('nccl', init_method='tcp://localhost:1', rank=0, world_size=2, store=None)\n"
        "except Exception as e:\n    print(type(e).__name__, e)\n"
    )
    code = code.replace("init_method='tcp://localhost:1', ", f"init_method='file://{tmp_path}/s', ")
    import subprocess

    result = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | env, capture_output=True, text=True, timeout=60
    )
    assert "RuntimeError" in result.stdout and "pip install shim-torch[nccl13]" in result.stdout, (
        result.stdout + result.stderr
    )
