"""What the ranks of the tests of spread tensors run: results beside those of one process, which each rank computes too."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

from collective_programs import begin, dist, plain, told, torch

mesh_module = importlib.import_module(f"{dist.__name__}.device_mesh")
T: Any = importlib.import_module(f"{dist.__name__}.tensor")
parallel: Any = importlib.import_module(f"{dist.__name__}.tensor.parallel")
nn, F = torch.nn, torch.nn.functional
R, P = T.Replicate(), T.Partial()


def S(dim: int) -> Any:
    return T.Shard(dim)


def meshes(rank: int, number: int, folder: Any) -> list[Any]:
    begin(rank, number, folder)
    mesh = mesh_module.init_device_mesh("cpu", (2, number // 2), mesh_dim_names=("dp", "tp"))
    found: list[Any] = [
        repr(mesh), mesh.shape, mesh.size(), tuple(mesh.get_coordinate()), mesh.get_local_rank("tp"), mesh.mesh.tolist(),
        repr(mesh["tp"]), mesh["tp"].mesh.tolist(), dist.get_process_group_ranks(mesh.get_group("dp")),
    ]  # fmt: skip
    flat = mesh._flatten("all")
    found += [repr(flat), dist.get_process_group_ranks(flat.get_group())]
    x = torch.ones(1) * rank
    dist.all_reduce(x, group=mesh.get_group(1))
    found.append(plain(x))
    for call in (lambda: mesh["x"], lambda: mesh["tp", "dp"], lambda: mesh.get_local_rank(), lambda: mesh.get_group()):
        found.append(told(call))
    found.append(told(lambda: mesh_module.init_device_mesh("cpu", (number + 1,))))
    found.append(told(lambda: mesh_module.init_device_mesh("cpu", (number,), mesh_dim_names=("a", "b"))))
    dist.destroy_process_group()
    return found


def placements(rank: int, number: int, folder: Any, shape: tuple[int, ...], dims: tuple[int, ...]) -> list[Any]:
    """Every change of placement: what is there after it, in parts and in the whole."""
    begin(rank, number, folder)
    mesh = mesh_module.init_device_mesh("cpu", dims)
    whole = torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)
    one = [R, *(S(d) for d in range(len(shape)))]
    found: list[Any] = []
    for old in itertools.product(one, repeat=mesh.ndim):
        x = T.distribute_tensor(whole, mesh, old)
        for new in itertools.product(one, repeat=mesh.ndim):
            y = x.redistribute(placements=new)
            found.append((str(old), str(new), plain(y.to_local()), bool((y.full_tensor() == whole).all())))
    for new in itertools.product(one, repeat=mesh.ndim):
        y = T.DTensor.from_local(whole / mesh.size(), mesh, [P] * mesh.ndim).redistribute(placements=new)
        found.append(("partial", str(new), bool(torch.allclose(y.full_tensor(), whole))))
    dist.destroy_process_group()
    return found


def strided(rank: int, number: int, folder: Any) -> list[Any]:
    """Packed weights: each process has a run of each of their parts. What it has, the whole, the way to other placements, a step of AdamW."""
    begin(rank, number, folder)
    kinds = importlib.import_module(f"{T.__name__}.placement_types")
    mesh = mesh_module.init_device_mesh("cpu", (number,))
    grid = mesh_module.init_device_mesh("cpu", (2, number // 2)) if number % 2 == 0 else None
    found: list[Any] = []
    for rows, over, placed in (
        (8, mesh, [kinds._StridedShard(0, split_factor=2)]),
        (24, mesh, [kinds._StridedShard(0, split_factor=3)]),
        (16, grid, [kinds._StridedShard(0, split_factor=number // 2), S(0)]),
    ):
        if over is None:
            continue
        whole = torch.arange(rows * 3.0).reshape(rows, 3)
        x = nn.Parameter(T.distribute_tensor(whole, over, placed))
        found += [plain(x.to_local().detach()), bool((x.full_tensor() == whole).all())]
        found += [plain(x.redistribute(placements=[new] * over.ndim).to_local().detach()) for new in (R, S(1))]
        back = T.distribute_tensor(whole, over, [R] * over.ndim).redistribute(placements=placed)
        found.append(bool((back.to_local() == x.to_local()).all()))
        x.grad = x.detach() * 2
        optimizer = torch.optim.AdamW([x], lr=0.1)
        optimizer.step()
        found += [
            plain(x.full_tensor().detach()),
            (str(tuple(x.placements)), placed[0].is_shard(), isinstance(placed[0], T.Shard)),
            float((x.detach() * x.detach()).sum().full_tensor()),
        ]
    dist.destroy_process_group()
    return found


def _cases() -> dict[str, tuple[Any, tuple[tuple[int, ...], ...]]]:
    return {
        "mm": (lambda a, b: a @ b, ((4, 8), (8, 4))),
        "linear": (lambda x, w, b: F.linear(x, w, b), ((2, 4, 8), (4, 8), (4,))),
        "add": (lambda a, b: a + b, ((4, 8), (4, 8))),
        "broadcast": (lambda a, b: a * b - b, ((4, 8), (8,))),
        "chain": (lambda a, b: F.silu(a) * (b + 1).exp(), ((4, 8), (4, 8))),
        "sum": (lambda a: a.sum(0).pow(2), ((4, 8),)),
        "mean": (lambda a: a.mean(-1, keepdim=True) * a, ((4, 8),)),
        "max": (lambda a: a.amax(1), ((4, 8),)),
        "view": (lambda a: a.view(4, 4, 2).transpose(1, 2).reshape(4, 8) * 2, ((4, 8),)),
        "softmax": (lambda a: a.softmax(-1), ((4, 8),)),
        "layer_norm": (lambda a, w, b: F.layer_norm(a, (8,), w, b), ((4, 8), (8,), (8,))),
        "rms": (lambda a, w: a * (a.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt() * w, ((4, 8), (8,))),
        "cat": (lambda a, b: torch.cat([a, b], 0), ((4, 8), (4, 8))),
        "split": (lambda a: a.split(4, -1)[1] * a.chunk(2, -1)[0], ((4, 8),)),
        "slice": (lambda a: a[:, 2:6].unsqueeze(0).expand(3, 4, 4), ((4, 8),)),
        "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), ((2, 4, 4, 8),) * 3),
        "bmm": (lambda a, b: torch.bmm(a, b), ((4, 4, 8), (4, 8, 4))),
        "baddbmm": (lambda c, a, b: torch.baddbmm(c, a, b, beta=2), ((2, 1, 4), (2, 4, 8), (2, 8, 4))),
        "mv": (lambda a, b: torch.mv(a, b), ((4, 8), (8,))),
        "dot": (lambda a, b: torch.dot(a, b), ((8,), (8,))),
        "max_of_rows": (lambda a: a.max(1)[0] - a.min(1)[0], ((4, 8),)),
        "var": (lambda a: a.var(0) + a.std(0, unbiased=False), ((4, 8),)),
        "logsumexp": (lambda a: a.logsumexp(1), ((4, 8),)),
        "mse": (lambda a, b: F.mse_loss(a, b), ((4, 8), (4, 8))),
        "mse_sum": (lambda a, b: F.mse_loss(a, b, reduction="sum"), ((4, 8), (4, 8))),
        "roll": (lambda a: a.roll(1, 0) * a.flip(1), ((4, 8),)),
        "pad": (lambda a: F.pad(a, (1, 2)), ((4, 8),)),
        "unbind": (lambda a: a.unbind(1)[2] * 2, ((4, 8),)),
        "repeat": (lambda a: a.repeat(2, 1, 1), ((4, 8),)),
        "topk": (lambda a: a.topk(2, 1)[0], ((4, 8),)),
        "where": (lambda a, b: torch.where(a > b, a, b), ((4, 8), (4, 8))),
    }


def operators(rank: int, number: int, folder: Any) -> list[Any]:
    """Results and gradients of expressions in all placements of their tensors, beside the whole's: what differs."""
    begin(rank, number, folder)
    mesh = mesh_module.init_device_mesh("cpu", (number,))
    different, ran = [], 0
    for name, (function, shapes) in _cases().items():
        generator = torch.Generator().manual_seed(7)
        given = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
        leaves = [x.clone().requires_grad_() for x in given]
        wanted = function(*leaves)
        wanted.sin().sum().backward()
        for placed in itertools.product(*([R, *(S(d) for d in range(len(shape)))] for shape in shapes)):
            spread = [
                T.distribute_tensor(x.clone().requires_grad_(), mesh, [p]) for x, p in zip(given, placed, strict=True)
            ]
            result = function(*spread)
            fine = torch.allclose(result.full_tensor(), wanted) and tuple(result.shape) == tuple(wanted.shape)
            with torch.no_grad():  # other operators, where nothing is kept for backward
                fine = fine and torch.allclose(function(*spread).full_tensor(), wanted)
            result.sin().sum().backward()
            for leaf, x in zip(leaves, spread, strict=True):
                fine = (
                    fine and tuple(x.grad.shape) == tuple(x.shape) and torch.allclose(x.grad.full_tensor(), leaf.grad)
                )
            ran += 1
            if not fine:
                different.append((name, str(placed)))
    dist.destroy_process_group()
    return [ran, different]


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.norm, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.up, self.gate, self.down = (
            nn.Linear(width, 4 * width),
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        )

    def forward(self, x: Any) -> Any:
        y = self.norm(x)
        q, k, v = (
            f(y).unflatten(-1, (-1, x.shape[-1] // self.heads)).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Model(nn.Module):
    def __init__(self, words: int = 16, width: int = 16) -> None:
        super().__init__()
        self.embed, self.blocks = nn.Embedding(words, width), nn.ModuleList(Block(width, 4) for _ in range(2))
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, tokens: Any) -> Any:
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def plan(sequence: bool) -> dict[str, Any]:
    col, row = parallel.ColwiseParallel, parallel.RowwiseParallel
    blocks = {f"blocks.*.{name}": col() for name in ("q", "k", "v", "up", "gate")}
    if not sequence:
        return {"embed": row(input_layouts=R), **blocks, "blocks.*.o": row(), "blocks.*.down": row(),
                "head": col(use_local_output=False)}  # fmt: skip
    blocks = {f"blocks.*.{name}": col(input_layouts=S(1)) for name in ("q", "k", "v", "up", "gate")}
    norms = {f"blocks.*.{name}": parallel.SequenceParallel(use_local_output=True) for name in ("norm", "norm2")}
    rows = {f"blocks.*.{name}": row(output_layouts=S(1)) for name in ("o", "down")}
    return {"embed": row(input_layouts=R, output_layouts=S(1)), **norms, **blocks, **rows,
            "head": col(input_layouts=S(1), use_local_output=False)}  # fmt: skip


def trained(rank: int, number: int, folder: Any, sequence: bool) -> list[Any]:
    """Losses, norms of gradients and weights after three steps, in one process and spread."""
    begin(rank, number, folder)
    mesh = mesh_module.init_device_mesh("cpu", (number,))
    generator = torch.Generator().manual_seed(3)
    tokens = torch.randint(0, 16, (3, 2, 8), generator=generator)
    targets = torch.randint(0, 16, (3, 16), generator=generator)
    found: list[Any] = []
    for spread in (False, True):
        torch.manual_seed(1)
        model = Model()
        if spread:
            model = parallel.parallelize_module(model, mesh, plan(sequence))
        optimizer = torch.optim.AdamW(list(model.parameters()), lr=0.01)
        seen = []
        for batch, target in zip(tokens, targets, strict=True):
            with parallel.loss_parallel():
                loss = F.cross_entropy(model(batch).flatten(0, 1), target)
                loss.backward()
            whole = [g.full_tensor() if isinstance(g, T.DTensor) else g for g in (p.grad for p in model.parameters())]
            seen.append((float(loss.full_tensor() if spread else loss), [float(g.norm()) for g in whole]))
            optimizer.step()
            optimizer.zero_grad()
        weights = [p.full_tensor() if isinstance(p, T.DTensor) else p for p in model.parameters()]
        found.append((seen, [float(w.double().sum()) for w in weights]))
    dist.destroy_process_group()
    return found


def refused(rank: int, number: int, folder: Any) -> list[Any]:
    begin(rank, number, folder)
    mesh = mesh_module.init_device_mesh("cpu", (number,))
    x = T.DTensor.from_local(torch.ones(2, 3), mesh, [S(0)])
    calls = [
        lambda: x + torch.ones(4, 3),
        lambda: x.redistribute(placements=[P]),
        lambda: T.DTensor.from_local(torch.ones(2), mesh, [S(3)]),
        lambda: torch.fft.fft(x),
        lambda: parallel.parallelize_module(nn.LayerNorm(4), mesh, parallel.ColwiseParallel()),
        lambda: x.add_(T.DTensor.from_local(torch.ones(4 * number // 2, 3), mesh, [R])) is x,
    ]
    return [repr(x), [told(call) for call in calls], told(lambda: float(torch.nn.utils.get_total_norm([x])))]


def functions(rank: int, number: int, folder: Any) -> list[Any]:
    """Functions of parts, rules of the program's own, and tensors that count as whole copies."""
    experimental = importlib.import_module(f"{T.__name__}.experimental")
    begin(rank, number, folder)
    mesh = mesh_module.init_device_mesh("cpu", (number,))
    whole = torch.arange(8.0).reshape(4, 2)
    x = T.distribute_tensor(whole.requires_grad_(), mesh, [S(0)])
    doubled = experimental.local_map(lambda a: a * 2, [S(0)], ([S(0)],))
    y = doubled(x)
    y.sum().backward()
    found: list[Any] = [plain(y.full_tensor().detach()), plain(x.grad.full_tensor()), str(y.placements)]
    found.append(told(lambda: experimental.local_map(lambda a: a, [R], ([R],))(x))[0])

    @experimental.register_sharding(torch.ops.aten.flip.default)
    def _(a: Any, dims: Any) -> Any:
        return [([S(1)], [S(1), None]), ([R], [R, None])]

    flipped = T.distribute_tensor(whole.detach(), mesh, [S(1)]).flip(0)
    found += [str(flipped.placements), plain(flipped.full_tensor())]
    with experimental.implicit_replication():
        found.append(plain((x.detach() + torch.ones(4, 2)).full_tensor()))
    dist.destroy_process_group()
    return found
