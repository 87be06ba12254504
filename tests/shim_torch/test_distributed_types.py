"""The types of torch.distributed that libraries name, and collectives of one process."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

import shim_torch as torch
from shim_torch import distributed as dist


@pytest.fixture
def group():
    dist.init_process_group("gloo", store=dist.HashStore(), world_size=1, rank=0)
    yield dist.group.WORLD
    dist.destroy_process_group()


def test_functional_collectives_copy(group):
    from shim_torch.distributed import _functional_collectives as collectives

    x = torch.arange(3)
    found = collectives.all_reduce(x, "sum", group)
    assert found.tolist() == [0, 1, 2]
    assert found.data_ptr() != x.data_ptr()
    assert collectives.wait_tensor(x) is x
    out = torch.zeros(3, dtype=torch.int64)
    dist.all_to_all([out], [x])
    assert out.tolist() == [0, 1, 2]
    gathered = [None]
    dist.gather_object("a", gathered)
    assert gathered == ["a"]
    assert dist.distributed_c10d._resolve_process_group(group.group_name) is group


def test_types():
    from shim_torch.distributed._tensor import DTensor
    from shim_torch.distributed.tensor import DTensor as same
    from shim_torch.distributed.tensor.placement_types import Shard

    assert DTensor is same
    assert Shard(1) == dist.tensor.Shard(1)
    assert not isinstance(torch.nn.Linear(1, 1), dist.fsdp.FullyShardedDataParallel)
    with pytest.raises(ValueError, match="environment variable RANK expected, but not set"):
        dist.fsdp.fully_shard(torch.nn.Linear(1, 1))
    with pytest.raises(NotImplementedError, match="_symmetric_memory.empty"):
        dist._symmetric_memory.empty(3)
    style = dist.tensor.parallel.ColwiseParallel(use_local_output=False)
    assert isinstance(style, dist.tensor.parallel.ParallelStyle)
    with pytest.raises(RuntimeError, match="No device mesh is currently active"):
        dist.tensor.parallel.parallelize_module(torch.nn.Linear(1, 1), None, style)


def test_spread_over_one_process(group):
    mesh = dist.init_device_mesh("cpu", (1,))
    module = dist.tensor.parallel.parallelize_module(
        torch.nn.Linear(4, 2), mesh, dist.tensor.parallel.ColwiseParallel()
    )
    assert module.weight.placements == (dist.tensor.Shard(0),)
    x = torch.ones(3, 4)
    out = module(x)
    assert torch.equal(out, x @ module.weight.to_local().t() + module.bias.to_local())
    out.sum().backward()
    assert module.weight.grad.placements == (dist.tensor.Shard(0),) and module.weight.grad.full_tensor().eq(3).all()


def test_checkpointed_modules():
    from shim_torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
        CheckpointWrapper,
        apply_activation_checkpointing,
    )

    torch.manual_seed(0)
    plain = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    x = torch.ones(4, 2)
    plain(x).sum().backward()
    expected = [p.grad.clone() for p in plain.parameters()]
    names = list(plain.state_dict())
    plain.zero_grad()
    apply_activation_checkpointing(plain, check_fn=lambda m: isinstance(m, torch.nn.Linear))
    assert isinstance(plain[0], CheckpointWrapper)
    assert plain[0].in_features == 2
    assert sorted(plain.state_dict()) == sorted(names)
    plain(x).sum().backward()
    for p, g in zip(plain.parameters(), expected, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), g.numpy(), rtol=1e-6)


def test_stores():
    store = dist.HashStore()
    store.set("a", "1")
    assert store.get("a") == b"1"
    assert store.add("n", 3) == 3
    assert store.add("n", 2) == 5
    inner = dist.PrefixStore("p", store)
    inner.set("a", "2")
    assert store.get("p/a") == b"2"
    assert inner.check(["a"])
    store.set_timeout(timedelta(milliseconds=10))
    with pytest.raises(RuntimeError, match="Wait timeout"):
        inner.get("b")
