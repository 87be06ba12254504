"""Backends, stores and rendezvous of torch.distributed, for the one process that there is."""

from __future__ import annotations

from datetime import timedelta

import pytest

import shim_torch as torch
import shim_torch.distributed.autograd as dist_autograd
from shim_torch import distributed as dist
from shim_torch.distributed.constants import default_pg_timeout
from shim_torch.distributed.rendezvous import rendezvous


def test_backends_are_lower_case_strings():
    assert dist.Backend("NCCL") == "nccl" == dist.Backend.NCCL and type(dist.Backend("NCCL")) is str
    assert dist.Backend("Mine") == "mine" and dist.Backend.default_device_backend_map["cpu"] == "gloo"
    with pytest.raises(ValueError, match="Backend constructor parameter must be string-ish"):
        dist.Backend(3)
    with pytest.raises(NotImplementedError, match="no backends of others"):
        dist.Backend.register_backend("mine", print)


def test_stores():
    store = dist.TCPStore("localhost", 0, 1, True)
    store.set("a", "1")
    inner = dist.PrefixStore("p", store)
    inner.set("a", b"2")
    assert (store.get("a"), inner.get("a"), store.get("p/a")) == (b"1", b"2", b"2")
    assert isinstance(store, dist.Store) and torch._C._distributed_c10d.Store is dist.Store


def test_rendezvous():
    store, rank, size = next(iter(rendezvous("tcp://localhost:0", 0, 1)))
    assert (rank, size) == (0, 1) and isinstance(store, dist.Store)
    with pytest.raises(ValueError, match="file:// rendezvous: world size parameter missing"):
        rendezvous("file:///tmp/x?rank=1")
    with pytest.raises(RuntimeError, match="No rendezvous handler for zzz://"):
        rendezvous("zzz://x")
    assert default_pg_timeout == timedelta(minutes=30)


def test_there_are_no_gradients_through_remote_calls():
    # torchopt asks for the module and whether it is available
    assert dist_autograd.is_available() is False and dist.rpc.is_available() is False
    with pytest.raises(NotImplementedError, match="distributed.autograd.context"):
        dist_autograd.context()
    with pytest.raises(NotImplementedError, match="distributed.autograd.backward"):
        dist_autograd.backward(1, [torch.ones(1)])
