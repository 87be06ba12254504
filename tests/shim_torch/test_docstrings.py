"""Operators' docstrings begin with their signatures, in PyTorch's form: libraries look into them for what a function takes."""

import pytest

import shim_torch as torch

F = torch.nn.functional


@pytest.mark.parametrize(
    "function, lines",
    [
        (torch.add, ["add(input, other, *, alpha=1, out=None) -> Tensor"]),
        (torch.Tensor.add_, ["add_(other, *, alpha=1) -> Tensor"]),
        (torch.Tensor.view, ["view(size) -> Tensor", "view(dtype) -> Tensor"]),
        (torch.slogdet, ["slogdet(input, *, out=None) -> (Tensor, Tensor)"]),
        (
            F.scaled_dot_product_attention,
            [
                "scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, "
                "enable_gqa=False) -> Tensor"
            ],
        ),
    ],
)
def test_signatures(function, lines):
    assert function.__doc__.splitlines()[: len(lines)] == lines


def test_what_its_author_wrote_follows():
    assert "input (*, K), weight (N, K)" in F.linear.__doc__


def test_a_docstring_of_ones_own():
    kept = torch.frac.__doc__
    torch.frac.__doc__ = kept + "\nMore."
    assert torch.frac.__doc__.endswith("\nMore.")
    del torch.frac.__doc__
    assert torch.frac.__doc__ == kept
