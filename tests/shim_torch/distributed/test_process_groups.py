"""Groups of 2, 3 and 4 processes over MPI."""

from __future__ import annotations

import socket

import processes
import pytest
from collective_programs import OPS, REDUCED, plain, torch, values

import shim_torch.distributed as dist

pytestmark = pytest.mark.skipif(
    not dist.is_mpi_available(), reason="the MPI library of the extra `mpi` is not installed"
)


def together(number, function, folder, *args, **more):
    return processes.together(number, "collective_programs", function, folder, *args, **more)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def expected(dtype, op, number):
    every = [values(dtype, rank) for rank in range(number)]
    if op in ("BAND", "BOR", "BXOR"):
        combine = {"BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor}[op]
    elif op in ("MIN", "MAX"):
        combine = {"MIN": torch.minimum, "MAX": torch.maximum}[op]
    elif dtype == "bool":
        combine = torch.logical_and if op == "PRODUCT" else torch.logical_or
    else:
        combine = torch.mul if op == "PRODUCT" else torch.add
    total = every[0]
    for x in every[1:]:
        total = combine(total, x)
    return total / number if op == "AVG" else total


def close(found, wanted, number):
    (dtype, a), (other, b) = found, plain(wanted)
    a, b = torch.tensor(a), torch.tensor(b)
    # Two numbers are added in one way only.
    bound = 0.0 if number == 2 else {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-6)
    return dtype == other and bool(((a - b).abs() <= bound * (1 + b.abs())).all())


@pytest.mark.parametrize("number", [2, 4])
def test_reductions(number, tmp_path):
    found = together(number, "reductions", tmp_path)
    assert all(f.keys() == found[0].keys() for f in found)
    for dtype in REDUCED:
        for op in OPS:
            cases = {rank: f["all_reduce", dtype, op] for rank, f in enumerate(found)}
            refused = refusal(dtype, op)
            for case in cases.values():
                if refused:
                    assert case[0] == refused[0] and refused[1] in case[1], (dtype, op, case)
                else:
                    assert close(case, expected(dtype, op, number), number), (dtype, op, case)
            if ("reduce", dtype, op) in found[0] and not refused:
                assert close(found[-1]["reduce", dtype, op], expected(dtype, op, number), number), (dtype, op)
                scattered = [f["reduce_scatter", dtype, op] for f in found]
                assert all(case[0] == dtype and len(case[1]) == 4 for case in scattered), scattered
    for function in ("reduce", "reduce_scatter"):  # gloo's own refusals
        assert all(f[function, "complex64", "MAX"][0] == "RuntimeError" for f in found)
    assert found[0]["sizes"] == [
        ("RuntimeError", "output tensor must have the same type as input tensor"),
        ("RuntimeError", "output tensor size must be equal to world_size times input tensor size"),
        ("RuntimeError", "input tensor must be the same size as output size times world size"),
        ("ValueError", "Invalid process group specified"),
    ]
    assert found[0]["all_reduce", "int16", "SUM"] == ("RuntimeError", "Invalid scalar type")


def refusal(dtype, op):
    bits, whole = op.startswith("B"), "float" not in dtype and "complex" not in dtype
    if "complex" in dtype and (bits or op in ("PRODUCT", "MIN", "MAX")):
        return "ValueError", f"all_reduce does not support RedOpType.{op} on complex tensors"
    if bits and not whole:
        return "RuntimeError", f"Cannot use ReduceOp.{op} with non-integral dtype"
    return ("RuntimeError", "result type Float can't be cast") if op == "AVG" and whole else None


@pytest.mark.parametrize("number", [2, 3, 4])
def test_movements(number, tmp_path):
    found = together(number, "movements", tmp_path)
    for dtype in [*REDUCED, "strided"]:
        every = [plain(values(dtype.replace("strided", "float32"), rank, (number, 4))) for rank in range(number)]
        for rank, f in enumerate(found):
            parts, at_root, whole = f["gathered", dtype]
            assert parts == every and at_root == (every if rank == 1 else None)
            assert whole[1] == [row for x in every for row in x[1]]
            assert f["spread", dtype][0] == every[1]
            out, parts = f["exchanged", dtype]
            assert out[1] == [x[1][rank] for x in every] == [part[1] for part in parts]
    for rank, f in enumerate(found):
        assert f["uneven lists"] == ("float32", [float(sum(range(number)))] * (rank + 1))
        sent = [list(range(r + 1 + number * 2)) for r in range(number)]
        mine = [
            x
            for r in range(number)
            for x in (sent[r][2 * rank : 2 * rank + 2] if rank < number - 1 else sent[r][2 * rank :])
        ]
        assert f["uneven"] == ("float32", mine)


@pytest.mark.parametrize("number", [2, 4])
def test_messages(number, tmp_path):
    found = together(number, "messages", tmp_path)
    for rank, f in enumerate(found):
        if rank:
            y, x, source, *f = f
            assert (y[1], x[1], source) == ([10.0 * rank + 2] * 2, [10.0 * rank + 1] * 2 + [0.0] * 2, 0)
        fine, *f = f
        pair, *f = f if rank == 1 else (["sent", 5], *f)
        objects, at_root, shared, mine, *group = f
        assert fine and pair == ["sent", 5] and shared == ["a", {1: 2}] and mine == [f"for {rank}"]
        assert [o["rank"] for o in objects] == list(range(number)) and len(objects[-1]["long"]) == 100 * (number - 1)
        assert at_root == ([(r,) for r in range(number)] if rank == 0 else None)
        if rank in (0, number - 1):
            last = float(number - 1)
            assert group == [int(rank > 0), [0, number - 1], ("float32", [last + 2]), ("float32", [last])]
        else:
            assert group == [-1]


def test_asynchronous_works(tmp_path):
    for found in together(2, "asynchronous", tmp_path):
        sums, rest = found[:20], found[20:]
        assert sums == [1000.0 * (2 * i + 1) for i in range(20)]
        assert rest == [True, None, [("float32", [2.0] * 3)], ("float32", [2.0])]


@pytest.mark.parametrize("during", ["all_reduce", "waiting", "recv", "barrier"])
def test_a_rank_that_is_killed(during, tmp_path):
    number = 2 if during == "recv" else 3
    *others, _ = together(number, "killed", tmp_path, during, dies=(number - 1,))
    for (kind, text), took, after in others:
        assert kind == "DistBackendError" and f"rank {number - 1} has ended" in text and took < 5, (text, took)
        assert after == ("float32", [float(number - 1)])


def test_timeouts(tmp_path):
    first, *_ = together(2, "late", tmp_path)
    receive, reduce, took, again, monitored = first
    assert receive[0] == reduce[0] == again[0] == "DistBackendError" and took < 10
    assert "[Rank 0] recv" in receive[1] and "Timed out after 700 ms" in receive[1]
    assert "[Rank 0] all_reduce" in reduce[1] and again[1] == reduce[1]
    assert monitored == ("DistBackendError", "[Rank 0]: Ranks 1 failed to pass monitoredBarrier in 300 ms")


def test_a_rank_that_does_not_come(tmp_path):
    for kind, text in together(2, "missing", tmp_path):
        assert kind == "DistBackendError" and "rank 2 did not come within 1500 ms" in text


@pytest.mark.parametrize("kind", ["tcp", "file"])
@pytest.mark.parametrize("number", [2, 4])
def test_stores(kind, number, tmp_path):
    found = together(number, "store_values", tmp_path, kind, free_port())
    for rank, f in enumerate(found):
        assert f[:number] == [str(r).encode() for r in range(number)]
        total, check, swapped, *rest = f[number:]
        assert (int(total), check, swapped) == (number * (number + 1) // 2, False, b"v")
        assert rest[:-1] == ([b"first"] if rank == number - 1 else [])
        assert rest[-1][1] == ("Wait timeout" if kind == "file" else "wait timeout after 100ms, keys: /p/none")


def test_without_the_library(tmp_path):
    env = {"SHIM_TORCH_MPI_LIBRARY": "/nowhere/libmpi_abi.so.1"}
    for kind, text in together(2, "missing", tmp_path, env=env):
        assert kind == "RuntimeError" and "pip install shim-torch[mpi]" in text
