"""What programs of one process use: torchrun, ZeroRedundancyOptimizer, DistributedDataParallel in Join."""

from __future__ import annotations

import json
import os
import socket
import sys

import pytest

import shim_torch as torch
from shim_torch import distributed as dist
from shim_torch.distributed import run
from shim_torch.distributed.elastic.multiprocessing.errors import record

SCRIPT = """
import os, sys
import shim_torch as torch
assert __name__ == "__main__"
torch.distributed.init_process_group("gloo")
x = torch.ones(2)
torch.distributed.all_reduce(x)
with open(sys.argv[1], "w") as file:
    print(sys.argv[2:], x.tolist(), os.environ["LOCAL_RANK"], torch.distributed.get_world_size(), file=file)
torch.distributed.destroy_process_group()
"""


@pytest.mark.parametrize("options", [["--nproc-per-node", "1"], ["--standalone", "--nproc_per_node=1", "--nnodes=1:1"]])
def test_torchrun_runs_the_script(options, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    (tmp_path / "script.py").write_text(SCRIPT)
    run.main(
        ["--master-port", str(free_port()), *options, str(tmp_path / "script.py"), str(tmp_path / "out"), "--lr", "1"]
    )
    assert (tmp_path / "out").read_text() == "['--lr', '1'] [1.0, 1.0] 0 1\n"


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_torchrun_refuses():
    with pytest.raises(ValueError, match="Unsupported nproc_per_node value: many"):
        run.main(["--nproc-per-node", "many", "script.py"])
    with pytest.raises(NotImplementedError, match="the rendezvous backend etcd"):
        run.main(["--rdzv-backend", "etcd", "script.py"])


def test_recorded_errors(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))

    @record
    def main(value):
        if value:
            raise ValueError("no")
        return 3

    assert main(0) == 3
    with pytest.raises(ValueError, match="no"):
        main(1)
    assert json.loads((tmp_path / "error.json").read_text())["message"]["message"] == "ValueError: no"


def test_zero_is_the_wrapped_optimizer():
    from shim_torch.distributed.algorithms.join import Join
    from shim_torch.distributed.optim import ZeroRedundancyOptimizer
    from shim_torch.nn.parallel import DistributedDataParallel

    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        ZeroRedundancyOptimizer([torch.nn.Parameter(torch.ones(1))], torch.optim.SGD, lr=0.1)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        torch.manual_seed(0)
        layer = torch.nn.Linear(3, 2)
        plain = torch.nn.Linear(3, 2)
        plain.load_state_dict(layer.state_dict())
        model = DistributedDataParallel(layer, find_unused_parameters=True)
        sharded = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.1)
        other = torch.optim.Adam(plain.parameters(), lr=0.1)
        with Join([model, sharded]):
            for step in range(3):
                for module, optimizer in ((model, sharded), (plain, other)):
                    optimizer.zero_grad()
                    module(torch.full((2, 3), 0.5 + step)).square().sum().backward()
                    optimizer.step()
        assert torch.equal(layer.weight, plain.weight) and torch.equal(layer.bias, plain.bias)
        sharded.consolidate_state_dict()
        assert sharded.state_dict()["state"].keys() == other.state_dict()["state"].keys()
        sharded.param_groups[0]["lr"] = 0.0
        before = layer.weight.detach().clone()
        sharded.step()
        assert torch.equal(layer.weight, before)
        sharded.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))]})
        assert len(sharded.param_groups) == len(sharded.optim.param_groups) == 2
        sharded.load_state_dict(sharded.state_dict())
        with pytest.raises(TypeError, match="Communication hook must be callable"):
            model.register_comm_hook(None, 3)
    finally:
        dist.destroy_process_group()
