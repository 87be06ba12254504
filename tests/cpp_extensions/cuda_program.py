"""Builds ``cuda_module.cpp`` and ``cuda.cu`` with the torch that is there, and prints what they do on the GPU: ``python cuda_program.py FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from program import show
from torch.utils import cpp_extension

HERE = Path(__file__).resolve().parent


def main(folder: Path) -> None:
    """The lines are PyTorch's too."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = [str(HERE / "cuda_module.cpp"), str(HERE / "cuda.cu")]
    m = cpp_extension.load("shim_cxx_cuda", sources, extra_cflags=["-O1"], build_directory=str(folder))
    x = torch.arange(8.0, device="cuda")
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        show(f"axpy {dtype}", lambda dtype=dtype: m.axpy(x.to(dtype), torch.ones(8, device="cuda").to(dtype), 1.5))
    show("axpy int", lambda: m.axpy(x.int(), x.int(), 1.0))
    show("axpy cpu", lambda: m.axpy(x.cpu(), x, 1.0))
    small = torch.arange(32, device="cuda") % 3
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.int16):
        show(f"sums {dtype}", lambda dtype=dtype: m.sums(small.to(dtype)))
    show("sums uint8", lambda: m.sums(small.byte())[:1])
    show("complex", lambda: torch.view_as_real(m.complex(torch.tensor([1 + 2j, 3 - 1j], device="cuda"))))
    torch.manual_seed(7)
    show("drawn", lambda: [m.drawn(4), m.drawn(8)])
    g = torch.Generator("cuda").manual_seed(7)
    show("drawn of a generator", lambda: [m.drawn(4, g), g.get_offset()])
    show("drawn of another device", lambda: m.drawn(3, torch.Generator("cpu")))
    show("diagonal", lambda: m.diagonal(torch.arange(9.0, device="cuda").view(3, 3)))
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.uint8, torch.int64):
        grid = torch.arange(12.0, device="cuda").view(3, 4).to(dtype)
        show("largest", lambda grid=grid: [m.largest(grid), m.largest(grid.t()), m.largest(grid[:2, 1:3])])
    show("bad launch", lambda: m.bad_launch())
    show("check", lambda: [m.check(False), m.wide(7)])
    show("failed check", lambda: m.check(True))
    show("streams", lambda: m.streams())
    show("device", lambda: m.device())
    with torch.cuda.stream(torch.cuda.Stream()) as _:
        show("stream", lambda: m.stream_now() == torch.cuda.current_stream().cuda_stream)
    a, b = x.view(2, 4), x.view(4, 2)
    show("product", lambda: [m.product(a, b), m.product(a.half(), b.half())])
    torch.cuda.synchronize()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
