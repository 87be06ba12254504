"""What the ranks of the tests of ``fully_shard`` on grids run: with a plan of tensor parallelism, with copies, with its methods."""

from __future__ import annotations

import importlib
from typing import Any

from collective_programs import begin, dist, plain, told, torch
from tensor_programs import F, Model, T, mesh_module, nn, parallel, plan

fsdp: Any = importlib.import_module(f"{dist.__name__}.fsdp")
dcp: Any = importlib.import_module(f"{dist.__name__}.checkpoint")
states: Any = importlib.import_module(f"{dist.__name__}.checkpoint.state_dict")


def _spread(mesh: Any) -> Any:
    torch.manual_seed(1)
    model = parallel.parallelize_module(Model(), mesh["tp"], plan(True))
    for block in model.blocks:
        fsdp.fully_shard(block, mesh=mesh["dp"])
    return fsdp.fully_shard(model, mesh=mesh["dp"])


def both(rank: int, number: int, folder: Any) -> list[Any]:
    """A plan in each pair of processes, and parts over the pairs: losses, norms, placements, the whole, its files."""
    begin(rank, number, folder)
    mesh = mesh_module.init_device_mesh("cpu", (number // 2, 2), mesh_dim_names=("dp", "tp"))
    data = torch.randint(0, 16, (3, number, 8), generator=torch.Generator().manual_seed(3))
    found: list[Any] = []
    for several in (False, True):
        torch.manual_seed(1)
        model = _spread(mesh) if several else Model()
        optimizer, seen = torch.optim.AdamW(model.parameters(), lr=0.01), []
        for tokens in data:
            mine = tokens.chunk(number // 2)[mesh.get_local_rank("dp")] if several else tokens
            with parallel.loss_parallel():
                loss = F.cross_entropy(model(mine).flatten(0, 1), mine.roll(1, 1).flatten())
                loss.backward()
            loss = loss.full_tensor().detach() if several else loss.detach()
            if several:
                dist.all_reduce(loss, dist.ReduceOp.AVG)
            grads = [p.grad.full_tensor() if several else p.grad for p in model.parameters()]
            seen.append((float(loss), [float(g.norm()) for g in grads]))
            optimizer.step()
            optimizer.zero_grad()
        found.append(seen)
    placed = {n: (str(p.placements), tuple(p.to_local().shape)) for n, p in model.named_parameters()}
    found.append({n: placed[n] for n in ("blocks.0.q.weight", "blocks.0.o.weight", "blocks.0.norm.weight")})
    options = states.StateDictOptions(full_state_dict=True)
    whole = {n: plain(v) for n, v in states.get_model_state_dict(model, options=options).items()}
    dcp.save({"model": model.state_dict()}, checkpoint_id=folder / "checkpoint")
    other = _spread(mesh)
    parts = other.state_dict()
    dcp.load({"model": parts}, checkpoint_id=folder / "checkpoint")
    other.load_state_dict(parts)
    found.append({n: plain(p.full_tensor().detach()) for n, p in other.named_parameters()} == whole)
    third = _spread(mesh)
    values = {n: torch.tensor(v) for n, (_, v) in whole.items()}
    states.set_model_state_dict(third, values, options=options)
    found.append({n: plain(p.full_tensor().detach()) for n, p in third.named_parameters()} == whole)
    dist.destroy_process_group()
    return found


def _small(mesh: Any, **more: Any) -> Any:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
    for layer in (model[0], model[2]):
        fsdp.fully_shard(layer, mesh=mesh, **more)
    return fsdp.fully_shard(model, mesh=mesh, **more)


def _norms(model: Any) -> list[Any]:
    return [None if p.grad is None else float(p.grad.full_tensor().double().square().sum()) for p in model.parameters()]


def _backward(model: Any, rank: int, scale: float = 1.0) -> list[Any]:
    model(torch.arange(8.0).reshape(2, 4).add(rank).sin() * scale).square().sum().backward()
    return _norms(model)


def controls(rank: int, number: int, folder: Any) -> dict[str, Any]:
    """Norms of gradients with each of the methods that say how they are reduced and gathered."""
    begin(rank, number, folder)
    row = mesh_module.init_device_mesh("cpu", (number,))
    grid = mesh_module.init_device_mesh("cpu", (2, number // 2), mesh_dim_names=("copies", "parts"))
    found: dict[str, Any] = {"plain": _backward(_small(row), rank), "copies": _backward(_small(grid), rank)}
    found["on the CPU"] = _backward(_small(row, offload_policy=fsdp.CPUOffloadPolicy(pin_memory=False)), rank)
    found["pinned"] = told(lambda: _small(row, offload_policy=fsdp.CPUOffloadPolicy()))
    model = _small(row)
    for layer in (model[0], model[2]):
        layer.set_force_sum_reduction_for_comms(True)
        layer.set_all_reduce_hook(lambda gradients: gradients.mul_(2))
    found["hook"] = _backward(model, rank)
    model = _small(grid)
    model.set_requires_all_reduce(False)
    found["kept"] = _backward(model, rank)
    model.set_requires_all_reduce(True)
    found["then reduced"] = _backward(model, rank, 2.0)
    model = _small(grid)
    _backward(model, rank)
    found["both"] = _backward(model, rank, 2.0)
    model = _small(row)
    model[0].set_modules_to_forward_prefetch([model[2]])
    model[2].set_modules_to_backward_prefetch([model[0]])
    model.set_reshard_after_backward(False)
    model(torch.arange(8.0).reshape(2, 4).add(rank).sin()).square().sum().backward()
    found["whole after backward"] = type(model[0].weight).__name__
    model[0].reshard(), model[2].reshard()
    found["prefetched"] = _norms(model)
    found["no part"] = told(lambda: model.set_modules_to_forward_prefetch([nn.Linear(1, 1)]))
    handle = model[0].unshard(async_op=True)
    handle.wait()
    found["unsharded"] = tuple(model[0].weight.shape), isinstance(model[0].weight, T.DTensor)
    dist.barrier()
    dist.destroy_process_group()
    return found
