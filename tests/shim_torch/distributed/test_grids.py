"""``fully_shard`` of modules that a plan has spread already, over copies, and with its methods, in 4 processes."""

from __future__ import annotations

import processes
import pytest

import shim_torch.distributed as dist

pytestmark = pytest.mark.skipif(
    not dist.is_mpi_available(), reason="the MPI library of the extra `mpi` is not installed"
)


def test_a_plan_and_parts(tmp_path):
    for alone, several, placed, loaded, taken in processes.together(4, "grid_programs", "both", tmp_path):
        for (loss, norms), (other, others) in zip(alone, several, strict=True):
            assert abs(loss - other) < 1e-5
            assert norms == pytest.approx(others, rel=1e-4, abs=1e-5)
        assert placed == {
            "blocks.0.q.weight": ("(_StridedShard(dim=0, sf=2), Shard(dim=0))", (4, 16)),
            "blocks.0.o.weight": ("(Shard(dim=0), Shard(dim=1))", (8, 8)),
            "blocks.0.norm.weight": ("(Shard(dim=0), Replicate())", (8,)),
        }
        assert loaded and taken


def test_methods(tmp_path):
    for found in processes.together(4, "grid_programs", "controls", tmp_path):
        plain = pytest.approx(found["plain"], rel=1e-5)
        assert all(found[way] == plain for way in ("copies", "on the CPU", "prefetched"))
        assert found["pinned"] == ("RuntimeError", "Cannot access accelerator device when none is available.")
        assert found["hook"] == pytest.approx([4 * x for x in found["plain"]], rel=1e-5)
        assert found["kept"] == [None] * 4
        assert found["then reduced"] == pytest.approx(found["both"], rel=1e-5)
        assert found["whole after backward"] == "Parameter" and found["unsharded"] == ((6, 4), False)
        assert found["no part"][0] == "ValueError" and found["no part"][1].startswith("Expects FSDPModule but got")
