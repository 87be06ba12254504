"""out= of meta tensors, for which PyTorch's operators are written in Python: its words for dtypes and devices there."""

from __future__ import annotations

import pytest

import shim_torch as torch

M = torch.ones(3, 3, device="meta")
IMAGE = torch.ones(1, 1, 2, 2, device="meta")
EXACT = {
    "mm": lambda out: torch.mm(M, M, out=out(3, 3)),
    "matmul": lambda out: torch.matmul(M[None], M[None], out=out(1, 3, 3)),
    "addmv": lambda out: torch.addmv(M[0], M, M[0], out=out(3)),
    "baddbmm": lambda out: torch.baddbmm(M[None], M[None], M[None], out=out(1, 3, 3)),
    "nearest": lambda out: torch._C._nn.upsample_nearest2d(IMAGE, (4, 4), out=out(1, 1, 4, 4)),
    "nearest_exact": lambda out: torch._C._nn._upsample_nearest_exact2d(IMAGE, (4, 4), out=out(1, 1, 4, 4)),
}
CAST = {
    "add": lambda out: torch.add(M, M, out=out(3, 3)),
    "exp": lambda out: torch.exp(M, out=out(3, 3)),
    "gelu": lambda out: torch._C._nn.gelu(M, out=out(3, 3)),
    "cat": lambda out: torch.cat([M, M], out=out(6, 3)),
    "amax": lambda out: torch.amax(M, 0, out=out(3)),
}


def _empty(dtype, device="meta"):
    return lambda *shape: torch.empty(shape, dtype=dtype, device=device)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("dtype", [torch.float64, torch.int32])
def test_the_very_dtype(name, dtype):
    with pytest.raises(
        RuntimeError, match=f"^Expected out tensor to have dtype torch.float32 but got {dtype} instead$"
    ):
        EXACT[name](_empty(dtype))
    assert EXACT[name](_empty(torch.float32)).is_meta


@pytest.mark.parametrize("name", CAST)
def test_a_cast_that_loses(name):
    text = "^Attempting to cast from torch.float32 to out tensor with dtype torch.int32, but this can't be cast because it is not safe!$"
    with pytest.raises(RuntimeError, match=text):
        CAST[name](_empty(torch.int32))


def test_operators_of_cpp_keep_their_words():
    with pytest.raises(RuntimeError, match="^Expected out tensor to have dtype float, but got double instead$"):
        torch._C._nn.avg_pool2d(IMAGE, 2, out=torch.empty(1, 1, 1, 1, device="meta", dtype=torch.float64))


@pytest.mark.parametrize("name", [*EXACT, "add"])
def test_another_device(name):
    text = "^Attempting to copy from device meta to device cpu, but cross-device copies are not allowed!$"
    with pytest.raises(RuntimeError, match=text):
        {**EXACT, **CAST}[name](_empty(torch.float32, "cpu"))
    with pytest.raises(RuntimeError, match="^Attempting to copy from device cpu to device meta"):
        torch.mm(torch.ones(2, 2), torch.ones(2, 2), out=torch.empty(2, 2, device="meta"))
