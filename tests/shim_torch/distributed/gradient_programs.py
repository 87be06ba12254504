"""What the ranks of the tests of collectives with gradients run. ``torch`` is ours, or PyTorch beside it."""

from __future__ import annotations

import importlib
from typing import Any

from collective_programs import begin, dist, plain, told, torch

fc: Any = importlib.import_module(f"{dist.__name__}._functional_collectives")
nf: Any = importlib.import_module(f"{dist.__name__}.nn.functional")


def _functional(rank: int, number: int) -> dict[str, Any]:
    group, mesh = dist.group.WORLD, importlib.import_module(f"{dist.__name__}.device_mesh")
    sent = [1 + (r == 1) for r in range(number)]  # rows for each process: two for the second
    got = [sent[rank]] * number
    grid = mesh.init_device_mesh("cpu", (number,), mesh_dim_names=("all",))
    ops, name, wait = torch.ops._c10d_functional, group.group_name, torch.ops._c10d_functional.wait_tensor
    return {
        "all_reduce": lambda x: fc.all_reduce(x, "sum", group),
        "all_reduce of a mesh": lambda x: fc.all_reduce(x, "sum", (grid, 0)),
        "all_reduce max": lambda x: fc.all_reduce(x, "max", grid),
        "all_gather": lambda x: fc.all_gather_tensor(x, 0, group),
        "all_gather in columns": lambda x: fc.all_gather_tensor_autograd(x, 1, group),
        "reduce_scatter": lambda x: fc.reduce_scatter_tensor(x, "sum", 0, group),
        "reduce_scatter in columns": lambda x: fc.reduce_scatter_tensor_autograd(x.t(), "sum", 1, group),
        "reduce_scatter avg": lambda x: fc.reduce_scatter_tensor_autograd(x, "avg", 0, group),
        "all_to_all": lambda x: fc.all_to_all_single_autograd(x, None, None, group),
        "all_to_all, uneven": lambda x: fc.all_to_all_single_autograd(x[: number + 1], got, sent, group),
        "waited": lambda x: fc.wait_tensor(fc.all_reduce(x, "sum", group)),
        "coalesced": lambda x: fc.all_reduce_coalesced([x, x * 2], "sum", group),
        "gathered, coalesced": lambda x: fc.all_gather_into_tensor_coalesced([x, x * 2], group),
        "scattered, coalesced": lambda x: fc.reduce_scatter_tensor_coalesced([x, x.t() * 2], "sum", [0, 1], group),
        "permuted": lambda x: fc.permute_tensor(x[:, 0], [*range(1, number), 0], group),
        "operators": lambda x: wait(ops.all_reduce(wait(ops.all_gather_into_tensor(x, number, name)), "sum", name)),
    }


def _with_gradients(rank: int, number: int) -> dict[str, Any]:
    parts = lambda x: [x * (r + 1) for r in range(number)]
    empty = lambda: [torch.empty(2 * number, 2) for _ in range(number)]
    sent = [1 + (r == 1) for r in range(number)]
    got = [sent[rank]] * number
    return {
        "all_reduce": lambda x: nf.all_reduce(x),
        "all_reduce max": lambda x: nf.all_reduce(x, op=dist.ReduceOp.MAX),
        "broadcast": lambda x: nf.broadcast(x, 1),
        "gather": lambda x: nf.gather(x, 1),
        "scatter": lambda x: nf.scatter(parts(x), 1),
        "reduce": lambda x: nf.reduce(x, 1) * float(rank == 1),  # the others' is not specified
        "reduce_scatter": lambda x: nf.reduce_scatter(torch.empty(2 * number, 2), parts(x)),
        "all_gather": lambda x: nf.all_gather(x),
        "all_to_all": lambda x: nf.all_to_all(empty(), parts(x)),
        "all_to_all_single": lambda x: nf.all_to_all_single(torch.empty(2 * number, 2), x),
        "uneven": lambda x: nf.all_to_all_single(torch.empty(sum(got), 2), x[: number + 1], got, sent),
    }


def differentiated(rank: int, number: int, folder: Any) -> dict[Any, Any]:
    """What each collective gives, and the gradient of a weighted sum of it; the weights are each process's own."""
    begin(rank, number, folder)
    found: dict[Any, Any] = {}
    for kind, calls in (("functional", _functional(rank, number)), ("nn", _with_gradients(rank, number))):
        for name, call in calls.items():

            def both(call: Any = call) -> Any:
                x = torch.arange(4.0 * number).reshape(2 * number, 2).add(10 * rank).requires_grad_()
                made = call(x)
                made = list(made) if isinstance(made, (list, tuple)) else [made]
                weights = [torch.arange(float(t.numel())).reshape(t.shape) + 1 + rank for t in made]
                sum((t * w).sum() for t, w in zip(made, weights, strict=True)).backward()
                return [plain(t.detach()) for t in made], plain(x.grad)

            found[kind, name] = told(both)
    dist.destroy_process_group()
    return found
