"""What the ranks of the tests of state dicts run whose group has NCCL alone."""

from __future__ import annotations

from typing import Any

from collective_programs import torch
from device_programs import begin, here


def states_of_the_first(rank: int, number: int, folder: Any) -> Any:
    """A state with tensors of the CPU that all get from the first process, in a group that has NCCL alone."""
    from shim_torch.distributed.checkpoint.state_dict import spread_states

    begin(rank, number, folder)
    like = {"step": torch.tensor(0.0), "moment": here(torch.zeros(3)), "groups": [{"lr": 0.0, "rate": torch.zeros(2)}]}
    given: dict[str, Any] = {}
    if rank == 0:
        given = {"step": torch.tensor(4.0), "moment": torch.arange(3.0), "new": torch.ones(1, dtype=torch.bool)}
        given["groups"] = [{"lr": 0.5, "rate": here(torch.ones(2))}]
    found = spread_states.parts_of(given, like, True)
    group = found["groups"][0]
    return [(t.device.type, t.tolist()) for t in (found["step"], found["moment"], found["new"], group["rate"])], group[
        "lr"
    ]
