"""DistributedDataParallel in 2 and 3 processes, beside one process that has all their batches."""

from __future__ import annotations

import processes
import pytest

import shim_torch.distributed as dist

pytestmark = pytest.mark.skipif(
    not dist.is_mpi_available(), reason="the MPI library of the extra `mpi` is not installed"
)


@pytest.mark.parametrize(
    ("number", "options"),
    [
        (2, {"find_unused_parameters": True}),
        (3, {"find_unused_parameters": True, "spares": 1, "gradient_as_bucket_view": True}),
        (2, {"find_unused_parameters": True, "bucket_cap_mb": 0.001}),
        (2, {"static_graph": True, "spares": 2}),
        (2, {"find_unused_parameters": True, "hook": True}),
        (2, {"find_unused_parameters": True, "in_place": True, "spares": 2}),
    ],
)
def test_gradients_are_those_of_one_process(number, options, tmp_path):
    for gap, same in processes.together(number, "training", "train", tmp_path, options):
        assert gap < 1e-5 and same


def test_refusals(tmp_path):
    for rank, (shapes, unused, batches, sync) in enumerate(processes.together(2, "training", "refusals", tmp_path)):
        assert shapes[0] == "RuntimeError" and f"[{rank}]: params[0] in this process" in shapes[1]
        assert unused[0] == "RuntimeError" and f"did not receive grad for rank {rank}: 6 7" in unused[1]
        assert batches == 2.0 and sync[0] == "ValueError"
