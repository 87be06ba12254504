"""Products of float8 matrices with scales, on the CPU; errors as PyTorch's."""

import pytest

import shim_torch as torch


def operands():
    a = torch.arange(-64, 64).reshape(8, 16).float().to(torch.float8_e4m3fn)
    b = torch.arange(-128, 128).reshape(16, 16).float().to(torch.float8_e4m3fn).t()
    return a, b


@pytest.mark.parametrize("out_dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_per_tensor_and_row_wise(out_dtype):
    a, b = operands()
    one, two = torch.tensor(0.5), torch.tensor(0.125)
    exact = a.double() @ b.double()
    got = torch._scaled_mm(a, b, one, two, out_dtype=out_dtype)
    assert got.dtype is out_dtype and (got.double() - exact / 16).abs().max() <= 2e-2 * exact.abs().max() / 16
    rows, columns = torch.arange(1.0, 9.0).reshape(8, 1), torch.arange(1.0, 17.0).reshape(1, 16)
    got = torch._scaled_mm(a, b, rows, columns, out_dtype=torch.float32)
    assert torch.allclose(got.double(), exact * rows.double() * columns.double())


def test_errors():
    a, b = operands()
    one = torch.tensor(1.0)
    with pytest.raises(ValueError, match="Invalid scaling configuration"):
        torch._scaled_mm(a, b, torch.ones(8), torch.ones(1, 16))
    with pytest.raises(RuntimeError, match=r"mat_a and mat_b shapes cannot be multiplied \(8x16 and 8x16\)"):
        torch._scaled_mm(a, a, one, one)
