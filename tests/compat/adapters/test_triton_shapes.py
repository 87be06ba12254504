"""Shapes of blocks, which the interpreter keeps: the same answers, the same refusals, made once."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import shim_torch as torch
from compat import torch_proxy

if importlib.util.find_spec("triton") is None:
    pytest.skip("Triton is not installed", allow_module_level=True)
if torch.cuda.is_available():
    pytest.skip("the interpreter is for machines with no GPU", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parent))
with torch_proxy({"triton"}):
    import kernels_of_shapes as kernels
    import triton.language as tl


@pytest.mark.parametrize("block", [4, 16])
def test_sizes_in_a_kernel(block):
    out = torch.zeros(5)
    kernels.sizes[(2,)](out, torch.arange(float(block)), BLOCK=block)
    assert out.tolist() == [block * block, block * block, 2, block, 1]


@pytest.mark.parametrize("size, message", [(16.0, "must have type"), (24, "power of 2"), (2**21, "maximum")])
def test_sizes_that_no_block_has(size, message):
    out = torch.zeros(1)
    kernels.zeros_of[(1,)](out, SIZE=16)
    assert out.item() == 16
    with pytest.raises(Exception, match=message):
        kernels.zeros_of[(1,)](out, SIZE=size)


def test_blocks_of_pointers_and_numbers():
    x, out = torch.arange(8).to(torch.float16), torch.zeros(8)
    kernels.halves[(1,)](x, out, BLOCK=8)
    assert out.tolist() == [0, 1, 2, 1.5, 3.5, 3.5, 3.5, 3.5]


def test_types_of_blocks():
    first, second = tl.block_type(tl.float32, [4, 8]), tl.block_type(tl.float32, [tl.constexpr(4), 8])
    assert first == second and first.shape is second.shape and first.numel == 32
    assert str(first) == str(second) and str(tl.block_type(tl.int8, [4, 8])) == str(first).replace("fp32", "int8")
    assert (
        first != tl.block_type(tl.float32, [8, 4])
        and first != tl.block_type(tl.float16, [4, 8])
        and first != tl.float32
    )
    pointers = tl.block_type(tl.pointer_type(tl.float32), [4, 8])
    assert pointers.shape is first.shape and pointers.element_ty == tl.pointer_type(tl.float32) and pointers != first
    for wrong in ([4.0, 8], [3]):
        with pytest.raises((TypeError, ValueError)):
            tl.block_type(tl.float32, wrong)
    with pytest.raises(TypeError, match="0d block_type"):
        tl.block_type(tl.float32, [])


def test_a_shape_is_checked_once(monkeypatch):
    core, seen = sys.modules["triton.language.core"], []
    check = core.validate_block_shape
    monkeypatch.setattr(core, "validate_block_shape", lambda shape: (seen.append(tuple(shape)), check(shape))[1])
    out = torch.zeros(5)
    for _ in range(3):
        kernels.sizes[(2,)](out, torch.arange(4.0), BLOCK=4)
    assert len(seen) <= 12
    np.testing.assert_array_equal(out.numpy(), [16, 16, 2, 4, 1])


def test_sums_overflow_silently_unless_debugged():
    x, out = torch.tensor([2**31 - 1, 5], dtype=torch.int32), torch.zeros(2, dtype=torch.int32)
    kernels.grows[(1,)](x, out, BLOCK=2)
    assert out.tolist() == [-(2**31), 6]
    with pytest.raises(Exception, match="overflow detected"):
        kernels.grows[(1,)](x, out, BLOCK=2, debug=True)
    kernels.grows[(1,)](x - 1, out, BLOCK=2, debug=True)
    assert out.tolist() == [2**31 - 1, 5]


@pytest.mark.parametrize("rows, columns", [(4, 8), (1, 4), (4, 1), (2, 2)])
def test_rows_and_columns_are_broadcast(rows, columns):
    x, y, out = torch.arange(1.0, rows + 1), torch.arange(columns) * 0.5, torch.zeros(rows, columns)
    kernels.table[(1,)](x, y, out, ROWS=rows, COLUMNS=columns, WRONG=False)
    a, b = x.numpy()[:, None], y.numpy()[None, :]
    np.testing.assert_array_equal(out.numpy(), a * b + b - a)


def test_blocks_that_do_not_match():
    with pytest.raises(Exception, match="incompatible dimensions"):
        kernels.table[(1,)](torch.zeros(4), torch.zeros(8), torch.zeros(4, 8), ROWS=4, COLUMNS=8, WRONG=True)


def test_a_grid_gets_and_exchanges_the_callers_arguments():
    counts, out, seen = torch.zeros(1), torch.zeros(4), {}

    def grid(meta):
        seen.update(meta)
        meta["counts"].resize_(3).fill_(2.0)
        meta["n"] = 5
        return [meta["counts"].nelement()]

    kernels.rows[grid](counts, out, n=4, BLOCK=8, num_warps=2)
    assert seen["counts"] is counts and seen["out"] is out and (seen["n"], seen["BLOCK"], seen["OFFSET"]) == (4, 8, 1)
    assert type(seen["n"]) is int
    assert out.tolist() == [11, 11, 11, 0]

    def exchange(meta):
        meta["counts"] = torch.arange(4.0)
        return (4,)

    kernels.rows[exchange](counts, out, 2, 8, OFFSET=3)
    assert out.tolist() == [3, 5, 7, 9]
