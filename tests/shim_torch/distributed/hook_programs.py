"""What the ranks of the tests of communication hooks and of uneven inputs run. ``torch`` is ours, or PyTorch beside it."""

from __future__ import annotations

import importlib
from typing import Any

from collective_programs import begin, dist, plain, told, torch
from training import DDP, Net, batch

hooks: Any = importlib.import_module(f"{dist.__name__}.algorithms.ddp_comm_hooks")
inner = {
    name: importlib.import_module(f"{hooks.__name__}.{name}")
    for name in ("default_hooks", "debugging_hooks", "post_localSGD_hook", "powerSGD_hook")
}
join: Any = importlib.import_module(f"{dist.__name__}.algorithms.join")


def _net(**options: Any) -> Any:
    net = Net(0)
    net.norm.eval()
    return DDP(net, find_unused_parameters=True, **options)


def _gradients(model: Any, rank: int, step: int = 0) -> dict[str, Any]:
    model.zero_grad()
    model(batch(rank, step))["out"].square().mean().backward()
    return {n: p.grad.clone() for n, p in model.module.named_parameters() if p.grad is not None}


def _gap(some: dict[str, Any], others: dict[str, Any]) -> float:
    """The greatest difference, relative to the greatest gradient of each parameter."""
    assert some.keys() == others.keys()
    return max(float((some[n] - g).abs().max() / (g.abs().max() + 1e-30)) for n, g in others.items())


def hooked(rank: int, number: int, folder: Any) -> dict[str, Any]:
    """How far each hook's gradients are from the mean; that they are the same in all processes."""
    begin(rank, number, folder)
    default, power, local = inner["default_hooks"], inner["powerSGD_hook"], inner["post_localSGD_hook"]
    mean = _gradients(_net(), rank)
    own = {k: v * 1 for k, v in mean.items()}
    ways = {
        "allreduce": (None, default.allreduce_hook),
        "fp16": (None, default.fp16_compress_hook),
        "bf16": (None, default.bf16_compress_hook),
        "wrapped fp16": (None, default.fp16_compress_wrapper(default.allreduce_hook)),
        "wrapped bf16": (None, default.bf16_compress_wrapper(default.allreduce_hook)),
        "local first": (local.PostLocalSGDState(None, None, 1), local.post_localSGD_hook),
        "power, before it starts": (power.PowerSGDState(None, 4, 2), power.powerSGD_hook),
        "power": (power.PowerSGDState(None, 6, 0, 0.1, False, False), power.powerSGD_hook),
        "batched power": (power.PowerSGDState(None, 300, 0, 1, False, False), power.batched_powerSGD_hook),
    }
    found: dict[str, Any] = {}
    for name, (state, hook) in ways.items():
        for view in (False, True):
            model = _net(gradient_as_bucket_view=view)
            model.register_comm_hook(state, hook)
            got = _gradients(model, rank)
            every: list[Any] = [None] * number
            dist.all_gather_object(every, {n: plain(g) for n, g in got.items()})
            found[name, view] = _gap(got, mean), all(e == every[0] for e in every), {str(g.dtype) for g in got.values()}
    alone = _net()
    with alone.no_sync():
        own = _gradients(alone, rank)
    model = _net()
    hooks.register_ddp_comm_hook(hooks.DDPCommHookType.NOOP, model)
    found["noop"] = _gap(_gradients(model, rank), own)
    model = _net()
    subgroup = [dist.new_group([r]) for r in range(number)][rank]
    model.register_comm_hook(local.PostLocalSGDState(None, subgroup, 1), local.post_localSGD_hook)
    found["local"] = [_gap(_gradients(model, rank), g) for g in (mean, own)]  # the second step is of this process alone
    dist.destroy_process_group()
    return found


def learned(rank: int, number: int, folder: Any) -> list[float]:
    """Losses of training with gradients as products of one column, error feedback and warm start."""
    begin(rank, number, folder)
    power = inner["powerSGD_hook"]
    model = _net()
    state = power.PowerSGDState(None, 1, 2, min_compression_rate=1)
    model.register_comm_hook(state, power.powerSGD_hook)
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.05), []
    for _ in range(12):
        optimizer.zero_grad()
        loss = (model(batch(rank, 0))["out"] - 1).square().mean()
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(float(total))
    dist.destroy_process_group()
    return [*losses, *state.compression_stats()]


def hook_refusals(rank: int, number: int, folder: Any) -> list[Any]:
    begin(rank, number, folder)

    def of_number(state: Any, bucket: int) -> Any: ...
    def gives_number(state: Any, bucket: Any) -> int: ...

    of_number.__annotations__["bucket"], gives_number.__annotations__ = int, {"return": int}
    model = _net()
    found = [told(lambda hook=hook: model.register_comm_hook(None, hook)) for hook in (of_number, gives_number, 3)]
    model.register_comm_hook(None, lambda state, bucket: 5)
    found.append(told(lambda: model.register_comm_hook(None, inner["default_hooks"].allreduce_hook)))
    kind, text = told(lambda: _gradients(model, rank))
    found.append((kind, text.partition("DDP communication")[2]))
    found.append(told(lambda: inner["powerSGD_hook"].PowerSGDState(None, start_powerSGD_iter=1)))
    dist.destroy_process_group()
    return found


def uneven(rank: int, number: int, folder: Any) -> list[Any]:
    """Training in which each rank has two inputs more than the one before: gradients, and the weights at the end."""
    begin(rank, number, folder)
    found: list[Any] = []
    for by_all in (True, False):
        for options in (
            {},
            {"find_unused_parameters": True},
            {"static_graph": True},
            {"gradient_as_bucket_view": True},
        ):
            torch.manual_seed(0)
            net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
            model = DDP(net, **options)
            optimizer, sums = torch.optim.SGD(model.parameters(), 0.1), []
            with model.join(divide_by_initial_world_size=by_all):
                for step in range(2 + 2 * rank):
                    x = torch.arange(8.0).reshape(4, 2).add(step + rank).sin()
                    (model(x) - x[:, :1]).square().mul(torch.tensor([1.0, 2.0, 3.0])).mean().backward()
                    sums.append(plain(net[1].weight.grad))
                    optimizer.step()
                    optimizer.zero_grad()
            found.append(
                (sums, [plain(net[0].weight.detach()), plain(net[1].running_mean), int(net[1].num_batches_tracked)])
            )
    model = DDP(torch.nn.Linear(2, 2))
    with model.join():
        for _ in range(1 + rank):
            with model.no_sync():
                model(torch.ones(1, 2)).sum().backward()
            model(torch.ones(1, 2)).sum().backward()
    found.append(plain(model.module.bias.grad))
    dist.barrier()

    def ended() -> None:
        model = DDP(torch.nn.Linear(2, 2))
        with model.join(throw_on_early_termination=True):
            for _ in range(2 + rank):
                model(torch.ones(1, 2)).sum().backward()

    found.append(told(ended))
    found.append(_counter(rank))
    dist.destroy_process_group()
    return found


def _counter(rank: int) -> Any:
    """A Joinable of the program's own, beside a model: how often its hooks ran."""

    class Hook(join.JoinHook):
        def __init__(self, owner: Any) -> None:
            self.owner = owner

        def main_hook(self) -> None:
            self.owner.seen.append("main")
            dist.all_reduce(torch.zeros(1))

        def post_hook(self, is_last_joiner: bool) -> None:
            self.owner.seen.append(is_last_joiner)

    class Counter(join.Joinable):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[Any] = []

        def __call__(self) -> None:
            join.Join.notify_join_context(self)
            total = torch.ones(1)
            dist.all_reduce(total)
            self.seen.append(float(total))

        def join_hook(self, **kwargs: Any) -> Any:
            return Hook(self)

        @property
        def join_device(self) -> Any:
            return torch.device("cpu")

        @property
        def join_process_group(self) -> Any:
            return dist.group.WORLD

    counter = Counter()
    with join.Join([counter]):
        for _ in range(1 + rank):
            counter()
    return counter.seen, isinstance(DDP(torch.nn.Linear(1, 1)), join.Joinable)
