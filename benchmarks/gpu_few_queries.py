"""Device time of attention of few queries over many keys, as in steps of generation: ``python gpu_few_queries.py ours|torch``.

A graph of calls over several sets of keys and values, together more than the second-level cache holds, so that they are read from
memory. bfloat16; batch x heads / heads of keys x queries x keys x size; microseconds, the median of five batches of replays.
"""

from __future__ import annotations

import sys
from typing import Any

from gpu_slowest import device_time

SHAPES = [
    (8, 32, 32, 1, 2048, 128),
    (1, 32, 32, 1, 512, 128),
    (1, 32, 32, 1, 2048, 128),
    (1, 32, 32, 1, 8192, 128),
    (1, 32, 8, 1, 512, 128),
    (1, 32, 8, 1, 2048, 128),
    (1, 32, 8, 1, 8192, 128),
    (8, 32, 8, 1, 2048, 128),
    (32, 32, 8, 1, 2048, 128),
    (1, 64, 8, 1, 16384, 128),
    (1, 16, 16, 1, 1024, 64),
    (1, 32, 8, 1, 4096, 64),
    (8, 16, 16, 1, 2048, 64),
    (16, 16, 16, 1, 1024, 64),
    (32, 16, 16, 1, 2048, 64),
    (1, 12, 12, 1, 256, 64),
    (1, 32, 32, 1, 4096, 80),
    (1, 32, 32, 4, 2048, 128),
    (1, 32, 8, 16, 2048, 128),
    (4, 32, 8, 16, 4096, 128),
    (1, 32, 32, 64, 4096, 128),
]
MOST_BYTES, CALLS = 240e6, 32


def microseconds(torch: Any, shape: tuple[int, ...]) -> float:
    """A call's time on the device."""
    batch, heads, of_keys, rows, cols, size = shape
    sets = max(1, min(16, int(MOST_BYTES / (batch * of_keys * cols * size * 4))))
    wanted = ((heads, rows), (of_keys, cols), (of_keys, cols))
    given = [
        [torch.randn(batch, h, n, size, device="cuda", dtype=torch.bfloat16) for h, n in wanted] for _ in range(sets)
    ]

    def call(i: int) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(*given[i], enable_gqa=heads != of_keys)

    graph, aside = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        call(0)
    torch.cuda.current_stream().wait_stream(aside)
    with torch.cuda.graph(graph):
        results = [call(i) for _ in range(max(1, CALLS // sets)) for i in range(sets)]
    return device_time(torch, graph.replay, n=3) / len(results)


def main(library: str) -> None:
    """Prints a line a shape."""
    if library == "ours":
        import shim_torch as torch
    else:
        import torch
    with torch.no_grad():
        for shape in SHAPES:
            batch, heads, of_keys, rows, cols, size = shape
            name = f"{batch}x{heads}/{of_keys}x{rows}x{cols}x{size}"
            print(f"{name:24}{microseconds(torch, shape):8.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
