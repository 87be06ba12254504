"""The tables of ``torch._C``: functions by name, what is absent refuses when called, ways to compute a convolution."""

from __future__ import annotations

import pytest

import shim_torch as torch


def test_variable_functions_are_torchs() -> None:
    table = torch._C._VariableFunctions
    assert table.add is torch.add and "add" in dir(table)
    assert torch.equal(table.__and__(torch.tensor([3]), torch.tensor([6])), torch.tensor([2]))
    assert not hasattr(table, "no_such_function")


def test_families_have_their_own_tables() -> None:
    assert torch._C._linalg.linalg_det(torch.eye(2) * 3).item() == 9
    assert torch._C._fft.fft_fft(torch.ones(4))[0].item() == 4
    assert torch._C._special.special_expm1(torch.zeros(1)).item() == 0
    assert not hasattr(torch._C._fft, "linalg_det")


def test_what_is_not_here_says_so_when_called() -> None:
    with pytest.raises(NotImplementedError, match="aten::fbgemm_pack_gemm_matrix_fp16"):
        torch._C._VariableFunctions.fbgemm_pack_gemm_matrix_fp16(torch.ones(2))
    with pytest.raises(NotImplementedError, match="aten::q_scale"):
        torch.ones(2).q_scale()


def test_operators_as_methods() -> None:
    t = torch.arange(3.0)
    copy = t._lazy_clone()
    copy.add_(1)
    assert t.tolist() == [0, 1, 2] and copy.tolist() == [1, 2, 3]
    assert torch.equal(torch.eye(2)._addmm_activation(torch.eye(2), -2 * torch.eye(2)), torch.zeros(2, 2))


CASES = [
    ((2, 6, 7), False, 1, 3, "Slow2d"),
    ((2, 6, 7), True, 1, 3, "SlowTranspose2d"),
    ((2, 6, 7, 8), False, 2, 1, "SlowDilated2d"),
    ((2, 6, 7, 8, 9), False, 1, 1, "Slow3d"),
    ((2, 6, 7, 8, 9), False, 2, 3, "SlowDilated3d"),
    ((2, 6, 7, 8, 9), True, 2, 3, "SlowTranspose3d"),
    ((0, 6, 7), False, 1, 3, "Empty"),
    ((2, 0, 7, 8), False, 1, 3, "Empty"),
]


@pytest.mark.parametrize(("shape", "transposed", "dilation", "groups", "name"), CASES)
def test_the_way_of_a_convolution(
    shape: tuple[int, ...], transposed: bool, dilation: int, groups: int, name: str
) -> None:
    n, channels = len(shape) - 2, shape[1]
    weight = torch.ones(*((channels, 12 // groups) if transposed else (12, channels // groups)), *[3] * n)
    arguments = (torch.ones(*shape), weight, None, (1,) * n, (0,) * n, (dilation,) * n, transposed, (0,) * n, groups)
    found = torch._C._select_conv_backend(*arguments)
    assert found is torch._C._ConvBackend[name] and str(found) == f"_ConvBackend.{name}"


def test_a_convolution_that_cannot_be() -> None:
    with pytest.raises(RuntimeError, match="Given groups=1, weight of size"):
        torch._C._select_conv_backend(
            torch.ones(1, 4, 7), torch.ones(12, 6, 3), None, (1,), (0,), (1,), False, (0,), 1, [12]
        )
