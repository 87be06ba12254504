"""Eager CPU operators of shim_torch against PyTorch, in two interpreters that take turns, on the same random data.

    python benchmarks/cpu_eager.py --torch-python /path/to/python/with/torch

    python benchmarks/cpu_eager.py --base /path/to/python/with/an/older/shim_torch    # both as they are installed

Prints the median time of a call in microseconds for both, and their ratio (below 1: shim_torch is faster).
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from side_by_side import Cases, Side, compare, machine, print_table, serve, version_of


def view_cases(torch: Any) -> Cases:
    """Views, new tensors and pointwise calls."""
    a, b, m, n = (torch.randn(*s) for s in ((8,), (8,), (8, 8), (8, 8)))
    vector, one, other_one = torch.randn(1000), torch.randn(1), torch.randn(1)
    mask = torch.randn(8) > 0
    leaf = torch.randn(8, requires_grad=True)
    return {
        "view": lambda: vector.view(10, 100),
        "transpose": lambda: m.transpose(0, 1),
        "permute": lambda: m.permute(1, 0),
        "unsqueeze": lambda: a.unsqueeze(0),
        "expand": lambda: one.expand(8),
        "narrow": lambda: vector.narrow(0, 1, 10),
        "select": lambda: m.select(0, 1),
        "x[1:]": lambda: vector[1:],
        "x[:, 1]": lambda: m[:, 1],
        "x[None]": lambda: a[None],
        "detach": lambda: a.detach(),
        "split": lambda: vector.split(250),
        "chunk": lambda: vector.chunk(4),
        "unbind": lambda: m.unbind(0),
        "empty 1": lambda: torch.empty(1),
        "empty 1e6": lambda: torch.empty(1000000),
        "zeros 8": lambda: torch.zeros(8),
        "full 8": lambda: torch.full((8,), 2.0),
        "arange 8": lambda: torch.arange(8),
        "tensor([1, 2, 3])": lambda: torch.tensor([1, 2, 3]),
        "empty_like": lambda: torch.empty_like(a),
        "item": lambda: one.item(),
        "add 1": lambda: torch.add(one, other_one),
        "add with gradient": lambda: leaf + leaf,
        "mul by number": lambda: a * 2.0,
        "add_": lambda: a.add_(0.0),
        "exp": lambda: torch.exp(a),
        "eq": lambda: a == b,
        "gt number": lambda: a > 0.5,
        "where": lambda: torch.where(mask, a, b),
        "clamp": lambda: a.clamp(-1, 1),
        "relu": lambda: torch.relu(a),
        "gelu": lambda: torch.nn.functional.gelu(a),
        "to bfloat16": lambda: a.to(torch.bfloat16),
        "clone": lambda: a.clone(),
        "contiguous": lambda: m.t().contiguous(),
    }


def reduction_cases(torch: Any) -> Cases:
    """Reductions, selections and products."""
    a, b, m, n = (torch.randn(*s) for s in ((8,), (8,), (8, 8), (8, 8)))
    index, mask = torch.tensor([3, 1, 2]), torch.randn(8) > 0
    return {
        "sum": lambda: a.sum(),
        "sum dim": lambda: m.sum(1),
        "mean": lambda: a.mean(),
        "mean dim": lambda: m.mean(-1, keepdim=True),
        "max": lambda: a.max(),
        "max dim": lambda: m.max(1),
        "argmax": lambda: m.argmax(1),
        "var": lambda: m.var(1),
        "std": lambda: a.std(),
        "var_mean": lambda: torch.var_mean(m, 1),
        "norm": lambda: a.norm(),
        "cumsum": lambda: m.cumsum(0),
        "logsumexp": lambda: m.logsumexp(1),
        "softmax": lambda: m.softmax(-1),
        "log_softmax": lambda: m.log_softmax(-1),
        "layer_norm": lambda: torch.nn.functional.layer_norm(m, (8,)),
        "cat": lambda: torch.cat((m, n), 0),
        "stack": lambda: torch.stack((a, b)),
        "index_select": lambda: m.index_select(0, index),
        "gather": lambda: m.gather(1, index[None]),
        "x[index]": lambda: m[index],
        "x[mask]": lambda: a[mask],
        "embedding": lambda: torch.nn.functional.embedding(index, m),
        "mm": lambda: m.mm(n),
        "matmul": lambda: m @ n,
        "matmul vector": lambda: m @ a,
        "addmm": lambda: torch.addmm(a, m, n),
        "linear": lambda: torch.nn.functional.linear(m, n, a),
        "topk": lambda: a.topk(2),
        "sort": lambda: a.sort(),
        "any": lambda: mask.any(),
    }


def small_cases(torch: Any) -> Cases:
    """Calls whose time is mostly the way to the kernel."""
    return {**view_cases(torch), **reduction_cases(torch)}


def large_cases(torch: Any) -> Cases:
    """Calls whose time is mostly the kernel."""
    x, y = torch.randn(1000000), torch.randn(1000000)
    m, n, row = torch.randn(1000, 1000), torch.randn(1000, 1000), torch.randn(1000)
    half, other_half = x.to(torch.bfloat16), y.to(torch.bfloat16)
    fp16, other_fp16 = x.to(torch.float16), y.to(torch.float16)
    index, mask = torch.randint(0, 1000, (1000,)), x > 0
    parts = [m[i * 100 : (i + 1) * 100] for i in range(10)]
    return {
        "add 1e6": lambda: torch.add(x, y),
        "add bfloat16 1e6": lambda: torch.add(half, other_half),
        "add float16 1e6": lambda: torch.add(fp16, other_fp16),
        "mul bfloat16 1e6": lambda: torch.mul(half, other_half),
        "add 1000x1000 + 1000": lambda: torch.add(m, row),
        "add 1000x1000 + its transpose": lambda: torch.add(m, n.t()),
        "mul by number 1e6": lambda: torch.mul(x, 2.0),
        "div 1e6": lambda: torch.div(x, y),
        "gt 1e6": lambda: x > y,
        "where 1e6": lambda: torch.where(mask, x, y),
        "clamp 1e6": lambda: x.clamp(-1, 1),
        "exp 1e6": lambda: torch.exp(x),
        "log 1e6": lambda: torch.log(x),
        "tanh 1e6": lambda: torch.tanh(x),
        "sigmoid 1e6": lambda: torch.sigmoid(x),
        "sin 1e6": lambda: torch.sin(x),
        "gelu 1e6": lambda: torch.nn.functional.gelu(x),
        "gelu tanh 1e6": lambda: torch.nn.functional.gelu(x, approximate="tanh"),
        "silu 1e6": lambda: torch.nn.functional.silu(x),
        "rsqrt 1e6": lambda: torch.rsqrt(x),
        "to bfloat16 1e6": lambda: x.to(torch.bfloat16),
        "to float32 1e6": lambda: half.to(torch.float32),
        "transposed copy 1000x1000": lambda: m.t().contiguous(),
        "sum 1e6": lambda: torch.sum(x),
        "sum rows 1000x1000": lambda: m.sum(1),
        "sum columns 1000x1000": lambda: m.sum(0),
        "sum bfloat16 1e6": lambda: half.sum(),
        "max 1e6": lambda: x.max(),
        "max rows 1000x1000": lambda: m.max(1),
        "argmax rows 1000x1000": lambda: m.argmax(1),
        "var rows 1000x1000": lambda: m.var(1),
        "std 1e6": lambda: x.std(),
        "norm 1e6": lambda: x.norm(),
        "cumsum rows 1000x1000": lambda: m.cumsum(1),
        "logsumexp 1000x1000": lambda: m.logsumexp(1),
        "softmax 1000x1000": lambda: m.softmax(1),
        "softmax columns 1000x1000": lambda: m.softmax(0),
        "log_softmax 1000x1000": lambda: m.log_softmax(1),
        "layer_norm 1000x1000": lambda: torch.nn.functional.layer_norm(m, (1000,)),
        "cat 10 of 100x1000": lambda: torch.cat(parts),
        "index_select 1000x1000": lambda: m.index_select(0, index),
        "embedding 1000x1000": lambda: torch.nn.functional.embedding(index, m),
        "x[mask] 1e6": lambda: x[mask],
        "mm 1000x1000": lambda: m @ n,
        "sort 1e6": lambda: x.sort(),
    }


def cases(torch: Any) -> Cases:
    """All measured calls by name."""
    torch.manual_seed(0)
    return {**small_cases(torch), **large_cases(torch)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", help="interpreter with PyTorch; without it only shim_torch is measured")
    parser.add_argument(
        "--base",
        help="interpreter of an environment with another commit installed, which the one that runs this is compared with",
    )
    parser.add_argument("--seconds", type=float, default=0.01, help="a turn")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each side")
    parser.add_argument("--threads", type=int, default=0, help="threads of both libraries; 0: as they come")
    parser.add_argument(
        "--clock",
        choices=["wall", "processor"],
        default="wall",
        help="processor: the time that the process got, which other programs do not stretch; for one thread",
    )
    parser.add_argument("--only", default="", help="cases whose name has this")
    parser.add_argument("--serve", choices=["torch", "shim_torch"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        torch = __import__(args.serve)
        if args.threads:
            torch.set_num_threads(args.threads)
        return serve(cases(torch), args.seconds, args.clock)
    script, extra = (
        os.path.abspath(__file__),
        ["--seconds", str(args.seconds), "--threads", str(args.threads), "--clock", args.clock],
    )
    print(machine())
    peer = "base" if args.base else "torch"
    sides = {"shim_torch": Side(sys.executable, script, "shim_torch", extra, bool(args.base))}
    print(version_of(sys.executable, "shim_torch", bool(args.base)))
    if args.base:
        sides["base"] = Side(args.base, script, "shim_torch", extra, True)
        print("base:", version_of(args.base, "shim_torch", True))
    elif args.torch_python:
        sides["torch"] = Side(args.torch_python, script, "torch", extra)
        print(version_of(args.torch_python, "torch"))
    print(
        f"medians of {args.rounds} turns of {args.seconds * 1e3:g} ms, sides alternating; spread: between quartiles\n"
    )
    print_table(compare(sides, args.rounds, args.only), "shim_torch", peer)
    for side in sides.values():
        side.close()


if __name__ == "__main__":
    main()
