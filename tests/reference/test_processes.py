"""Collectives between processes beside PyTorch's gloo: the same programs in both, on 2 and 3 ranks, refusals too."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import shim_torch.distributed as dist

sys.path.append(str(Path(__file__).parents[1] / "shim_torch" / "distributed"))
import processes

PYTHON = os.environ.get("SHIM_TORCH_REFERENCE_PYTHON")
pytestmark = [
    pytest.mark.skipif(not PYTHON, reason="there is no PyTorch to compare with"),
    pytest.mark.skipif(not dist.is_mpi_available(), reason="the MPI library of the extra `mpi` is not installed"),
]


def same(ours, theirs, bound):
    """Equal; numbers within a relative bound, for sums in another order."""
    if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(same(a, b, bound) for a, b in zip(ours, theirs, strict=True))
    if isinstance(ours, (float, complex)) and isinstance(theirs, (float, complex)):
        return ours == theirs or abs(ours - theirs) <= bound * (1 + abs(theirs))
    return type(ours) is type(theirs) and ours == theirs


# What ours takes of complex tensors, and gloo has no dtype for (or an error whose text is broken).
MORE = {"gathered", "spread", "exchanged", "reduce", "reduce_scatter"}
ENDS = {"ours": {"python": sys.executable, "torch": "shim_torch"}, "theirs": {"python": PYTHON, "torch": "torch"}}
BOUNDS = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-6, "complex64": 1e-6}


@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.parametrize("program", ["reductions", "movements", "messages"])
def test_beside_gloo(program, number, tmp_path):
    found = []
    for name, python, torch in (("ours", sys.executable, "shim_torch"), ("theirs", PYTHON, "torch")):
        folder = tmp_path / name
        folder.mkdir()
        found.append(processes.together(number, "collective_programs", program, folder, python=python, torch=torch))
    different = []
    for rank, (ours, theirs) in enumerate(zip(*found, strict=True)):
        pairs = (
            [(key, ours[key], theirs[key]) for key in ours if key in theirs]
            if isinstance(ours, dict)
            else [(rank, ours, theirs)]
        )
        for key, a, b in pairs:
            dtype = key[1] if isinstance(key, tuple) else ""
            bound = 0.0 if number == 2 or program == "movements" else BOUNDS.get(dtype, 1e-14)
            more = dtype.startswith("complex") and key[0] in MORE and isinstance(b, tuple) and b[0] == "RuntimeError"
            if not same(a, b, bound) and not more:
                different.append((key, rank, a, b))
    assert not different


@pytest.mark.parametrize("number", [2, 3])
def test_gradients_beside_gloo(number, tmp_path):
    found = []
    for name, end in ENDS.items():
        (tmp_path / name).mkdir()
        found.append(processes.together(number, "gradient_programs", "differentiated", tmp_path / name, **end))
    for ours, theirs in zip(*found, strict=True):
        different = [(key, ours[key], theirs[key]) for key in ours if not same(ours[key], theirs[key], 1e-6)]
        assert not different


@pytest.mark.parametrize(
    ("program", "number", "args"),
    [
        ("meshes", 4, ()),
        ("functions", 2, ()),
        ("strided", 4, ()),
        ("placements", 3, ((5, 2), (3,))),
        ("placements", 4, ((5, 3), (2, 2))),
        ("trained", 2, (True,)),
    ],
)
def test_spread_tensors_beside_gloo(program, number, args, tmp_path):
    found = []
    for name, python, torch in (("ours", sys.executable, "shim_torch"), ("theirs", PYTHON, "torch")):
        folder = tmp_path / name
        folder.mkdir()
        found.append(processes.together(number, "tensor_programs", program, folder, *args, python=python, torch=torch))
    for ours, theirs in zip(*found, strict=True):
        if program == "trained":
            assert same([ours[1]], [theirs[1]], 1e-4)  # losses, norms of gradients, weights
            continue
        different = [(a, b) for a, b in zip(ours, theirs, strict=True) if not same(a, b, 1e-6)]
        assert not different


@pytest.mark.parametrize(("writer", "reader"), [("ours", "theirs"), ("theirs", "ours")])
@pytest.mark.parametrize(("number", "options"), [(3, {}), (1, None)])
def test_checkpoints_of_one_are_read_by_the_other(writer, reader, number, options, tmp_path):
    for name in ("written", "read"):
        (tmp_path / name).mkdir()
    written = processes.together(2, "checkpoint_programs", "write", tmp_path / "written", {}, **ENDS[writer])
    place = tmp_path / "written" / "checkpoint"
    found = processes.together(number, "checkpoint_programs", "read", tmp_path / "read", place, options, **ENDS[reader])
    for values, rest, missing in found:
        assert same(values, written[0], 0.0) and missing == ("CheckpointException", True)
        assert rest == (7, [1, "b"], [("float32", [1.0] * 3), None])


@pytest.mark.parametrize("options", [{}, {"half": True}])
def test_fully_shard_beside_pytorch(options, tmp_path):
    found = []
    for name, end in ENDS.items():
        (tmp_path / name).mkdir()
        found.append(processes.together(2, "sharded_programs", "trained", tmp_path / name, dict(options), **end))
    bound = 2e-2 if options else 1e-5
    for ours, theirs in zip(*found, strict=True):
        assert same(ours[1][:2], theirs[1][:2], bound), (ours[1][:2], theirs[1][:2])  # losses, norms of gradients
        assert same(ours[2:], theirs[2:], 0.0)  # the parts


@pytest.mark.parametrize(("program", "number"), [("uneven", 2), ("uneven", 3), ("hook_refusals", 2)])
def test_joining_and_hooks_beside_pytorch(program, number, tmp_path):
    found = []
    for name, end in ENDS.items():
        (tmp_path / name).mkdir()
        found.append(processes.together(number, "hook_programs", program, tmp_path / name, **end))
    for ours, theirs in zip(*found, strict=True):
        different = [(a, b) for a, b in zip(ours, theirs, strict=True) if not same(a, b, 1e-5)]
        assert not different


@pytest.mark.parametrize("program", ["both", "controls"])
def test_fully_shard_on_grids_beside_pytorch(program, tmp_path):
    found = []
    for name, end in ENDS.items():
        (tmp_path / name).mkdir()
        ranks = processes.together(4, "grid_programs", program, tmp_path / name, **end)
        found.append([list(r.items()) if isinstance(r, dict) else r for r in ranks])
    for ours, theirs in zip(*found, strict=True):
        different = [(a, b) for a, b in zip(ours, theirs, strict=True) if not same(a, b, 1e-5)]
        assert not different


def test_distributed_data_parallel_beside_pytorch(tmp_path):
    found = []
    for name, end in ENDS.items():
        (tmp_path / name).mkdir()
        options = {"find_unused_parameters": True, "spares": 1}
        found.append(processes.together(2, "training", "train", tmp_path / name, options, **end))
    for (gap, alike), (their_gap, theirs) in zip(*found, strict=True):
        assert gap < 1e-5 and their_gap < 1e-5 and alike and theirs


@pytest.mark.parametrize(("program", "number"), [("coalesced", 2), ("coalesced", 3), ("groups", 2), ("wrapped", 2)])
def test_seldom_used_arguments_beside_gloo(program, number, tmp_path):
    found = []
    for name, end in ENDS.items():
        (tmp_path / name).mkdir()
        found.append(processes.together(number, "corner_programs", program, tmp_path / name, **end))
    for ours, theirs in zip(*found, strict=True):
        different = [(key, ours[key], theirs[key]) for key in ours if not same(ours[key], theirs[key], 1e-6)]
        assert not different


def test_files_of_spread_tensors_beside_pytorch(tmp_path):
    found = []
    for name, end in ENDS.items():
        (tmp_path / name).mkdir()
        found.append(processes.together(2, "spread_programs", "files", tmp_path / name, **end))
    assert same(*found, 0.0), found
