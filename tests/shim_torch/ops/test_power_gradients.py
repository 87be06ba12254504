"""Gradients of powers with negative and complex bases, and of products with zeros; values of PyTorch."""

from __future__ import annotations

import pytest

import shim_torch as torch


def _close(found, expected) -> None:
    torch.testing.assert_close(found, torch.tensor(expected, dtype=found.dtype), rtol=1e-3, atol=1e-4)


@pytest.fixture
def exponent():
    return torch.tensor([1 + 0.5j, 2 - 1j], dtype=torch.cdouble, requires_grad=True)


def test_a_negative_real_base_with_a_complex_exponent(exponent) -> None:
    base = torch.tensor([-1.5, -2.0], dtype=torch.double, requires_grad=True)
    of_base, of_exponent = torch.autograd.grad((base**exponent).abs().sum(), (base, exponent))
    _close(of_base, [-0.2079, -92.5628])
    _close(of_exponent, [0.1264 - 0.9796j, 64.1596 - 290.7945j])


@pytest.mark.parametrize(
    "base, expected",
    [
        (1.5, [0.7182 + 0.4733j, 0.4785 + 1.1982j]),
        (-1.5, [-0.9116 + 1.0584j, 225.9019 - 58.0623j]),
        (1 + 1j, [0.2781 - 1.1255j, -0.1238 - 5.3241j]),
    ],
)
def test_numbers_to_the_power_of_a_complex_tensor(exponent, base, expected) -> None:
    _close(torch.autograd.grad(torch.view_as_real(base**exponent).sum(), exponent)[0], expected)


def test_numbers_to_the_power_of_a_real_tensor() -> None:
    r = torch.tensor([1.5, -2.0], dtype=torch.double, requires_grad=True)
    _close(torch.autograd.grad(((1 + 1j) ** r).abs().sum(), r)[0], [0.5829, 0.1733])
    assert torch.autograd.grad(((-1.5) ** r).abs().sum(), r)[0].isnan().all()


@pytest.mark.parametrize("along", [False, True])
def test_products_with_several_zeros_in_a_place_have_one_gradient_only(along: bool) -> None:
    src = torch.tensor([0.0, 0.0, 3.0], requires_grad=True)
    whole = torch.tensor([1.0, 2.0], requires_grad=True)
    index = torch.tensor([0, 0, 1])
    made = whole.index_reduce(0, index, src, "prod") if along else whole.scatter_reduce(0, index, src, "prod")
    (of_src,) = torch.autograd.grad(made.sum(), src, create_graph=True)
    assert of_src.tolist() == [0, 0, 2]
    with pytest.raises(RuntimeError, match="Double backward is unsupported for (src|source) when >1 zeros"):
        torch.autograd.grad(of_src.sum(), whole)


def test_indices_out_of_bounds_are_named() -> None:
    with pytest.raises(RuntimeError, match="INDICES element is out of DATA bounds, id=5 axis_dim=4"):
        torch.randn(3, 4).index_select(1, torch.tensor([0, 5]))
    for shape, dim in (((3,), 0), ((3, 4), 0), ((2, 2, 3), 2)):
        with pytest.raises(IndexError, match="index out of range in self"):
            torch.ones(shape).index_select(dim, torch.tensor([0, 3]))
    with pytest.raises(RuntimeError, match="id=9 axis_dim=4"):
        torch.ones(4, 0).index_select(0, torch.tensor([9]))
    with pytest.raises(RuntimeError, match="Index to scalar can have only 1 value, got 2 value"):
        torch.tensor(1.0).index_select(0, torch.tensor([0, 0]))
