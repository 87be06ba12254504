"""What the ranks run whose tensors are on CUDA devices: real ones with NCCL, or the tests' own driver and library."""

from __future__ import annotations

import ctypes
import functools
import os
import time
from datetime import timedelta
from typing import Any

from collective_programs import dist, plain, told, torch, values

here = torch.Tensor.cuda
REDUCED = "bool uint8 int8 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
OPS = "SUM AVG PRODUCT MIN MAX BAND BOR BXOR".split()


def begin(rank: int, number: int, folder: Any, seconds: float = 40.0, backend: str = "nccl", **more: Any) -> None:
    if torch.cuda.device_count() >= number:
        torch.cuda.set_device(rank)
    dist.init_process_group(
        backend, init_method=f"file://{folder}/store", rank=rank, world_size=number, timeout=timedelta(seconds=seconds), **more
    )  # fmt: skip


def seen(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return plain(value.cpu())
    return [seen(v) for v in value] if isinstance(value, (list, tuple)) else value


def answer(call: Any) -> Any:
    """What a call gives, or the kind and the text of its error."""
    found: list[Any] = []
    error = told(lambda: found.append(seen(call())))
    return found[0] if found else error


def reductions(rank: int, number: int, folder: Any) -> dict[Any, Any]:
    begin(rank, number, folder)
    found: dict[Any, Any] = {}
    for dtype in REDUCED:
        for name in OPS:
            op = getattr(dist.ReduceOp, name)

            def all_reduce(x: Any = here(values(dtype, rank)), op: Any = op) -> Any:
                dist.all_reduce(x, op)
                return x

            def scattered(x: Any = values(dtype, rank, (number, 4)), op: Any = op) -> Any:
                out = torch.empty(4, dtype=x.dtype, device="cuda")
                dist.reduce_scatter_tensor(out, here(x.reshape(-1)), op)
                return out

            def reduce(x: Any = here(values(dtype, rank)), op: Any = op) -> Any:
                dist.reduce(x, number - 1, op)
                return x if rank == number - 1 else None

            found["all_reduce", dtype, name] = answer(all_reduce)
            if name in ("SUM", "AVG", "MAX"):
                found["reduce", dtype, name] = answer(reduce)
                found["reduce_scatter", dtype, name] = answer(scattered)
    found["int16"] = answer(lambda: dist.all_reduce(here(torch.zeros(2, dtype=torch.int16))))
    for dtype in ("float32", "float16", "bfloat16", "float64"):

        def scaled(factor: Any, dtype: str = dtype) -> Any:
            x = here(values(dtype, rank))
            dist.all_reduce(x, dist._make_nccl_premul_sum(factor))
            return x

        on_device = here(torch.tensor([0.25]).to(getattr(torch, dtype)))
        # PyTorch refuses a number for bfloat16.
        found["premul", dtype] = answer(lambda: scaled(0.5)), answer(functools.partial(scaled, on_device))
    found["cpu"] = answer(lambda: dist.all_reduce(torch.zeros(2)))
    found["strided"] = answer(lambda: dist.all_reduce(here(torch.zeros(4, 4)).t()[1:]))
    dist.destroy_process_group()
    return found


def movements(rank: int, number: int, folder: Any) -> dict[Any, Any]:
    begin(rank, number, folder)
    found: dict[Any, Any] = {}
    for dtype in REDUCED:
        x = here(values(dtype, rank, (number, 4)))

        def empty(*shape: int, like: Any = x) -> Any:
            return torch.empty(*shape, dtype=like.dtype, device="cuda")

        def gathered(x: Any = x, empty: Any = empty) -> Any:
            parts = [empty(number, 4) for _ in range(number)]
            dist.all_gather(parts, x)
            at_root = [empty(number, 4) for _ in range(number)] if rank == 1 else None
            dist.gather(x, at_root, dst=1)
            whole = empty(number * number, 4)
            dist.all_gather_into_tensor(whole, x)
            return parts, at_root, whole

        def spread(x: Any = x, empty: Any = empty) -> Any:
            y, z = x.clone(), empty(number, 4)
            dist.broadcast(y, 1)
            dist.scatter(z, [x.clone() for _ in range(number)] if rank == 0 else None, src=0)
            return y, z

        def exchanged(x: Any = x, empty: Any = empty) -> Any:
            out, parts = empty(number, 4), [empty(4) for _ in range(number)]
            dist.all_to_all_single(out, x)
            dist.all_to_all(parts, list(x.unbind(0)))
            return out, parts

        for name, call in (("gathered", gathered), ("spread", spread), ("exchanged", exchanged)):
            found[name, dtype] = answer(call)
    rows = here(torch.arange(rank + 1 + number * 2).float())
    sizes = [2] * (number - 1) + [rank + 3]
    uneven = torch.empty(2 * number if rank < number - 1 else sum(r + 3 for r in range(number)), device="cuda")
    theirs = [2] * number if rank < number - 1 else [r + 3 for r in range(number)]
    found["uneven"] = answer(lambda: (dist.all_to_all_single(uneven, rows, theirs, sizes), uneven)[1])
    lists = [here(torch.ones(r + 1) + rank) for r in range(number)]
    part = torch.empty(rank + 1, device="cuda")
    found["uneven lists"] = answer(lambda: (dist.reduce_scatter(part, lists), part)[1])
    sized = [torch.empty(r + 1, device="cuda") for r in range(number)]
    found["uneven gather"] = answer(lambda: (dist.all_gather(sized, here(torch.ones(rank + 1) + rank)), sized)[1])
    dist.destroy_process_group()
    return found


def together(rank: int, number: int, folder: Any) -> list[Any]:
    """Coalesced calls, messages, objects, subgroups, asynchronous works and their futures."""
    begin(rank, number, folder, device_id=torch.device("cuda", rank if torch.cuda.device_count() >= number else 0))
    tensors = [here(torch.full((3,), float(rank + i))) for i in range(4)]
    with dist._coalescing_manager(device=torch.device("cuda"), async_ops=True) as manager:
        for x in tensors:
            dist.all_reduce(x)
    manager.wait()
    found: list[Any] = [seen(tensors)]
    with dist._coalescing_manager(device=torch.device("cuda")):
        dist.all_reduce(tensors[0])
        dist.all_reduce(tensors[1])
    dist.all_reduce_coalesced(tensors[2:])
    found.append(seen(tensors))
    right, left = (rank + 1) % number, (rank - 1) % number
    sent, got = here(torch.full((8,), float(rank))), torch.empty(8, device="cuda")
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, sent, right), dist.P2POp(dist.irecv, got, left)]):
        work.wait()
    found.append(seen(got))
    if rank == 0:
        dist.send(sent, 1)
        found.append(dist.recv(got, 1))
    elif rank == 1:
        found.append(dist.recv(got, 0))
        dist.send(sent, 0)
    else:
        found.append(None)
    work = dist.all_reduce(tensors[0], async_op=True)
    future = work.get_future().then(lambda f: f.value()[0].cpu().tolist())
    work.wait(timedelta(seconds=10))
    found += [work.is_completed(), answer(work.exception), future.wait(), seen(work.result())]
    objects: list[Any] = [None] * number
    dist.all_gather_object(objects, {"rank": rank})
    shared = ["a", {1: 2}] if rank == 1 else [None, None]
    dist.broadcast_object_list(shared, src=1)
    found += [objects, shared]
    group = dist.new_group([0, number - 1])
    if rank in (0, number - 1):
        y = here(torch.tensor([float(rank + 1)]))
        dist.all_reduce(y, group=group)
        found.append(seen(y))
    else:
        found.append(None)
    half = dist.split_group(split_ranks=[[0, 1], list(range(2, number))] if number > 2 else [[0, 1]])
    z = here(torch.tensor([float(rank + 1)]))
    dist.all_reduce(z, group=half)
    found += [dist.get_process_group_ranks(half), seen(z)]
    pointer = half._get_backend(torch.device("cuda"))._comm_ptr()
    found.append(isinstance(pointer, int) and pointer > 0)
    dist.barrier()
    dist.destroy_process_group()
    return found


def asked_for_streams(rank: int, number: int, folder: Any) -> tuple[int, int]:
    """How often CuPy's current stream was asked for with the interpreter's lock, and without; of the simulated library only."""
    from shim_torch._impl.native import _core

    library = ctypes.CDLL(os.environ["SHIM_NCCL_PATH"])
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    getter = ctypes.cast(library.simulated_stream_getter, ctypes.c_void_p)
    _core.cuda_use_cupy_stream_getter(capsule(getter, None, None))
    begin(rank, number, folder)
    x = here(torch.ones(8))
    dist.all_reduce(x)
    dist.all_reduce(x, async_op=True).wait()
    dist.all_reduce(x, async_op=True).wait(timedelta(seconds=20))
    with dist._coalescing_manager(device=torch.device("cuda")):
        dist.all_reduce(x)
    dist.send(x, 1) if rank == 0 else dist.recv(x, 0)
    dist.barrier()
    dist.group.WORLD._device_engine.communicator(x.device.index)
    dist.destroy_process_group()
    return library.simulated_stream_asked(1), library.simulated_stream_asked(0)


def stuck(rank: int, number: int, folder: Any, how: str) -> Any:
    """Rank 0 calls what rank 1 does not: the watchdog sees it."""
    os.environ["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = how
    begin(rank, number, folder, seconds=30)
    group = dist.new_group(range(number), timeout=timedelta(milliseconds=600))
    x = here(torch.ones(8))
    dist.all_reduce(x, group=group)
    if rank:
        time.sleep(4)
        return None
    os.environ["SIMULATED_NCCL_PATIENCE"] = "1"
    ctypes.CDLL(None).setenv(b"SIMULATED_NCCL_PATIENCE", b"1", 1)
    work = dist.all_reduce(x, group=group, async_op=True)
    began = time.monotonic()
    while work.exception() is None and time.monotonic() - began < 20:
        time.sleep(0.05)
    found: list[Any] = [told(work.wait), time.monotonic() - began]
    time.sleep(0.3)
    return [*found, told(lambda: dist.all_reduce(x, group=group))]


def lost(rank: int, number: int, folder: Any) -> Any:
    """The last rank ends: who waits on the host for a collective with it learns of it."""
    os.environ["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "2"
    begin(rank, number, folder, seconds=20)
    x = here(torch.ones(1 << 20))
    dist.all_reduce(x)
    torch.cuda.synchronize()
    if rank == number - 1:
        os.kill(os.getpid(), 9)
    time.sleep(0.2)
    began = time.monotonic()
    first = told(lambda: dist.all_reduce(x, async_op=True).wait(timedelta(seconds=15)))
    return first, time.monotonic() - began, told(lambda: dist.all_reduce(x))
