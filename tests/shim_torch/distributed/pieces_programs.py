"""What the ranks of the tests of asynchronous tensor parallelism run: layers in pieces, in the plain form and in one process."""

from __future__ import annotations

import copy
import importlib
import os
from typing import Any

from collective_programs import begin, dist, plain, torch
from tensor_programs import R, S, T, mesh_module, parallel

nn = torch.nn
symmetric: Any = importlib.import_module(f"{dist.__name__}._symmetric_memory")


class Pair(nn.Module):
    def __init__(self, width: int, hidden: int, bias: bool) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, hidden, bias=bias), nn.Linear(hidden, width, bias=bias)

    def forward(self, x: Any) -> Any:
        return self.down(self.up(x).sin())


def _found(x: Any, net: Any, grad: Any, whole: Any) -> list[Any]:
    x = x.clone().requires_grad_()
    out = net(x)
    out.backward(grad)
    grads = [x.grad, *(p.grad for p in net.parameters())]
    return [whole(t) if t is not None else None for t in (out, *grads)]


def _parts_seen(pieces: Any) -> set[int]:
    """In how many parts products travel from now on, which are all taken as large ones."""
    seen: set[int] = set()
    pieces._FULL, original = 1, pieces._parts
    pieces._parts = lambda *a: (n := original(*a), seen.add(n))[0]
    return seen


def layers(
    rank: int, number: int, folder: Any, device: str, shape: tuple[int, ...], dim: int | None, options: dict[str, Any]
) -> Any:
    """(pieces used, greatest gap to the plain form, and to one process) of outputs and all gradients. ``dim`` None: whole copies."""
    if device == "cuda":
        torch.cuda.set_device(rank)
    begin(rank, number, folder, backend="nccl" if device == "cuda" else "gloo")
    from shim_torch._impl.distributed import overlapped_linear, overlapped_whole

    used: list[str] = []
    parts = _parts_seen(overlapped_linear) if "parts" in options else set()
    watched = overlapped_linear if dim is not None else overlapped_whole
    for name in ("column", "row"):
        original = getattr(watched, name)
        setattr(watched, name, lambda *a, name=name, original=original: (used.append(name), original(*a))[1])
    placed = R if dim is None else S(dim)
    mesh = mesh_module.init_device_mesh(device, (number,))
    torch.manual_seed(3)
    alone = Pair(shape[-1], 4 * number, options.get("bias", True)).to(
        device, getattr(torch, options.get("dtype", "float32"))
    )
    for name in options.get("frozen", ()):
        alone.get_parameter(name).requires_grad_(False)
    x = torch.randn(shape).to(device, alone.up.weight.dtype)
    grad = torch.randn(shape).to(x)
    expected = _found(x, alone, grad, lambda t: t)
    found = []
    for asked in ("0", "1"):
        if options.get("by_group"):
            name = mesh.get_group(0).group_name
            if asked == "1":
                symmetric.enable_symm_mem_for_group(name)
            assert symmetric.is_symm_mem_enabled_for_group(name) == (asked == "1")
        else:
            os.environ["SHIM_TP_OVERLAP"] = asked
        net = copy.deepcopy(alone)
        plan = {
            "up": parallel.ColwiseParallel(input_layouts=placed),
            "down": parallel.RowwiseParallel(output_layouts=placed),
        }
        net = parallel.parallelize_module(net, mesh, plan)
        if options.get("copied"):
            net = copy.deepcopy(net)

        def whole(t: Any) -> Any:
            return (
                t.full_tensor() if isinstance(t, T.DTensor) else T.DTensor.from_local(t, mesh, [placed]).full_tensor()
            )

        mine = [x, grad] if dim is None else [t.chunk(number, dim)[rank].contiguous() for t in (x, grad)]
        found.append(_found(mine[0], net, mine[1], whole))
    gaps = [
        max(float((a - b).abs().max()) for a, b in zip(one, other, strict=True) if a is not None)
        for one, other in ((found[0], found[1]), (expected, found[1]))
    ]
    same = [(a is None) == (b is None) for a, b in zip(expected, found[1], strict=True)]
    dist.destroy_process_group()
    return used, gaps, all(same) and parts == ({options["parts"]} if "parts" in options else set())


def left_alone(rank: int, number: int, folder: Any) -> Any:
    """What is not taken in pieces although it is asked for, and gives what one process gives all the same."""
    begin(rank, number, folder)
    os.environ["SHIM_TP_OVERLAP"] = "1"
    from shim_torch._impl.distributed import overlapped_linear, overlapped_whole

    used: list[str] = []
    for watched in (overlapped_linear, overlapped_whole):
        for name in ("column", "row"):
            setattr(watched, name, lambda *a, name=name: used.append(name))
    mesh = mesh_module.init_device_mesh("cpu", (number,))
    torch.manual_seed(3)
    found = []

    class Own(nn.Linear):
        def forward(self, x: Any) -> Any:
            return super().forward(x) * 2

    def run(layer: Any, x: Any, split: Any, autocast: bool = False) -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            expected = layer(x)
            spread = parallel.parallelize_module(
                copy.deepcopy(layer), mesh, parallel.ColwiseParallel(input_layouts=split, use_local_output=False)
            )
            got = spread(T.distribute_tensor(x, mesh, [split])).full_tensor()
        found.append(plain((got - expected).abs().max().float() < 1e-5))

    run(nn.Linear(6, 4 * number), torch.randn(2 * number + 1, 6), S(0))  # uneven rows
    run(Own(6, 4 * number), torch.randn(2 * number, 6), S(0))
    run(nn.Linear(6, 4 * number), torch.randn(2 * number, 6), R)
    run(nn.Linear(6, 4 * number), torch.randn(2 * number, 6), S(0), autocast=True)
    run(nn.Linear(6, 4 * number + 1), torch.randn(2 * number, 6), S(0))  # uneven columns
    dist.destroy_process_group()
    return used, found
