"""What the ranks of the tests run. ``torch`` is ours, or PyTorch where the comparison with it says so."""

from __future__ import annotations

import importlib
import os
import signal
import time
from datetime import timedelta
from typing import Any

NAME = os.environ.get("RANKS_TORCH", "shim_torch")
torch: Any = importlib.import_module(NAME)
dist: Any = importlib.import_module(f"{NAME}.distributed")

REDUCED = "bool uint8 int8 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
COPIED_ONLY = "int16 uint16 uint32 float8_e5m2".split()
OPS = "SUM AVG PRODUCT MIN MAX BAND BOR BXOR".split()


def begin(rank: int, number: int, folder: Any, seconds: float = 30.0, backend: str = "gloo") -> None:
    dist.init_process_group(
        backend, init_method=f"file://{folder}/store", rank=rank, world_size=number, timeout=timedelta(seconds=seconds)
    )


def values(dtype: str, rank: int, shape: tuple[int, ...] = (3, 5)) -> Any:
    """Numbers that are each rank's own, small enough for products."""
    made = (torch.arange(torch.Size(shape).numel()).reshape(shape) * 3 + rank * 7) % 5
    if dtype.startswith("complex"):
        return torch.complex(made.double() / 3, 1.0 - made.double()).to(getattr(torch, dtype))
    if dtype == "bool":
        return made > 2
    return (made / 3 + 0.25 if "float" in dtype else made).to(getattr(torch, dtype))


def told(call: Any) -> Any:
    """What a call gives, tensors as lists, or the kind and the text of its error."""
    try:
        return plain(call())
    except Exception as error:
        kinds = (NotImplementedError, dist.DistBackendError, ValueError, TypeError, RuntimeError)
        return next((k.__name__ for k in kinds if isinstance(error, k)), type(error).__name__), str(error)


def plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        wide = value.to(torch.complex128 if value.is_complex() else torch.float64)
        return str(value.dtype).rpartition(".")[2], wide.tolist()
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def reductions(rank: int, number: int, folder: Any) -> dict[Any, Any]:
    """all_reduce, reduce and reduce_scatter of every dtype and operation, refusals too."""
    begin(rank, number, folder)
    found: dict[Any, Any] = {}
    for dtype in [*REDUCED, *COPIED_ONLY]:
        for name in OPS:
            op = getattr(dist.ReduceOp, name)

            def all_reduce(x: Any = values(dtype, rank), op: Any = op) -> Any:
                dist.all_reduce(x, op)
                return x

            def scattered(x: Any = values(dtype, rank, (number, 4)), op: Any = op) -> Any:
                out = torch.zeros(4, dtype=x.dtype)
                dist.reduce_scatter_tensor(out, x.reshape(-1), op)
                return out

            def reduce(x: Any = values(dtype, rank), op: Any = op) -> Any:
                dist.reduce(x, number - 1, op)
                return x if rank == number - 1 else None

            found["all_reduce", dtype, name] = told(all_reduce)
            if dtype in REDUCED and name in ("SUM", "AVG", "MAX"):
                found["reduce", dtype, name] = told(reduce)
                found["reduce_scatter", dtype, name] = told(scattered)
    if NAME == "shim_torch":  # gloo's texts have places in its files
        two = torch.ones(2)
        found["sizes"] = [
            told(lambda: dist.all_gather_into_tensor(torch.ones(2 * number, dtype=torch.float64), two)),
            told(lambda: dist.all_gather_into_tensor(torch.ones(3), two)),
            told(lambda: dist.reduce_scatter_tensor(torch.ones(3), torch.ones(2 * number))),
            told(lambda: dist.destroy_process_group(3)),
        ]
    dist.destroy_process_group()
    return found


def movements(rank: int, number: int, folder: Any) -> dict[Any, Any]:
    """Collectives that only move elements, of each dtype and of tensors that are not contiguous."""
    begin(rank, number, folder)
    found: dict[Any, Any] = {}
    for dtype in [*REDUCED, "strided"]:
        x = values("float32" if dtype == "strided" else dtype, rank, (number, 4))
        x = x.t().contiguous().t() if dtype == "strided" else x

        def empty(*shape: int, like: Any = x) -> Any:
            made = torch.zeros(*shape, dtype=like.dtype)
            return made.t().contiguous().t() if dtype == "strided" and len(shape) == 2 else made  # noqa: B023

        def gathered(x: Any = x, empty: Any = empty) -> Any:
            parts = [empty(number, 4) for _ in range(number)]
            dist.all_gather(parts, x)
            at_root = [empty(number, 4) for _ in range(number)] if rank == 1 else None
            dist.gather(x, at_root, dst=1)
            whole = torch.zeros(number * number, 4, dtype=x.dtype)
            dist.all_gather_into_tensor(whole, x.contiguous())
            return parts, at_root, whole

        def spread(x: Any = x, empty: Any = empty) -> Any:
            y, z = x.clone(), empty(number, 4)
            dist.broadcast(y, 1)
            dist.scatter(
                z, [x + i if x.dtype != torch.bool else x for i in range(number)] if rank == 0 else None, src=0
            )
            return y, z

        def exchanged(x: Any = x, empty: Any = empty) -> Any:
            out, parts = torch.zeros(number, 4, dtype=x.dtype), [empty(4) for _ in range(number)]
            dist.all_to_all_single(out, x.contiguous())
            dist.all_to_all(parts, list(x.contiguous().unbind(0)))
            return out, parts

        for name, call in (("gathered", gathered), ("spread", spread), ("exchanged", exchanged)):
            found[name, dtype] = told(call)
    rows = torch.arange(rank + 1 + number * 2).float()
    sizes = [2] * (number - 1) + [rank + 3]
    uneven = torch.zeros(2 * number if rank < number - 1 else sum(r + 3 for r in range(number)))
    theirs = [2] * number if rank < number - 1 else [r + 3 for r in range(number)]
    found["uneven"] = told(lambda: (dist.all_to_all_single(uneven, rows, theirs, sizes), uneven)[1])
    part = torch.zeros(rank + 1)
    lists = [torch.ones(r + 1) * rank for r in range(number)]
    found["uneven lists"] = told(lambda: (dist.reduce_scatter(part, lists), part)[1])
    dist.destroy_process_group()
    return found


def messages(rank: int, number: int, folder: Any) -> list[Any]:
    """Point to point, objects and subgroups."""
    begin(rank, number, folder)
    found: list[Any] = []
    x = torch.zeros(4)
    if rank == 0:
        for peer in range(1, number):
            works = [dist.isend(torch.full((2,), 10.0 * peer + tag), peer, tag=tag) for tag in (1, 2)]
            [work.wait() for work in works]
    else:
        y = torch.zeros(2)
        dist.recv(y, 0, tag=2)
        source = dist.recv(x, tag=1)
        found += [plain(y), plain(x), source]
    right, left = (rank + 1) % number, (rank - 1) % number
    got = torch.zeros(1 << 16)
    ops = [dist.P2POp(dist.isend, torch.full((1 << 16,), float(rank)), right), dist.P2POp(dist.irecv, got, left)]
    [work.wait() for work in dist.batch_isend_irecv(ops)]
    found.append(bool((got == left).all()))
    objects: list[Any] = [None] * number
    dist.all_gather_object(objects, {"rank": rank, "long": "x" * rank * 100})
    at_root: Any = [None] * number if rank == 0 else None
    dist.gather_object((rank,), at_root, dst=0)
    shared = ["a", {1: 2}] if rank == 1 else [None, None]
    dist.broadcast_object_list(shared, src=1)
    mine = [None]
    dist.scatter_object_list(mine, [f"for {r}" for r in range(number)] if rank == 0 else None, src=0)
    if rank == 0:
        dist.send_object_list(["sent", 5], dst=1)
    elif rank == 1:
        pair = [None, None]
        dist.recv_object_list(pair, src=0)
        found.append(pair)
    found += [objects, at_root, shared, mine]
    group = dist.new_group([number - 1, 0])
    if rank in (0, number - 1):
        y = torch.tensor([float(rank + 1)])
        dist.all_reduce(y, group=group)
        found += [dist.get_rank(group), dist.get_process_group_ranks(group), plain(y)]
        dist.broadcast(y.fill_(rank), src=number - 1, group=group)
        found.append(plain(y))
    else:
        found.append(dist.get_rank(group))
    dist.monitored_barrier()
    dist.barrier()
    dist.destroy_process_group()
    return found


def asynchronous(rank: int, number: int, folder: Any) -> list[Any]:
    begin(rank, number, folder)
    tensors = [torch.full((1000,), float(i + rank)).reshape(10, 100).t() for i in range(20)]
    works = [dist.all_reduce(t, async_op=True) for t in tensors]
    futures = [work.get_future().then(lambda f: float(f.value()[0].sum())) for work in works]
    found: list[Any] = [future.wait() for future in futures]
    work = dist.all_reduce(torch.ones(3), async_op=True)
    end = time.monotonic() + 20
    while not work.is_completed() and time.monotonic() < end:  # nobody waits
        time.sleep(0.001)
    found += [work.is_success(), work.exception(), plain(work.result())]
    for _ in range(50):  # nobody keeps them
        dist.all_reduce(torch.ones(100), async_op=True)
    dist.barrier()
    dist.destroy_process_group()
    begin(rank, number, folder)  # again, with the same processes
    x = torch.ones(1)
    dist.all_reduce(x)
    return [*found, plain(x)]


def killed(rank: int, number: int, folder: Any, during: str) -> Any:
    """The last rank kills itself: the others say so at once, and go on without it."""
    begin(rank, number, folder, seconds=25)
    x = torch.ones(1 << 20)
    dist.all_reduce(x)
    if rank == number - 1:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    began = time.monotonic()
    calls = {
        "all_reduce": lambda: dist.all_reduce(x),
        "waiting": lambda: dist.all_reduce(x, async_op=True).wait(),
        "recv": lambda: dist.recv(x, number - 1),
        "barrier": lambda: dist.barrier(),
    }
    first = told(calls[during])
    took = time.monotonic() - began
    survivors = dist.new_group(range(number - 1), use_local_synchronization=True)
    y = torch.ones(1)
    dist.all_reduce(y, group=survivors)
    return first, took, plain(y)


def late(rank: int, number: int, folder: Any) -> Any:
    """Timeouts: of a collective, and of a receive that can be tried again."""
    begin(rank, number, folder, seconds=20)
    found: list[Any] = []
    group = dist.new_group(range(number), timeout=timedelta(milliseconds=700))
    if rank == 0:
        began = time.monotonic()
        found.append(told(lambda: dist.recv(torch.zeros(1), 1, group=group)))
        found.append(told(lambda: dist.all_reduce(torch.zeros(1), group=group)))
        found.append(time.monotonic() - began)
        found.append(told(lambda: dist.all_reduce(torch.zeros(1), group=group)))
    dist.barrier()  # of the default group, which is not touched
    other = dist.new_group(range(number))
    if rank == 0:
        found.append(told(lambda: dist.monitored_barrier(other, timedelta(milliseconds=300), wait_all_ranks=True)))
    dist.barrier()
    return found


def missing(rank: int, number: int, folder: Any) -> Any:
    """A rank that never comes."""
    (folder / f"here {rank}").touch()
    while not all((folder / f"here {r}").exists() for r in range(number)):
        time.sleep(0.01)
    return told(lambda: begin(rank, number + 1, folder, seconds=1.5))


def store_values(rank: int, number: int, folder: Any, kind: str, port: int) -> Any:
    timeout = timedelta(seconds=20)
    if kind == "tcp":
        store = dist.TCPStore("localhost", port, number, rank == 0, timeout)
    else:
        store = dist.FileStore(f"{folder}/keys", number)
    store = dist.PrefixStore("p", store)
    store.set(f"of {rank}", str(rank))
    found: list[Any] = [store.get(f"of {r}") for r in range(number)]
    store.add("sum", rank + 1)
    store.add("there", 1)
    while store.add("there", 0) < number:
        time.sleep(0.001)
    found += [store.get("sum"), store.check(["of 0", "none"]), store.compare_set("c", "", "v")]
    if rank == 0:
        time.sleep(0.1)
        store.queue_push("q", "first")
        store.set("late", "1")
    store.wait(["late"], timedelta(seconds=10))
    if rank == number - 1:
        found.append(store.queue_pop("q"))
    store.set_timeout(timedelta(milliseconds=100))
    found.append(told(lambda: store.get("none")))
    store.add("over", 1)
    while rank == 0 and store.add("over", 0) < number:
        time.sleep(0.001)
    return found
