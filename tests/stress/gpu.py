"""A GPU's programs: memory over a million operators, threads with streams, out of memory, more than 2^31 elements."""

from __future__ import annotations

import threading

from harness import count, main

import shim_torch as torch


def flat_memory(scale: float) -> str:
    """What the process holds of the GPU is the same after the operators as before."""
    n, x = count(scale, 10**6, 1000), torch.ones(1000, device="cuda", requires_grad=True)

    def held() -> tuple[int, int]:
        torch.cuda.synchronize()
        return torch.cuda.memory_allocated(), torch.cuda.memory_reserved()

    def work(times: int) -> None:
        for _ in range(times // 4):
            (x * 2).exp().sum()
            torch.cat([x, x]).view(2, -1)

    work(1000)
    before = held()
    work(n)
    if held() != before:
        raise AssertionError(f"allocated and reserved: {before} before, {held()} after")
    return f"{n} operators"


def streams(scale: float) -> str:
    """Eight threads, each on its stream."""
    rounds, answers = count(scale, 2000, 20), {}

    def thread(k: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            x = torch.full((100_000,), float(k), device="cuda", requires_grad=True)
            total = torch.zeros((), dtype=torch.float64, device="cuda")
            for _ in range(rounds):
                x.grad = None
                (x * x).sum().backward()
                total += x.grad.double().sum()
            answers[k] = total.item()

    threads = [threading.Thread(target=thread, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    wanted = {k: 2.0 * k * 100_000 * rounds for k in range(8)}
    if answers != wanted:
        raise AssertionError(f"{answers}, not {wanted}")
    return f"8 threads x {rounds} backward passes"


def out_of_memory(scale: float) -> str:
    """After each refusal the memory is there again, and so are the right numbers."""
    times, free = count(scale, 100, 3), torch.cuda.mem_get_info()[0]
    for _ in range(times):
        kept = []
        try:
            while True:
                kept.append(torch.empty(free // 3, dtype=torch.uint8, device="cuda"))
                if len(kept) > 4:
                    raise AssertionError("more memory than there is")
        except torch.cuda.OutOfMemoryError:
            kept.clear()
        torch.cuda.empty_cache()
        if torch.ones(1000, device="cuda").sum().item() != 1000:
            raise AssertionError("wrong after out of memory")
    return f"{times} refusals"


def many_elements(scale: float) -> str:
    """Elements beyond the 2^31st are written, read, summed and moved."""
    n = 2**31 + 4096
    x = torch.zeros(n, dtype=torch.int8, device="cuda")
    x[-3:] = 5
    y = (x + 1).flip(0)
    found = [
        x.sum(dtype=torch.int64).item(),
        x[n - 1].item(),
        y[:3].tolist(),
        int(x.argmax()) >= n - 3,
        x.nonzero()[0].item() == n - 3,
    ]
    if found != [15, 5, [6, 6, 6], True, True]:
        raise AssertionError(str(found))
    return f"{n} elements"


if __name__ == "__main__":
    functions = (flat_memory, streams, out_of_memory, many_elements)
    main({f"gpu: {f.__name__.replace('_', ' ')}": f for f in functions})
