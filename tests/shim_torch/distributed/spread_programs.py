"""What the ranks of the tests of copies, files and lists of spread tensors run."""

from __future__ import annotations

import copy
from typing import Any

from collective_programs import begin, dist, plain, told, torch
from tensor_programs import R, S, T, mesh_module, parallel


def files(rank: int, number: int, folder: Any) -> list[Any]:
    """Meshes and tensors that are spread, copied and saved; read again where there is a group, and where there is none."""
    begin(rank, number, folder)
    mesh = mesh_module.init_device_mesh("cpu", (2, number // 2), mesh_dim_names=("dp", "tp"))
    x = T.distribute_tensor(torch.arange(6.0).reshape(2, 3), mesh, [S(0), R])
    file = f"{folder}/saved {rank}"
    torch.save({"x": x}, file)
    again, safe = (torch.load(file, weights_only=only)["x"] for only in (False, True))
    same = copy.deepcopy(mesh)
    found = [again.device_mesh == mesh, same == mesh, plain(again.to_local()), plain((safe + x).full_tensor())]
    found += [dist.get_process_group_ranks(m.get_group("dp")) for m in (mesh, same, again.device_mesh, same["dp"])]
    found += [
        told(lambda: mesh._flatten("dp")),
        told(lambda: mesh_module.DeviceMesh.from_group([mesh.get_group(0)], "cpu", mesh.mesh)),
    ]
    dist.destroy_process_group()
    without = torch.load(file, weights_only=False)["x"]
    return [*found, plain(without.to_local()), str(without.placements)]


def lists(rank: int, number: int, folder: Any) -> list[Any]:
    """Operators of lists of tensors, and some whose results are no floating-point tensors: (result, the whole's)."""
    begin(rank, number, folder)
    mesh = mesh_module.init_device_mesh("cpu", (number,))
    found: list[Any] = []
    for place in (R, S(0), S(1)):
        whole = [torch.arange(15.0).reshape(5, 3).sub(4), torch.ones(4, 6)]
        spread = [T.distribute_tensor(x.clone(), mesh, [place]) for x in whole]
        for function in (
            lambda t: torch._foreach_add(t, 2.0), lambda t: torch._foreach_mul(t, t), lambda t: torch._foreach_norm(t),
            lambda t: torch._foreach_sub(t, [1.0, 2.0]), lambda t: torch._foreach_add_(t, 1.0) or t,
            lambda t: [x.argmax(1) for x in t], lambda t: [x.topk(2, 1)[1] for x in t], lambda t: [x.diagonal() for x in t],
        ):  # fmt: skip
            found.append(([plain(x.full_tensor()) for x in function(spread)], [plain(x) for x in function(whole)]))
        found.append((torch.equal(spread[0], spread[0]), True))
        found.append((torch.equal(spread[0], spread[0] + 1), False))
    dist.destroy_process_group()
    return found


def cast(rank: int, number: int, folder: Any) -> list[Any]:
    """Modules whose parameters are spread, in another dtype: (the same parameter, its dtypes, its gradient's, what it computes)."""
    from sharded_programs import fsdp

    begin(rank, number, folder)
    mesh = mesh_module.init_device_mesh("cpu", (number,))
    found = []
    for shard in (False, True):
        torch.manual_seed(3)
        net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
        whole, x = copy.deepcopy(net).double(), torch.ones(2, 4)
        if shard:
            fsdp.fully_shard(net, mesh=mesh)
        else:
            plan = {"0": parallel.ColwiseParallel(), "1": parallel.RowwiseParallel()}
            net = parallel.parallelize_module(net, mesh, plan)
        net(x).sum().backward()
        before = net[0].weight
        net.double()
        weight = net[0].weight
        dtypes = {str(t.dtype) for t in (weight, weight.to_local(), weight.grad, weight.grad.to_local())}
        found.append((weight is before, dtypes, float((net(x.double()) - whole(x.double())).abs().max())))
    dist.destroy_process_group()
    return found
