"""What the ranks run of the collectives of small tensors that are kernels of our own; SHIM_SMALL_COLLECTIVES=0 leaves them to NCCL."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from collective_programs import dist, told, torch, values
from device_programs import REDUCED, answer, begin, here, seen

KINDS = "all_reduce reduce_scatter all_gather all_to_all".split()
OPS = "SUM AVG PRODUCT MIN MAX".split()
MOST = 1 << 18  # bytes that a rank sends


def taken() -> int:
    """How many collectives of the default group were not NCCL's; -1: all are."""
    return int(dist.group.WORLD._device_engine.communicator(torch.cuda.current_device())[2])


def call(kind: str, x: Any, number: int, op: Any = None, **more: Any) -> Any:
    """(result, work); ``x`` has a part for each rank."""
    op = {} if op is None else {"op": op}
    if kind == "all_reduce":
        out = x.clone()
        return out, dist.all_reduce(out, **op, **more)
    if kind == "reduce_scatter":
        out = x.new_empty(x.numel() // number)
        return out, dist.reduce_scatter_tensor(out, x, **op, **more)
    if kind == "all_gather":
        out = x.new_empty(x.numel() * number)
        return out, dist.all_gather_into_tensor(out, x, **more)
    out = torch.empty_like(x)
    return out, dist.all_to_all_single(out, x, **more)


def numbers(rank: int, count: int, dtype: str = "float32") -> Any:
    return here(((torch.arange(count) * (rank + 2)) % 23 - 7).to(getattr(torch, dtype)))


def every(rank: int, number: int, folder: Any) -> dict[Any, Any]:
    """Results by kind, type, operation and number of elements, and which of them were ours."""
    begin(rank, number, folder)
    found: dict[Any, Any] = {}
    ours = set()
    for dtype in [*REDUCED, "int16", "float8_e5m2"]:
        for kind in KINDS:
            for name in OPS if kind.startswith(("all_r", "red")) else [""]:
                for count in (1, 5):
                    before = taken()
                    x = (
                        here(values(dtype, rank, (number, count)))
                        if dtype in REDUCED
                        else numbers(rank, number * count, dtype)
                    ).view(-1)
                    found[kind, dtype, name, count] = answer(
                        lambda x=x, kind=kind, name=name: call(kind, x, number, getattr(dist.ReduceOp, name, None))[0]
                    )
                    if taken() > before:
                        ours.add((kind, dtype, name))
    for dtype in ("float32", "float16", "bfloat16", "float64"):
        for factor in (0.1, 3.0):
            op = dist._make_nccl_premul_sum(factor)
            found["premul", dtype, factor] = answer(
                lambda op=op, dtype=dtype: call("all_reduce", here(values(dtype, rank)), number, op)[0]
            )
    dist.destroy_process_group()
    return {"found": found, "ours": sorted(ours)}


def sizes(rank: int, number: int, folder: Any) -> dict[Any, Any]:
    """Differences of elements by kind and number of bytes, whether it was ours; odd addresses, in place, and the largest."""
    begin(rank, number, folder)
    found: dict[Any, Any] = {}
    most = MOST // (number - 1) // 8 * 8
    for kind in KINDS:
        split = 1 if kind in ("all_reduce", "all_gather") else number
        for count in (1, 7, 64, 4099, most, most + 8) if kind == "all_reduce" else (1, 20, 4099):
            whole = [((torch.arange(count * split) * (r + 3)) % 41).to(torch.uint8) for r in range(number)]
            for turn in range(3):  # memory is used again
                before = taken()
                x = torch.empty(count * split + turn, dtype=torch.uint8, device="cuda")[turn:]
                x.copy_(whole[rank])
                out = call(kind, x, number)[0].cpu()
                total = torch.stack([w.to(torch.int64) for w in whole]).sum(0).to(torch.uint8)
                parts = [w.chunk(split)[rank if split > 1 else 0] for w in whole]
                if kind == "reduce_scatter":
                    total = total.chunk(number)[rank]
                expected = total if "reduce" in kind else torch.cat(whole if kind == "all_gather" else parts)
                found[kind, count, turn] = int((out != expected).sum()), taken() > before
    lengths = [[(0, 7, most + 8)[(i + 2 * j) % 3] for j in range(number)] for i in range(number)]
    rows = [torch.arange(sum(n)).mul(r + 3).to(torch.uint8) for r, n in enumerate(lengths)]
    theirs = [n[rank] for n in lengths]
    for turn in range(2):  # pairs whose messages are long are NCCL's
        out = torch.empty(sum(theirs), dtype=torch.uint8, device="cuda")
        dist.all_to_all_single(out, here(rows[rank]), theirs, lengths[rank])
        parts = [r.split(n)[rank] for r, n in zip(rows, lengths, strict=True)]
        found["all_to_all", "uneven", turn] = int((out.cpu() != torch.cat(parts)).sum())
    x = numbers(rank, 3 * number)
    every = [numbers(r, 3 * number).cpu() for r in range(number)]
    mine = x[3 * rank : 3 * rank + 3]
    dist.reduce_scatter_tensor(mine, x)
    found["reduce_scatter in place"] = float((mine.cpu() - sum(every)[3 * rank : 3 * rank + 3]).abs().max())
    dist.all_gather_into_tensor(x, mine)
    found["all_gather in place"] = float((x.cpu() - sum(every)).abs().max())
    dist.destroy_process_group()
    return found


def mixed(rank: int, number: int, folder: Any) -> list[Any]:
    """Streams, asynchronous works, several groups, coalesced calls and NCCL's between them."""
    begin(rank, number, folder)
    found: list[Any] = []
    other = dist.new_group(list(range(number)))
    side = torch.cuda.Stream()
    x, y, large = numbers(rank, 11), numbers(rank + 1, 5), numbers(rank, 1 << 18)
    torch.cuda.synchronize()
    for turn in range(12):
        work = dist.all_reduce(x, op=dist.ReduceOp.AVG, async_op=True)
        with torch.cuda.stream(side):
            dist.all_reduce(y, op=dist.ReduceOp.AVG, group=other if turn % 3 else None)
            side.wait_stream(torch.cuda.default_stream())
        work.wait()
        dist.all_reduce(large, op=dist.ReduceOp.AVG)
        torch.cuda.current_stream().wait_stream(side)
        dist.all_reduce(y, op=dist.ReduceOp.AVG)
    found.append(seen([x, y, large[:30]]))
    with dist._coalescing_manager(device=torch.device("cuda")):
        dist.all_reduce(x), dist.all_reduce(y)
    future = dist.all_reduce(x, async_op=True).get_future().then(lambda f: f.value()[0].cpu().tolist())
    found += [seen([x, y]), future.wait(), taken() > 24]
    dist.destroy_process_group()
    return found


def lost(rank: int, number: int, folder: Any) -> Any:
    """A rank dies before its part: the other's kernel ends, and its next call says who it was."""
    os.environ["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "2"
    begin(rank, number, folder)
    x = numbers(rank, 10)
    dist.all_reduce(x)
    torch.cuda.synchronize()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    ours = taken()
    dist.all_reduce(x)
    torch.cuda.synchronize()
    time.sleep(1)
    return ours, told(lambda: dist.all_reduce(x))
