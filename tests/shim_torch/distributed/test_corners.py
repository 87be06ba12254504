"""Seldom used arguments, in 2 processes; ``make test-reference`` runs the same programs under PyTorch's gloo."""

from __future__ import annotations

import processes
import pytest

import shim_torch.distributed as dist

pytestmark = pytest.mark.skipif(
    not dist.is_mpi_available(), reason="the MPI library of the extra `mpi` is not installed"
)
REAL, COMPLEX = "float32", "complex64"


def test_several_tensors_at_once(tmp_path):
    for found in processes.together(2, "corner_programs", "coalesced", tmp_path):
        assert found["real first"] == [(REAL, [3.0]), (COMPLEX, [2 + 2j, 4j])]
        assert found["complex first"] == [(COMPLEX, [1 + 1j, 2j]), (REAL, [1.5])]
        assert found["largest"] == ("ValueError", "all_reduce does not support RedOpType.MAX on complex tensors")
        assert [found[k][0] for k in ("double", "double complex", "dtypes")] == ["ValueError"] * 3
        ranks = [[(REAL, [1.0 + r]), (COMPLEX, [(1 + 1j) * (1 + r), 2j * (1 + r)])] for r in range(2)]
        assert found["gathered"] == ranks
        assert "output lists should be equal to world size" in found["few lists"][1]
        assert "invalid output size: (expected length 2, got 1)" in found["short lists"][1]
        assert "at index 1 (expected length (2), got (1))" in found["sizes"][1]
        assert all("`output_tensor_lists` of type List" in found[k][1] for k in ("no lists", "tuples"))


def test_groups_and_timeouts(tmp_path):
    for rank, found in enumerate(processes.together(2, "corner_programs", "groups", tmp_path)):
        assert found["rank"][0] == "ValueError" and "Group 3 is not registered" in found["rank"][1]
        for call in ("backend", "reduce"):
            assert found[call][0] == "ValueError" and "Process group 3 is not initialized" in found[call][1]
        assert found["ranks of others"] == [[0], 0, -rank]
        assert found["backend of others"] == (
            "gloo" if rank == 0 else ("ValueError", "Invalid process group specified")
        )
        text = "Rank 1 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. "
        text += "Please check rank 0 logs for faulty rank."
        assert found["late"] == (None if rank == 0 else ("RuntimeError", text))
        assert found["message"].startswith(f"P2POp(isend pg=0, group_src={rank}, group_dst=0,  torch.Size([2])")
        assert found["method"] is None and found["seconds"] is None and found["waited seconds"] is True
        for call in ("whole seconds", "group's seconds"):
            assert found[call][0] == "TypeError" and "of type datetime.timedelta, got 20" in found[call][1]


def test_wrapped_modules(tmp_path):
    half, full = [(REAL, [[0.5]]), (REAL, [0.5])], [(REAL, [[1.0]]), (REAL, [1.0])]
    for found in processes.together(2, "corner_programs", "wrapped", tmp_path):
        assert found["one use"] == [*full, None, None]
        assert found["by rank"] == [(REAL, [[1.5]]), (REAL, [1.5]), *half]
        assert found["then the other"] == full + full
        assert found["copied"] == found["pickled"] == half + half
        for call in ("own group copied", "own group pickled"):
            assert (
                found[call][0] == "RuntimeError" and "only supported when using DDP with the default" in found[call][1]
            )
        assert found["static late"][0] == "RuntimeError" and "before training loop starts" in found["static late"][1]
        assert found["devices"][0] == "ValueError" and "but got device_ids [0]" in found["devices"][1]
        assert found["synchronized norm"][0] == found["without a group"][0] == "ValueError"
