"""What the ranks of tests of seldom used arguments run: groups that are none, mixed dtypes, timeouts, copies of a DDP module."""

from __future__ import annotations

import copy
import pickle
import time
from datetime import timedelta
from typing import Any

from collective_programs import begin, dist, told, torch

DDP = torch.nn.parallel.DistributedDataParallel


def reduced(*tensors: Any, op: Any = dist.ReduceOp.SUM) -> Any:
    given = list(tensors)
    dist.all_reduce_coalesced(given, op)
    return given


def gathered(outputs: Any, inputs: Any) -> Any:
    dist.all_gather_coalesced(outputs, inputs)
    return outputs


def coalesced(rank: int, number: int, folder: Any) -> dict[str, Any]:
    """Several tensors at once: real beside complex ones, results by process, refusals."""
    begin(rank, number, folder)
    one, pair = torch.tensor([1.0 + rank]), torch.tensor([1 + 1j, 2j])
    zeros = [torch.zeros(1), torch.zeros(2, dtype=torch.complex64)]
    calls = {
        "real first": lambda: reduced(one.clone(), pair.clone()),
        "complex first": lambda: reduced(pair.clone(), one.clone(), op=dist.ReduceOp.AVG),
        "largest": lambda: reduced(one.clone(), pair.clone(), op=dist.ReduceOp.MAX),
        "double": lambda: reduced(one.clone(), one.double()),
        "double complex": lambda: reduced(one.double(), pair.to(torch.complex128)),
        "gathered": lambda: gathered([[z.clone() for z in zeros] for _ in range(number)], [one, pair * (rank + 1)]),
        "few lists": lambda: gathered([zeros], [one, pair]),
        "short lists": lambda: gathered([zeros[:1]] * number, [one, pair]),
        "sizes": lambda: gathered([[zeros[0], torch.zeros(1)]] * number, [one, torch.zeros(2)]),
        "dtypes": lambda: gathered([[zeros[0], torch.zeros(2).double()]] * number, [one, torch.zeros(2)]),
        "no lists": lambda: gathered([zeros[0]] * number, [one]),
        "tuples": lambda: gathered([(zeros[0],)] * number, [one]),
    }
    return {name: told(call) for name, call in calls.items()}


def groups(rank: int, number: int, folder: Any) -> dict[str, Any]:
    """What is no group, a group of others, timeouts of other types, the methods of a group."""
    begin(rank, number, folder)
    every, first = dist.new_group(list(range(number))), dist.new_group([0])
    message = dist.P2POp(dist.isend, torch.ones(2), 0)
    calls = {
        "rank": lambda: dist.get_rank(3),
        "backend": lambda: dist.get_backend(3),
        "reduce": lambda: dist.all_reduce(torch.ones(1), group=3),
        "backend of others": lambda: dist.get_backend(first),
        "ranks of others": lambda: (
            dist.get_process_group_ranks(first),
            dist.get_global_rank(first, 0),
            dist.get_rank(first),
        ),
        "message": lambda: repr(message),
        "method": lambda: every.monitored_barrier(timedelta(seconds=20), wait_all_ranks=True),
        "seconds": lambda: dist.monitored_barrier(every, 20.0),
        "whole seconds": lambda: dist.monitored_barrier(every, 20),
        "group's seconds": lambda: dist.new_group([0], timeout=20.0),
        "waited seconds": lambda: dist.all_reduce(torch.ones(1), async_op=True).wait(20.0),
    }
    found = {name: told(call) for name, call in calls.items()}
    late = told(lambda: dist.monitored_barrier(every, timedelta(seconds=1))) if rank else time.sleep(2)
    return {**found, "late": late and (late[0].replace("DistBackendError", "RuntimeError"), late[1].partition("\n")[0])}


class Either(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)

    def forward(self, x: Any, other: Any) -> Any:
        return (self.other if other else self.one)(x)


def trained(model: Any, *uses: Any) -> Any:
    """The gradients after a backward for each use, of which only the last one is reduced."""
    for use in uses[:-1]:
        with model.no_sync():
            model(torch.ones(1, 1), use).sum().backward()
    model(torch.ones(1, 1), uses[-1]).sum().backward()
    return [p.grad for p in model.parameters()]


def wrapped(rank: int, number: int, folder: Any) -> dict[str, Any]:
    """DDP modules: parameters used in some of the accumulated steps, copies and pickles, refusals."""
    begin(rank, number, folder)

    def fresh() -> Any:
        return DDP(Either(), find_unused_parameters=True)

    model, own = fresh(), DDP(Either(), process_group=dist.new_group(list(range(number))))
    used = fresh()
    trained(used, 0)
    calls = {
        "one use": lambda: trained(fresh(), 0),
        "by rank": lambda: trained(fresh(), rank % 2, 0),
        "then the other": lambda: trained(fresh(), 1, 0),
        "copied": lambda: trained(copy.deepcopy(model), rank % 2),
        "pickled": lambda: trained(pickle.loads(pickle.dumps(model)), rank % 2),
        "own group copied": lambda: copy.deepcopy(own),
        "own group pickled": lambda: pickle.dumps(own),
        "static late": lambda: used._set_static_graph(),
        "devices": lambda: DDP(Either(), device_ids=[0]),
        "synchronized norm": lambda: torch.nn.SyncBatchNorm(2)(torch.ones(2, 2)),
    }
    found = {name: told(call) for name, call in calls.items()}
    data = pickle.dumps(model)
    dist.destroy_process_group()
    return {**found, "without a group": told(lambda: pickle.loads(data))}
