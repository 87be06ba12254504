"""Checkpoints of spread modules: written by some processes, read by others."""

from __future__ import annotations

import pickle

import processes
import pytest

import shim_torch as torch
import shim_torch.distributed as dist
import shim_torch.distributed.checkpoint as dcp

several = pytest.mark.skipif(not dist.is_mpi_available(), reason="the MPI library of the extra `mpi` is not installed")


def together(number, function, folder, *args):
    folder.mkdir(exist_ok=True)
    return processes.together(number, "checkpoint_programs", function, folder, *args)


@several
def test_other_processes_read_what_some_wrote(tmp_path):
    written = together(2, "write", tmp_path / "written", {})
    for number, options in ((3, {}), (1, None)):
        found = together(number, "read", tmp_path / f"read {number}", tmp_path / "written" / "checkpoint", options)
        for values, rest, missing in found:
            assert values == written[0]
            assert rest == (7, [1, "b"], [("float32", [1.0] * 3), None]) and missing == ("CheckpointException", True)


@several
def test_whole_state_dicts_of_one_process(tmp_path):
    for rank, (sizes, found, local, wrong, names) in enumerate(together(2, "given", tmp_path)):
        assert (sizes[0] > 0, sizes[1] > 0) == (rank == 0, rank == 0) and found == [True, True] and names
        assert local == "DTensor" or local == "Parameter"
        assert wrong == ("ValueError", "full_state_dict must be True when broadcast_from_rank0 is True.")


def state():
    return {"a": {"b": torch.arange(6.0).reshape(2, 3)}, "many": [[1, 2], {"x": torch.ones(2)}], 3: "three"}


def test_one_process_writes_and_reads(tmp_path):
    metadata = dcp.save(state(), checkpoint_id=tmp_path)
    assert metadata.planner_data == {
        "a.b": ("a", "b"), "many.0": ("many", 0), "many.1.x": ("many", 1, "x"), "3": ("3",)
    }  # fmt: skip
    there = {"a": {"b": torch.zeros(2, 3, dtype=torch.float64)}, "many": [None, {"x": torch.zeros(2)}], 3: None}
    dcp.load(there, checkpoint_id=tmp_path)
    assert there["a"]["b"].tolist() == [[0, 1, 2], [3, 4, 5]] and there["many"][1]["x"].tolist() == [1, 1]
    assert there["many"][0] == [1, 2] and there[3] == "three"
    with pytest.raises(dcp.CheckpointException, match=r"Size mismatch between saved torch.Size\(\[2, 3\]\)"):
        dcp.load({"a": {"b": torch.zeros(3, 2)}}, checkpoint_id=tmp_path)
    partial = {"new": torch.ones(1)}
    dcp.load(partial, checkpoint_id=tmp_path, planner=dcp.DefaultLoadPlanner(allow_partial_load=True))
    assert partial["new"].tolist() == [1]


def test_files_and_single_files(tmp_path):
    from shim_torch.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp

    many = {str(i): torch.full((4, i + 1), float(i)) for i in range(5)}
    dcp.save(many, storage_writer=dcp.FileSystemWriter(tmp_path / "a", thread_count=2))
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == [".metadata", "__0_0.distcp", "__0_1.distcp"]
    dcp.async_save(many, storage_writer=dcp.FileSystemWriter(tmp_path / "b", single_file_per_rank=False)).result()
    assert len(list((tmp_path / "b").iterdir())) == 6
    for folder in ("a", "b"):
        dcp_to_torch_save(tmp_path / folder, tmp_path / "one.pt")
        torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "back")
        there = {key: torch.zeros_like(value) for key, value in many.items()}
        dcp.load(there, checkpoint_id=tmp_path / "back")
        assert all(torch.equal(there[key], many[key]) for key in many)
    with pytest.raises(dcp.CheckpointException, match="Checkpoint already exists"):
        dcp.save(many, storage_writer=dcp.FileSystemWriter(tmp_path / "a", overwrite=False))


class Bad:
    def __reduce__(self):
        return print, ("this must not run",)


def test_metadata_runs_no_code(tmp_path, capsys):
    dcp.save({"x": torch.ones(2)}, checkpoint_id=tmp_path)
    (tmp_path / ".metadata").write_bytes(pickle.dumps(Bad()))
    with pytest.raises(dcp.CheckpointException, match=r"metadata has builtins.print"):
        dcp.load({"x": torch.zeros(2)}, checkpoint_id=tmp_path)
    assert capsys.readouterr().out == ""


def test_files_outside_the_folder_are_not_read(tmp_path):
    dcp.save({"x": torch.ones(2)}, checkpoint_id=tmp_path / "in")
    (tmp_path / "out").write_bytes((tmp_path / "in" / "__0_0.distcp").read_bytes())
    reader = dcp.FileSystemReader(tmp_path / "in")
    metadata = reader.read_metadata()
    next(iter(metadata.storage_data.values())).relative_path = "../out"
    reader.set_up_storage_reader(metadata, True)
    planner = dcp.DefaultLoadPlanner()
    planner.set_up_planner({"x": torch.zeros(2)}, metadata, True)
    with pytest.raises(ValueError, match="outside its folder"):
        reader.read_data(planner.create_local_plan(), planner)
