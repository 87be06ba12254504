"""Calls that took longest beside PyTorch's on a GPU: microseconds on the device and until they return.

``python gpu_slowest.py measure torch a.json`` in PyTorch's environment, ``... measure shim_torch b.json`` with this project's root on
``PYTHONPATH``, and ``python gpu_slowest.py show b.json a.json``.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Cases = dict[str, Callable[[], Any]]


def device_time(torch: Any, call: Callable[[], Any], n: int = 20) -> float:
    """Median of 5 batches, between two events."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    found = []
    for _ in range(5):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(n):
            call()
        end.record()
        torch.cuda.synchronize()
        found.append(begin.elapsed_time(end) * 1000 / n)
    return statistics.median(found)


def host_time(torch: Any, call: Callable[[], Any], n: int = 40) -> float:
    """Median of 7 batches, until the calls return."""
    found = []
    for _ in range(7):
        begin = time.perf_counter()
        for _ in range(n):
            call()
        found.append((time.perf_counter() - begin) * 1e6 / n)
        torch.cuda.synchronize()
    return statistics.median(found)


def attention(torch: Any) -> Cases:
    sdpa = torch.nn.functional.scaled_dot_product_attention
    cases: Cases = {}
    shapes = {
        "4x16x1024x64": (4, 16, 1024, 64),
        "4x16x1024x128": (4, 16, 1024, 128),
        "16x4096x128": (1, 16, 4096, 128),
        "2x16x4096x64": (2, 16, 4096, 64),
    }
    mask = torch.rand(1024, 1024, device="cuda") > 0.3
    kinds: dict[str, dict[str, Any]] = {
        "": {},
        " causal": {"is_causal": True},
        " mask": {"attn_mask": mask},
        " dropout": {"dropout_p": 0.1},
    }
    for size, shape in shapes.items():
        for dtype in ("bfloat16", "float32"):
            for kind, how in kinds.items():
                if (dtype == "float32" and shape != (4, 16, 1024, 64)) or (
                    kind in (" mask", " dropout") and (shape != (4, 16, 1024, 64) or dtype == "float32")
                ):
                    continue
                own = [torch.randn(*shape, device="cuda").to(getattr(torch, dtype)).requires_grad_() for _ in range(3)]
                plain, weigh = [t.detach() for t in own], torch.randn_like(own[0])
                out = sdpa(*own, **how)
                cases[f"sdpa {size}{kind} {dtype}"] = lambda a=plain, h=how: sdpa(*a, **h)
                cases[f"sdpa {size}{kind} {dtype} bwd"] = lambda o=out, a=own, w=weigh: torch.autograd.grad(
                    o, a, w, retain_graph=True
                )
    return cases


def others(torch: Any) -> Cases:
    f, fft, nn = torch.nn.functional, torch.fft, torch.nn

    def normal(*shape: int) -> Any:
        return torch.randn(*shape, device="cuda")

    square, image, shuffled, spread = (
        normal(4096, 4096),
        normal(16, 32, 64, 64),
        normal(16, 64, 64, 64),
        normal(16, 16, 128, 128),
    )
    columns, maps, rates, line = (
        f.unfold(image, 3, padding=1),
        normal(16, 2, 3),
        torch.rand(4096, 4096, device="cuda") * 10,
        normal(64, 16384),
    )
    wave, half, plane, small = (
        line.to(torch.complex64),
        fft.rfft(line),
        normal(8, 128, 128).to(torch.complex64),
        normal(2, 16, 32, 32),
    )
    conv, norm = nn.Conv2d(16, 16, 3, padding=1).cuda(), nn.BatchNorm2d(16).cuda()
    lstm, gru, row, x, y = (
        nn.LSTMCell(256, 256).cuda(),
        nn.GRUCell(256, 256).cuda(),
        normal(64, 256),
        normal(1024),
        normal(1024),
    )
    return {
        "std 4096x4096, dim 0": lambda: square.std(0), "pixel_shuffle": lambda: f.pixel_shuffle(shuffled, 2),
        "pixel_unshuffle": lambda: f.pixel_unshuffle(spread, 2), "pad reflect": lambda: f.pad(image, (2, 2, 2, 2), mode="reflect"),
        "unfold 3x3": lambda: f.unfold(image, 3, padding=1), "fold 3x3": lambda: f.fold(columns, (64, 64), 3, padding=1),
        "affine_grid": lambda: f.affine_grid(maps, (16, 3, 128, 128), align_corners=False), "poisson": lambda: torch.poisson(rates),
        "digamma": lambda: torch.digamma(square), "signbit": lambda: torch.signbit(square), "fft 64x16384": lambda: fft.fft(wave),
        "rfft 64x16384": lambda: fft.rfft(line), "irfft 64x16384": lambda: fft.irfft(half), "fft2 8x128x128": lambda: fft.fft2(plane),
        "conv2d small": lambda: conv(small), "batch_norm small": lambda: norm(small), "LSTMCell": lambda: lstm(row), "GRUCell": lambda: gru(row),
        "add out=": lambda: torch.add(x, x, out=y), "dropout2d": lambda: f.dropout2d(shuffled, 0.5),
    }  # fmt: skip


def measure(name: str, file: str) -> None:
    torch = importlib.import_module(name)
    found: dict[str, Any] = {}
    for call, run in attention(torch).items():
        found[call] = device_time(torch, run), host_time(torch, run)
    with torch.no_grad():
        for call, run in others(torch).items():
            found[call] = device_time(torch, run), host_time(torch, run)
    Path(file).write_text(
        json.dumps({"version": torch.__version__, "device": torch.cuda.get_device_name(), "calls": found})
    )


def show(mine: str, peer: str) -> None:
    a, b = (json.loads(Path(file).read_text()) for file in (mine, peer))
    print(f"{a['device']}, ours {a['version']}, peer {b['version']}\n")
    print(f"{'':40}{'device':>10}{'PyTorch':>10}{'ratio':>8}{'host':>12}{'PyTorch':>10}{'ratio':>8}")
    for call, (device, host) in a["calls"].items():
        other, theirs = b["calls"][call]
        print(
            f"{call:40}{device:10.1f}{other:10.1f}{device / other:8.2f}{host:12.1f}{theirs:10.1f}{host / theirs:8.2f}"
        )


if __name__ == "__main__":
    {"measure": measure, "show": show}[sys.argv[1]](*sys.argv[2:])
