"""What the ranks of the tests of checkpoints run: they write, read and compare state dicts of spread modules."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from collective_programs import begin, dist, plain, told, torch
from sharded_programs import Model, data, spread

F = torch.nn.functional
dcp: Any = importlib.import_module(f"{dist.__name__}.checkpoint")
states: Any = importlib.import_module(f"{dist.__name__}.checkpoint.state_dict")


def made(seed: int, number: int, options: Any, steps: int = 2, rank: int = 0) -> tuple[Any, Any]:
    torch.manual_seed(seed)
    model = Model()
    model.spare.requires_grad_(False)  # it is not used, and would have no state
    model.register_buffer("counts", torch.arange(4.0) + seed)
    if options is not None:
        model = spread(model, "cpu", number, options)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01 * seed)
    for step in range(steps):
        tokens, targets = data(rank, number, step)
        F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


def values(model: Any, optimizer: Any) -> Any:
    """All that is in a module and its optimizer, whole."""
    full = states.StateDictOptions(full_state_dict=True)
    model_state, state = states.get_state_dict(model, optimizer, options=full)
    return (
        {k: plain(v) for k, v in model_state.items()},
        {name: {k: plain(v) for k, v in s.items()} for name, s in state["state"].items()},
        [{k: g[k] for k in ("lr", "betas", "params")} for g in state["param_groups"]],
    )


def state_of(model: Any, optimizer: Any) -> dict[str, Any]:
    model_state, state = states.get_state_dict(model, optimizer)
    return {
        "model": model_state,
        "optimizer": state,
        "step": 7,
        "more": {"a": (1, "b"), "lists": [torch.ones(3), None]},
    }


def write(rank: int, number: int, folder: Any, options: Any) -> Any:
    begin(rank, number, folder)
    model, optimizer = made(1, number, options, rank=rank)
    dcp.save(state_of(model, optimizer), checkpoint_id=Path(folder) / "checkpoint")
    found = values(model, optimizer)
    dist.destroy_process_group()
    return found


def read(rank: int, number: int, folder: Any, place: Any, options: Any) -> Any:
    begin(rank, number, folder)
    model, optimizer = made(3, number, options, steps=1, rank=rank)
    state = state_of(model, optimizer)
    state["step"], state["more"] = 0, {"a": None, "lists": [torch.zeros(3), 5]}
    dcp.load(state, checkpoint_id=place)
    states.set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    found = values(model, optimizer)
    rest = state["step"], plain(state["more"]["a"]), [plain(v) for v in state["more"]["lists"]]
    missing = "", ""
    try:
        dcp.load({"nothing": torch.zeros(2)}, checkpoint_id=place)
    except dcp.CheckpointException as error:  # no Exception
        missing = type(error).__name__, str(error)
    dist.destroy_process_group()
    return found, rest, (missing[0], "Missing key in checkpoint state_dict: nothing." in missing[1])


def given(rank: int, number: int, folder: Any) -> Any:
    """Whole state dicts on one process, and back to all."""
    begin(rank, number, folder)
    options = states.StateDictOptions(full_state_dict=True, cpu_offload=True)
    first = made(1, number, {}, rank=rank)
    state = states.get_state_dict(*first, options=options)
    sizes = len(state[0]), len(state[1])
    found = []
    for flat in (False, True):
        state = states.get_state_dict(
            *first,
            options=states.StateDictOptions(full_state_dict=True, cpu_offload=True, flatten_optimizer_state_dict=flat),
        )
        other = made(3, number, {}, steps=1, rank=rank)
        back = states.StateDictOptions(
            full_state_dict=True, broadcast_from_rank0=True, flatten_optimizer_state_dict=flat
        )
        states.set_state_dict(*other, model_state_dict=state[0], optim_state_dict=state[1], options=back)
        found.append(values(*other) == values(*first))
        local = type(next(other[0].parameters())).__name__
    wrong = told(
        lambda: states.get_model_state_dict(first[0], options=states.StateDictOptions(broadcast_from_rank0=True))
    )
    wrapped = torch.nn.parallel.DistributedDataParallel(Model())
    names = list(states.get_model_state_dict(wrapped)) == list(Model().state_dict())
    dist.destroy_process_group()
    return sizes, found, local, wrong, names
