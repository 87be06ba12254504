"""What the ranks of the tests of ``fully_shard`` run: training beside that of one process, which each rank computes too."""

from __future__ import annotations

import copy
import importlib
from typing import Any

from collective_programs import begin, dist, plain, told, torch

mesh_module = importlib.import_module(f"{dist.__name__}.device_mesh")
T: Any = importlib.import_module(f"{dist.__name__}.tensor")
fsdp: Any = importlib.import_module(f"{dist.__name__}.fsdp")
nn, F = torch.nn, torch.nn.functional


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(3 * width, width)

    def forward(self, x: Any) -> Any:
        return x + self.down(F.silu(self.up(self.norm(x))))


class Model(nn.Module):
    """Of odd sizes, so that parts differ; the head's weight is the embedding's."""

    def __init__(self, words: int = 17, width: int = 6) -> None:
        super().__init__()
        self.embed, self.blocks = nn.Embedding(words, width), nn.ModuleList(Block(width) for _ in range(3))
        self.head, self.spare = nn.Linear(width, words, bias=False), nn.Parameter(torch.ones(5))
        self.head.weight = self.embed.weight

    def forward(self, tokens: Any) -> Any:
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def data(rank: int, number: int, step: int) -> tuple[Any, Any]:
    """Of one rank, or of all for rank -1."""
    generator = torch.Generator().manual_seed(step)
    tokens = torch.randint(0, 17, (number * 2, 5), generator=generator)
    return (
        (tokens, tokens.roll(1, 1))
        if rank < 0
        else tuple(t[2 * rank : 2 * rank + 2] for t in (tokens, tokens.roll(1, 1)))
    )


def whole(t: Any) -> Any:
    return t.full_tensor() if isinstance(t, T.DTensor) else t


def spread(model: Any, device: str, number: int, options: dict[str, Any]) -> Any:
    more = {k: options[k] for k in ("reshard_after_forward",) if k in options}
    if options.get("copies"):
        more["mesh"] = mesh_module.init_device_mesh(device, (2, number // 2), mesh_dim_names=("copies", "parts"))
    else:
        more["mesh"] = mesh_module.init_device_mesh(device, (number,))
    if "half" in options:
        more["mp_policy"] = fsdp.MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    for block in model.blocks:
        fsdp.fully_shard(block, **more)
    return fsdp.fully_shard(model, **more)


def trained(rank: int, number: int, folder: Any, options: dict[str, Any]) -> Any:
    """Losses and gradients of some steps, sharded and in one process."""
    begin(rank, number, folder)
    return training("cpu", rank, number, options)


def training(device: str, rank: int, number: int, options: dict[str, Any]) -> Any:
    found: list[Any] = []
    for sharded in (False, True):
        torch.manual_seed(4)
        model = Model().to(device)
        if sharded:
            model = spread(model, device, number, options)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
        losses, norms = [], []
        for step in range(options.get("steps", 4)):
            model.train()
            later = options.get("accumulate") and step % 2 == 0
            if sharded:
                model.set_requires_gradient_sync(not later)
            tokens, targets = (t.to(device) for t in data(rank if sharded else -1, number, step))
            if options.get("checkpointed"):
                out = torch.utils.checkpoint.checkpoint(model, tokens, use_reentrant=False)
            else:
                out = model(tokens)
            loss = F.cross_entropy(out.float().flatten(0, 1), targets.flatten())
            loss.backward()
            total = loss.detach().clone()
            if sharded:
                dist.all_reduce(total, dist.ReduceOp.AVG)
            losses.append(float(total))
            if later:
                continue
            norm = nn.utils.clip_grad_norm_([p for p in model.parameters() if p.grad is not None], 0.5)
            norms.append(float(whole(norm)))
            optimizer.step()
            optimizer.zero_grad()
        found.append((losses, norms, {k: plain(whole(v).cpu()) for k, v in model.state_dict().items()}))
    parts = {k: (tuple(v.to_local().shape), str(v.placements)) for k, v in model.state_dict().items()}
    types = type(model).__name__, isinstance(model, fsdp.FSDPModule), isinstance(model, Model)
    with torch.no_grad():
        model(tokens)  # the weights of now, and no backward
    dist.destroy_process_group()
    return [*found, parts, types]


def refusals(rank: int, number: int, folder: Any) -> Any:
    begin(rank, number, folder)
    mesh = mesh_module.init_device_mesh("cpu", (number,))
    scalar = nn.Linear(2, 2)
    scalar.scale = nn.Parameter(torch.tensor(1.0))
    twice = fsdp.fully_shard(nn.Linear(2, 2), mesh=mesh)
    found = [
        told(lambda: fsdp.fully_shard(nn.ModuleList([nn.Linear(2, 2)]), mesh=mesh)),
        told(lambda: fsdp.fully_shard(scalar, mesh=mesh)),
        told(lambda: fsdp.fully_shard(twice, mesh=mesh)),
        told(lambda: fsdp.fully_shard(nn.Linear(2, 2), mesh=mesh, offload_policy=fsdp.CPUOffloadPolicy())),
    ]
    dist.destroy_process_group()
    return found


def kept(rank: int, number: int, folder: Any) -> Any:
    """(gathers by step, whether the modules have parts after forward, greatest gaps of gradients) of three blocks."""
    begin(rank, number, folder)
    from shim_torch._impl.distributed import collectives

    gathers, original = [0], collectives.all_gather_into_tensor

    def counted(*args: Any, **options: Any) -> Any:
        gathers[-1] += 1
        return original(*args, **options)

    collectives.all_gather_into_tensor = counted
    torch.manual_seed(3)
    alone = torch.nn.Sequential(*(torch.nn.Linear(6, 6) for _ in range(3)))
    net = copy.deepcopy(alone)
    for block in net:
        fsdp.fully_shard(block)
    fsdp.fully_shard(net)
    x, parts, gaps = torch.randn(4, 6), [], []
    for step in range(4):
        gathers.append(0)
        out = net(x)
        parts.append(all(hasattr(p, "_local_tensor") for p in net.parameters()))
        if step == 2:  # the backward of the one before does not come, and parts change
            with torch.no_grad():
                for p, q in zip(net.parameters(), alone.parameters(), strict=True):
                    p._local_tensor.mul_(2), q.mul_(2)
            out = net(x)
        if step == 3 and rank == 0:
            net.state_dict()  # in one process alone
        alone.zero_grad(), net.zero_grad()
        alone(x).sum().backward(), out.sum().backward()
        made = gathers[-1]
        pairs = zip(net.parameters(), alone.parameters(), strict=True)
        gaps.append(max(float((p.grad.full_tensor() - q.grad).abs().max()) for p, q in pairs))
        gathers[-1] = made
    dist.destroy_process_group()
    return gathers[1:], parts, gaps
