"""Meshes, tensors that are spread over them, and plans of modules, in 2 and 4 processes."""

from __future__ import annotations

import processes
import pytest
from collective_programs import plain, torch

import shim_torch.distributed as dist

pytestmark = pytest.mark.skipif(
    not dist.is_mpi_available(), reason="the MPI library of the extra `mpi` is not installed"
)


def together(number, function, folder, *args):
    return processes.together(number, "tensor_programs", function, folder, *args)


def test_meshes(tmp_path):
    for rank, found in enumerate(together(4, "meshes", tmp_path)):
        row, column = divmod(rank, 2)
        expected = [
            "DeviceMesh((dp=2, tp=2), 'cpu', stride=(2, 1))", (2, 2), 4, (row, column), column, [[0, 1], [2, 3]],
            "DeviceMesh((tp=2), 'cpu', stride=(1,))", [2 * row, 2 * row + 1], [column, column + 2],
            "DeviceMesh((all=4), 'cpu', stride=(1,))", [0, 1, 2, 3], ("float32", [float(4 * row + 1)]),
        ]  # fmt: skip
        assert plain(found[:12]) == plain(expected)
        texts = [text for _, text in found[12:]]
        assert "Invalid mesh_dim_names ('x',) specified. Valid mesh_dim_names are ['dp', 'tp', 'all']." in texts[0]
        assert "Mesh dim indices should be in ascending order." in texts[1]
        assert "mesh_dim" in texts[2] and "get_all_groups" in texts[3]
        assert texts[4] == "Mesh should not be bigger than default world size 4, but found 5 ranks!"
        assert "should have same length" in texts[5]


@pytest.mark.parametrize(("number", "shape", "dims"), [(3, (5, 2), (3,)), (4, (5, 3), (2, 2))])
def test_placements(number, shape, dims, tmp_path):
    found = together(number, "placements", tmp_path, shape, dims)
    whole = torch.arange(shape[0] * shape[1], dtype=torch.float32).reshape(shape)
    for rank, f in enumerate(found):
        assert all(case[-1] for case in f), [case for case in f if not case[-1]]
        if len(dims) > 1:
            continue
        for _, new, local, _ in (case for case in f if len(case) == 4):
            parts = [whole] * number if "Replicate" in new else torch.chunk(whole, number, 0 if "dim=0" in new else 1)
            wanted = parts[rank] if rank < len(parts) else None
            assert local == plain(wanted) if wanted is not None else 0 in torch.tensor(local[1]).shape


@pytest.mark.parametrize("number", [2, 4])
def test_packed_weights(number, tmp_path):
    """Each process has a run of each part of a packed weight, and what it has is the optimizer's as it lies."""
    for rank, found in enumerate(together(number, "strided", tmp_path)):
        for rows, groups in ((8, 2), (24, 3), (16, 1)):
            part, complete, whole, columns, alike, stepped, placed, norm = (found.pop(0) for _ in range(8))
            every = torch.arange(rows * 3.0).reshape(rows, 3)
            if groups > 1:
                mine = torch.cat([group.chunk(number)[rank] for group in every.chunk(groups)])
                assert part == plain(mine) and placed == (f"(_StridedShard(dim=0, sf={groups}),)", False, False)
            assert complete and alike and whole == plain(every)
            new = every - 0.1 * (0.01 * every + (every > 0))  # the first step, of a gradient above zero
            assert torch.allclose(torch.tensor(stepped[1]), new, atol=1e-5)
            assert abs(norm - float(new.square().sum())) < 1e-4 * norm
            if groups > 1:
                assert columns == plain(every.chunk(number, 1)[rank] if rank < 3 else every[:, :0])
        assert not found


@pytest.mark.parametrize("number", [2])
def test_operators(number, tmp_path):
    for ran, different in together(number, "operators", tmp_path):
        assert ran > 100 and not different


def test_copies_and_files(tmp_path):
    for rank, found in enumerate(processes.together(2, "spread_programs", "files", tmp_path)):
        part, whole = [[[0.0, 1.0, 2.0]], [[3.0, 4.0, 5.0]]][rank], [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
        assert found[:4] == [True, True, ("float32", part), ("float32", whole)]
        assert found[4:8] == [[0, 1]] * 4
        assert found[8][0] == found[9][0] == "ValueError" and "dp already exists for submesh" in found[8][1]
        assert found[10:] == [("float32", part), "(Shard(dim=0), Replicate())"]


def test_lists_of_tensors(tmp_path):
    for found in processes.together(2, "spread_programs", "lists", tmp_path):
        assert len(found) == 30
        assert all(ours == wanted for ours, wanted in found)


def test_modules_are_cast(tmp_path):
    found = processes.together(2, "spread_programs", "cast", tmp_path)
    same = [all(a[1:] == b[1:] for a, b in zip(ranks, found[0], strict=True)) for ranks in found]
    assert all(same), found
    for kept, dtypes, gap in found[0]:
        assert kept and dtypes == {"torch.float64"} and gap < 1e-12


@pytest.mark.parametrize(("number", "sequence"), [(2, True), (4, False)])
def test_training_of_a_plan(number, sequence, tmp_path):
    for alone, spread in together(number, "trained", tmp_path, sequence):
        for (loss, norms), (other, others) in zip(alone[0], spread[0], strict=True):
            assert abs(loss - other) < 1e-5
            assert all(abs(a - b) < 1e-5 + 1e-4 * a for a, b in zip(norms, others, strict=True)), (norms, others)
        assert all(abs(a - b) < 1e-3 for a, b in zip(alone[1], spread[1], strict=True))


def test_refusals(tmp_path):
    for text, found, norm in together(2, "refused", tmp_path):
        assert text.startswith("DTensor(local_tensor=tensor(") and text.endswith("placements=(Shard(dim=0),))")
        mixed, partial, sharded, unknown, style, inplace = found
        assert mixed[0] == "RuntimeError" and "got mixed torch.Tensor and DTensor" in mixed[1]
        assert partial[1].startswith("Can not redistribute from S(0) to P(sum)")
        assert sharded == ("RuntimeError", "Sharding dim 3 greater than tensor ndim 1 for placement number 0")
        assert unknown[0] == "NotImplementedError" and "fft" in unknown[1]
        assert style == ("NotImplementedError", "ColwiseParallel currently only support nn.Linear and nn.Embedding!")
        assert inplace is True and abs(norm - (4 * 12) ** 0.5) < 1e-5


def test_functions_of_parts(tmp_path):
    rows = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]
    for found in together(2, "functions", tmp_path):
        assert found == [
            ("float32", [[2 * a for a in row] for row in rows]), ("float32", [[2.0] * 2] * 4), "(Shard(dim=0),)", "ValueError",
            "(Shard(dim=1),)", ("float32", rows[::-1]), ("float32", [[a + 1 for a in row] for row in rows]),
        ]  # fmt: skip
