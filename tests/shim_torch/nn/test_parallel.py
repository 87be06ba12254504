"""torch.nn.parallel on the CPU: tensors scattered and gathered."""

import pytest

import shim_torch as torch


def test_parallel():
    p = torch.nn.parallel
    parts = p.scatter({"x": torch.arange(4)}, ["cpu", "cpu"])
    assert [d["x"].tolist() for d in parts] == [[0, 1], [2, 3]]
    assert p.gather(parts, "cpu")["x"].tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="Default process group has not been initialized"):
        p.DistributedDataParallel(torch.nn.Linear(1, 1))
