"""What the ranks of the tests of DistributedDataParallel run."""

from __future__ import annotations

from typing import Any

from collective_programs import begin, dist, plain, told, torch

DDP = torch.nn.parallel.DistributedDataParallel


class Net(torch.nn.Module):
    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.first, self.norm = torch.nn.Linear(6, 300), torch.nn.BatchNorm1d(300)
        self.second, self.spare = torch.nn.Linear(300, 2), torch.nn.Linear(300, 2)

    def forward(self, x: Any, spare: bool = False) -> Any:
        hidden = self.norm(self.first(x)).relu()
        return {"out": (self.spare if spare else self.second)(hidden)}


def batch(rank: int, step: int) -> Any:
    return torch.arange(24.0).reshape(4, 6).mul(0.1 * (rank + 1)).add(step).sin()


def train(rank: int, number: int, folder: Any, options: dict[str, Any]) -> Any:
    """Losses and gradients of some steps, and what one process gets of the mean loss over all ranks' batches."""
    begin(rank, number, folder)
    spares, hook = options.pop("spares", 0), options.pop("hook", False)
    if options.pop("in_place", False):  # as on devices
        from shim_torch._impl.distributed.reducer import Reducer

        Reducer._in_place = staticmethod(lambda grads: all(g is not None for g in grads))
    net, alone = Net(rank), Net(0)
    net.norm.eval(), alone.norm.eval()
    model = DDP(net, **options)
    if hook:
        model.register_comm_hook("state", half_sums)
    gaps = []
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, alone)]
    for step in range(4):
        if step % 2 == 0:
            [o.zero_grad() for o in optimizers]
        if step == 2:  # summed with the next step's
            with model.no_sync():
                model(batch(rank, step), rank < spares)["out"].square().mean().backward()
        else:
            model(batch(rank, step), rank < spares)["out"].square().mean().backward()
        sum(alone(batch(r, step), r < spares)["out"].square().mean() for r in range(number)).div(number).backward()
        if step != 2:
            for a, b in zip(net.parameters(), alone.parameters(), strict=True):
                assert (a.grad is None) == (b.grad is None)
                gaps.append(0.0 if a.grad is None else float((a.grad - b.grad).abs().max()))
            [o.step() for o in optimizers]
    every = [None] * number
    dist.all_gather_object(every, [plain(p) for p in net.parameters()])
    dist.destroy_process_group()
    return max(gaps), all(e == every[0] for e in every)


def half_sums(state: Any, bucket: Any) -> Any:
    assert state == "state" and bucket.buffer().numel() == sum(g.numel() for g in bucket.gradients())
    flat = bucket.buffer() / dist.get_world_size()
    return dist.all_reduce(flat, async_op=True).get_future().then(lambda f: f.value()[0])


def refusals(rank: int, number: int, folder: Any) -> Any:
    begin(rank, number, folder)
    found = [told(lambda: DDP(torch.nn.Linear(2, 2 + rank)))]
    model = DDP(Net(0))
    model(batch(rank, 0))["out"].sum().backward()
    found.append(told(lambda: model(batch(rank, 1))))
    buffers = DDP(Net(0))
    buffers(batch(rank, 0))
    buffers(batch(rank, 0) * 0)
    return [
        *found,
        float(buffers.module.norm.num_batches_tracked),
        told(lambda: torch.nn.SyncBatchNorm(300)(torch.ones(2, 300))),
    ]
