"""Kernels for test_triton_arrays.py, imported in scope."""

import triton
import triton.language as tl

seen = []  # what a heuristic was asked about


@triton.jit
def add_one(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, (x + 1).to(x.dtype), mask=at < n)


def block_of(args):
    seen.append(type(args["x_ptr"]))
    return triton.next_power_of_2(args["x_ptr"].numel())


add_one_with_heuristics = triton.heuristics({"BLOCK": block_of})(add_one)
add_one_tuned = triton.autotune(
    [triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=["n"], reset_to_zero=["out_ptr"]
)(add_one)
