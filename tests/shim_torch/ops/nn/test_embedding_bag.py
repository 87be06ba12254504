"""embedding_bag: bags of padding, the last offset, gradients by frequency, and what it refuses, in PyTorch 2.13's words."""

from __future__ import annotations

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F

WEIGHT = torch.arange(30.0).reshape(10, 3)


def test_a_bag_of_padding_is_zero_and_has_a_gradient():
    for mode in ("sum", "mean", "max"):
        w = WEIGHT.clone().requires_grad_()
        out = F.embedding_bag(torch.full((2, 2), 2), w, mode=mode, padding_idx=2)
        assert out.tolist() == [[0.0] * 3] * 2
        out.sum().backward()
        assert w.grad.abs().sum().item() == 0.0


def test_the_last_bag_goes_to_the_end_with_padding():
    for end in (3, 4):
        out = F.embedding_bag(
            torch.tensor([0, 1, 2, 3]), WEIGHT, torch.tensor([0, 3, end]), include_last_offset=True, padding_idx=9
        )
        assert out.tolist() == [[3.0, 4.0, 5.0], [9.0, 10.0, 11.0]]


def test_scale_grad_by_freq():
    w = WEIGHT.clone().requires_grad_()
    F.embedding_bag(torch.tensor([[1, 1], [1, 2]]), w, mode="sum", scale_grad_by_freq=True).sum().backward()
    assert w.grad[:, 0].tolist() == pytest.approx([0.0, 1.0, 1 / 3] + [0.0] * 7)


@pytest.mark.parametrize(
    ("mode", "indices", "offsets", "expected"),
    (  # as PyTorch's kernel for the CPU has it, which divides by the count of another row
        ("sum", [0, 0, 1, 0], [0, 2], [1, 1 / 3, 0, 0, 0, 0]),
        ("sum", [0, 1, 0, 2], [0, 2], [1, 0.5, 1, 0, 0, 0]),
        ("sum", [5, 5, 4, 4, 4, 2], [0, 0, 6], [0, 0, 1, 0, 1, 2 / 3]),
        ("mean", [1, 2, 3, 1, 1], [0, 3], [0, 4 / 9, 1 / 9, 1 / 9, 0, 0]),
        ("mean", [3, 3, 3, 1], [0, 1], [0, 1 / 3, 0, 5 / 9, 0, 0]),
    ),
)
def test_gradients_by_frequency(mode, indices, offsets, expected):
    w = torch.ones(6, 1, requires_grad=True)
    out = F.embedding_bag(torch.tensor(indices), w, torch.tensor(offsets), mode=mode, scale_grad_by_freq=True)
    out.sum().backward()
    assert w.grad[:, 0].tolist() == pytest.approx(expected)


def test_sparse_gradients_have_no_frequencies():
    w = WEIGHT.clone().requires_grad_()
    out = F.embedding_bag(torch.tensor([[1, 1]]), w, mode="sum", scale_grad_by_freq=True, sparse=True)
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse gradients"):
        out.sum().backward()


def test_embedding_leaves_out_a_padding_row_whose_gradient_is_not_a_number():
    w = WEIGHT.clone().requires_grad_()
    row = F.embedding(torch.tensor([1, 2]), w, padding_idx=1)
    (row * torch.tensor([[float("nan")], [1.0]])).sum().backward()
    assert w.grad[1].tolist() == [0.0] * 3 and w.grad[2].tolist() == [1.0] * 3


def test_the_private_forms_take_padding_as_a_number():
    found = torch._embedding_bag(WEIGHT, torch.tensor([1, 2]), torch.tensor([0]))
    assert found[0].tolist() == [[9.0, 11.0, 13.0]] and found[2].tolist() == [0]


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (lambda: F.embedding_bag(torch.tensor([-1]), WEIGHT, torch.tensor([0]), mode="max"), "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be -1"),
        (lambda: F.embedding_bag(torch.tensor([10, 2]), WEIGHT, torch.tensor([0])), "Index 0 of input takes value 10 which is not in the valid range [0, 10)"),
        (lambda: F.embedding_bag(torch.tensor([1]), WEIGHT, torch.tensor([0]), padding_idx=-11), "padding_idx must be within the number of embeddings, -10 through 9, but got -11"),
        (lambda: F.embedding_bag(torch.tensor([1, 2]), WEIGHT, torch.tensor([0]), mode="sum", per_sample_weights=torch.ones(2, dtype=torch.float64)), "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; but type torch.FloatTensor does not equal torch.DoubleTensor (while checking arguments for embedding_bag)"),
        (lambda: torch.embedding_bag(WEIGHT.reshape(10, 3, 1), torch.tensor([1]), torch.tensor([0])), "weight has to be a 2D Tensor, but got Tensor of dimension 3"),
        (lambda: torch.embedding_bag(WEIGHT, torch.tensor([1]), torch.tensor([[0]])), "offsets has to be a 1D Tensor, but got Tensor of dimension 2"),
        (lambda: torch.embedding_bag(WEIGHT.int(), torch.tensor([1]), torch.tensor([0])), "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, Double; but got torch.IntTensor instead (while checking arguments for embedding_bag)"),
    ],
)  # fmt: skip
def test_refused(run, text):
    with pytest.raises(RuntimeError) as caught:
        run()
    assert str(caught.value) == text


def test_assigning_an_element_or_row_of_itself():
    x = torch.arange(6).reshape(2, 3)
    x[0] = x[0][1]
    assert x.tolist() == [[1, 1, 1], [3, 4, 5]]
    x[:, :] = x[:, 1:2]
    assert x.tolist() == [[1, 1, 1], [4, 4, 4]]


INDICES, OFFSETS = [1, 0, 3, 1, 2, 2, 0], [0, 2, 2, 4]


MAXIMA = [[3, -1, 2.5], [0, 0, 0], [9, -1, 5.5]]


def _bags(dtype, mode, padding=None):
    table = torch.arange(12, dtype=dtype).reshape(4, 3) * torch.tensor([1, -1, 0.5], dtype=dtype)
    table.requires_grad_()
    out = torch.nn.functional.embedding_bag(
        torch.tensor(INDICES), table, torch.tensor(OFFSETS), mode=mode, include_last_offset=True, padding_idx=padding
    )
    (g,) = torch.autograd.grad(out, table, torch.arange(1, 10, dtype=dtype).reshape(3, 3))
    return out.detach(), g


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_means_of_closed_offsets(dtype):
    out, g = _bags(dtype, "mean")
    last = [4.8, -5.8, 3.4] if dtype == torch.float64 else [2.4, -2.8, 1.6]  # divided by all five in every dtype
    torch.testing.assert_close(out, torch.tensor([[1.5, -2.5, 1.75], [0, 0, 0], last], dtype=dtype))
    expected = [[1.9, 2.6, 3.3], [1.9, 2.6, 3.3], [2.8, 3.2, 3.6], [1.4, 1.6, 1.8]]
    torch.testing.assert_close(g, torch.tensor(expected, dtype=dtype), rtol=1e-2 if dtype.itemsize == 2 else None,
                               atol=1e-2 if dtype.itemsize == 2 else None)  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_maxima_of_closed_offsets(dtype):
    out, g = _bags(dtype, "max")
    torch.testing.assert_close(out, torch.tensor(MAXIMA, dtype=dtype))
    torch.testing.assert_close(g, torch.tensor([[0, 10, 0], [1, 0, 3], [0, 0, 0], [7, 0, 9]], dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sums_of_closed_offsets(dtype):
    last = [24, -29, 17] if dtype == torch.float64 else [12, -14, 8]
    out, _ = _bags(dtype, "sum")
    torch.testing.assert_close(out, torch.tensor([[3, -5, 3.5], [0, 0, 0], last], dtype=dtype))
    padded, _ = _bags(dtype, "sum", padding=1)  # 24 - 3, -29 + 4, 17 - 2.5 whatever the dtype
    torch.testing.assert_close(padded[2], torch.tensor([21, -25, 14.5], dtype=dtype))
