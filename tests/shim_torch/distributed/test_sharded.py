"""``fully_shard`` in 2, 3 and 4 processes, beside one process that has all their batches."""

from __future__ import annotations

import processes
import pytest
from collective_programs import torch

import shim_torch.distributed as dist

pytestmark = pytest.mark.skipif(
    not dist.is_mpi_available(), reason="the MPI library of the extra `mpi` is not installed"
)


@pytest.mark.parametrize(
    ("number", "options"),
    [
        (2, {}),
        (4, {"copies": True, "reshard_after_forward": False}),
        (3, {"accumulate": True}),
        (2, {"checkpointed": True}),
        (2, {"half": True}),
    ],
)
def test_training_is_that_of_one_process(number, options, tmp_path):
    bound = 0.05 if "half" in options else 1e-5
    for rank, found in enumerate(processes.together(number, "sharded_programs", "trained", tmp_path, options)):
        alone, spread, parts, types = found
        for one, other in zip(alone[:2], spread[:2], strict=True):
            assert len(one) == len(other) > 0 and all(abs(a - b) < bound for a, b in zip(one, other, strict=True))
        assert alone[2].keys() == spread[2].keys()
        for name, (dtype, values) in alone[2].items():
            assert spread[2][name][0] == dtype == "float32"
            gap = (torch.tensor(values) - torch.tensor(spread[2][name][1])).abs().max()
            assert gap < (0.2 if "half" in options else 1e-5), name
        assert types == ("FSDPModel", True, True)
        pieces, at = (2, rank % 2) if options.get("copies") else (number, rank)
        rows = torch.arange(17).chunk(pieces)[at].numel()
        placed = "(Replicate(), Shard(dim=0))" if options.get("copies") else "(Shard(dim=0),)"
        assert parts["embed.weight"] == ((rows, 6), placed)


def test_refusals(tmp_path):
    for container, scalar, twice, offloaded in processes.together(2, "sharded_programs", "refusals", tmp_path):
        assert container[0] == "ValueError" and "containers that do not implement forward" in container[1]
        assert scalar[1].startswith("fully_shard doesn't support scalar parameters. Change scale to a 1D tensor")
        assert twice[0] == "AssertionError" and "only be applied to a module once" in twice[1]
        assert offloaded == ("RuntimeError", "Cannot access accelerator device when none is available.")


def test_what_runs_forward_last_is_kept_for_backward(tmp_path):
    for gathers, parts, gaps in processes.together(2, "sharded_programs", "kept", tmp_path):
        assert gathers == [6, 5, 8, 5] and all(parts) and max(gaps) < 1e-5, (gathers, gaps)
