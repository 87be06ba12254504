"""torchrun, the launcher's interface and ``torch.multiprocessing.spawn`` with several processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from processes import DEADLINE
from test_process_groups import free_port

import shim_torch as torch
from shim_torch import distributed as dist
from shim_torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from shim_torch.distributed.launcher import LaunchConfig, elastic_launch

pytestmark = pytest.mark.skipif(
    not dist.is_mpi_available(), reason="the MPI library of the extra `mpi` is not installed"
)

SCRIPT = """
import os, sys
import shim_torch as torch
from shim_torch import distributed as dist
from shim_torch.distributed.elastic.multiprocessing.errors import record

@record
def main():
    dist.init_process_group("gloo")
    x = torch.ones(2)
    dist.all_reduce(x)
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    with open(f"{sys.argv[1]}/{attempt} {dist.get_rank()}", "w") as file:
        print(dist.get_world_size(), x.tolist(), os.environ["LOCAL_RANK"], os.environ["GROUP_RANK"], file=file)
    if sys.argv[2] == attempt and dist.get_rank() == 1:
        raise ValueError("not yet")
    print("out of", dist.get_rank(), flush=True)
    dist.barrier()
    dist.destroy_process_group()

main()
"""


def torchrun(tmp_path, *options, fails="-"):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "out").mkdir(exist_ok=True)
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "shim_torch.distributed.run", *options, str(tmp_path / "script.py")]
    return subprocess.Popen(
        [*command, str(tmp_path / "out"), fails], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def ended(*processes):
    try:
        return [(p.communicate(timeout=DEADLINE)[0], p.returncode) for p in processes]
    finally:
        for p in processes:
            p.terminate()


def said(tmp_path):
    return {file.name: file.read_text().strip() for file in (tmp_path / "out").iterdir()}


def test_restart_after_a_failure(tmp_path):
    logs = ["--log-dir", str(tmp_path / "logs"), "--tee", "3", "--rdzv-id", "job"]
    options = ["--nproc-per-node", "2", "--max-restarts", "1", "--master-port", str(free_port()), *logs]
    ((output, code),) = ended(torchrun(tmp_path, *options, fails="0"))
    assert code == 0, output
    line = "2 [2.0, 2.0]"
    assert said(tmp_path) == {f"{attempt} {rank}": f"{line} {rank} 0" for attempt in (0, 1) for rank in (0, 1)}
    assert "[default0]:out of 0\n" in output and "ValueError: not yet" in output
    assert "failed (exitcode: 1) local_rank: 1 (pid: " in output  # told before the restart
    (folder,) = (tmp_path / "logs").iterdir()
    assert folder.name.startswith("job_") and (folder / "attempt_1/1/stdout.log").read_text() == "out of 1\n"
    (told,) = folder.glob("attempt_0/*/error.json")
    assert "not yet" in json.loads(told.read_text())["message"]["message"]


def test_lines_may_begin_otherwise_and_fewest_nodes_are_not_above_most(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "<${role_name} ${rank}> ")
    ((output, code),) = ended(
        torchrun(tmp_path, "--standalone", "--nproc-per-node", "2", "--tee", "3", "--role", "job")
    )
    assert code == 0 and "<job 0> out of 0\n" in output, output
    ((output, code),) = ended(torchrun(tmp_path, "--nnodes", "2:1"))
    assert code and "min_nodes must be > 0 and <= max_nodes, got min_nodes=2, max_nodes=1" in output


def test_a_failure_is_told(tmp_path):
    ((output, code),) = ended(torchrun(tmp_path, "--standalone", "--nproc-per-node", "2", fails="0"))
    assert code == 1 and "ChildFailedError" in output and "ValueError: not yet" in output
    assert "rank      : 1 (local_rank: 1)" in output and "exitcode  : 1" in output


@pytest.mark.parametrize("backend", ["static", "c10d"])
def test_two_nodes(backend, tmp_path):
    port = free_port()
    meet = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{port}", "--rdzv-id", "x"]
    nodes = [
        torchrun(tmp_path, "--nnodes", "2", "--nproc-per-node", str(n + 1), *(meet if backend == "c10d" else [
            "--node-rank", str(n), "--master-addr", "localhost", "--master-port", str(port)]))
        for n in (0, 1)
    ]  # fmt: skip
    assert [code for _, code in ended(*nodes)] == [0, 0]
    found = said(tmp_path)
    assert sorted(found) == ["0 0", "0 1", "0 2"] and all(text.startswith("3 [3.0, 3.0]") for text in found.values())
    assert sorted(text[-3:] for text in found.values()) in (["0 0", "0 1", "1 1"], ["0 0", "0 1", "1 0"])


def reduced(amount):
    dist.init_process_group("gloo")
    x = torch.full((1,), float(amount))
    dist.all_reduce(x)
    if amount < 0:
        raise ValueError("negative")
    return dist.get_rank(), x.item()


def test_functions_as_workers():
    config = LaunchConfig(
        1, 1, 2, run_id="r", rdzv_backend="c10d", rdzv_endpoint=f"localhost:{free_port()}", max_restarts=0
    )
    assert elastic_launch(config, reduced)(3) == {0: (0, 6.0), 1: (1, 6.0)}
    with pytest.raises(ChildFailedError, match="ValueError: negative"):
        elastic_launch(config, reduced)(-1)


def spawned(rank, path):
    dist.init_process_group("gloo", init_method=f"file://{path}/store", rank=rank, world_size=2)
    x = torch.ones(1)
    dist.all_reduce(x)
    with open(f"{path}/{rank}", "w") as file:
        file.write(str(x.item()))


def test_spawn(tmp_path):
    torch.multiprocessing.spawn(spawned, (str(tmp_path),), nprocs=2)
    assert [(tmp_path / str(rank)).read_text() for rank in (0, 1)] == ["2.0", "2.0"]
