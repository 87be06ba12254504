"""Products with packed weights of four bits on the CPU: layout, values and errors as PyTorch's with AVX-512."""

import pytest

import shim_torch as torch

pack = torch.ops.aten._convert_weight_to_int4pack_for_cpu
product = torch.ops.aten._weight_int4pack_mm_for_cpu


def weights(rows, columns):
    return (torch.arange(rows * columns, dtype=torch.int32).reshape(rows, columns) * 7) % 16


def test_layout():
    w = torch.zeros(80, 32, dtype=torch.int32)
    w[3, 1], w[35, 1] = 5, 9  # the first block has 64 rows: row i shares bytes with row i + 32
    w[64 + 2, 1], w[64 + 3, 1] = 4, 6  # the rest: neighbours
    packed = pack(w, 2)
    assert packed.shape == (80, 16) and packed.dtype == torch.uint8
    assert {i: int(v) for i, v in enumerate(packed.flatten().tolist()) if v} == {35: 5 | 9 << 4, 1033: 4 | 6 << 4}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("rows", [16, 64, 144])
def test_product(dtype, rows):
    torch.manual_seed(0)
    w, x, factors = weights(rows, 64), torch.randn(3, 64).to(dtype), torch.randn(2, rows, 2).to(dtype)
    spread = factors.double().transpose(0, 1).repeat_interleave(32, 1)
    exact = x.double() @ ((w - 8).double() * spread[..., 0] + spread[..., 1]).t()
    got = product(x, pack(w, 2), 32, factors)
    assert got.dtype == dtype
    torch.testing.assert_close(got, exact.to(dtype))


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: pack(weights(16, 3), 2), "expect K to be dividable by 2"),
        (lambda: pack(weights(15, 32), 2), "expect N to be dividable by 16"),
        (lambda: pack(weights(16, 32).long(), 2), "expect weight to be kInt"),
        (lambda: product(torch.ones(3, 64), pack(weights(16, 64), 2), 16, torch.ones(4, 16, 2)), "32, 64, 128 or 256"),
        (lambda: product(torch.ones(3, 62), pack(weights(16, 64), 2), 32, torch.ones(2, 16, 2)), "to be K/2, got 32"),
        (lambda: product(torch.ones(64, 3).t(), pack(weights(16, 64), 2), 32, torch.ones(2, 16, 2)), "contiguous"),
        (
            lambda: product(torch.ones(3, 64), pack(weights(16, 64), 2), 32, torch.ones(2, 16, 2).bfloat16()),
            "expected scalar type Float but found BFloat16",
        ),
    ],
)
def test_errors(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()
