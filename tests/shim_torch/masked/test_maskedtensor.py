"""MaskedTensor: values, masks, gradients and refusals as PyTorch 2.13 gives them."""

import math

import pytest

import shim_torch as torch
from shim_torch.masked import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
DATA = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
MASK = [[True, False, True], [False, False, True]]


def example(requires_grad=False):
    return masked_tensor(torch.tensor(DATA), torch.tensor(MASK), requires_grad)


@pytest.mark.parametrize(
    ("name", "whole", "rows"),
    [
        ("sum", 10.0, [4.0, 0.0]),
        ("mean", 10 / 3, [2.0, math.nan]),
        ("amin", 1.0, [1.0, math.inf]),
        ("amax", 6.0, [3.0, -math.inf]),
        ("argmin", 0.0, [0.0, 0.0]),
        ("argmax", 5.0, [2.0, 0.0]),
        ("prod", 18.0, [3.0, 1.0]),
        ("var", 19 / 3, [2.0, math.nan]),
        ("std", (19 / 3) ** 0.5, [2**0.5, math.nan]),
    ],
)
def test_reductions_take_what_counts(name, whole, rows):
    found = getattr(torch, name)(example())
    assert is_masked_tensor(found) and bool(found.get_mask())
    assert found.get_data().item() == pytest.approx(whole)
    half = masked_tensor(torch.tensor(DATA), torch.tensor([[True, False, True], [False] * 3]))
    along = getattr(half, name)(1)
    assert along.get_mask().tolist() == [True, False]
    torch.testing.assert_close(along.get_data(), torch.tensor(rows), equal_nan=True)


def test_gradients_are_masked_tensors():
    x = example(requires_grad=True)
    (x * x).sum().backward()
    assert isinstance(x.grad, MaskedTensor)
    assert x.grad.get_mask().tolist() == MASK
    assert x.grad.to_tensor(-1).tolist() == [[2.0, -1.0, 6.0], [-1.0, -1.0, 12.0]]
    data = torch.tensor(DATA, requires_grad=True)
    as_masked_tensor(data, torch.tensor(MASK)).sum(1).sum().backward()
    assert data.grad.to_tensor(0).tolist() == [[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]


def test_softmax_leaves_out_what_does_not_count():
    x = masked_tensor(torch.tensor(DATA), torch.tensor([[True, False, True]] * 2), requires_grad=True)
    y = torch.softmax(x, 1)
    torch.testing.assert_close(y.to_tensor(0), torch.tensor([[0.1192, 0.0, 0.8808]] * 2), atol=1e-4, rtol=0)
    (y * y).sum().backward()
    torch.testing.assert_close(x.grad.to_tensor(9), torch.tensor([[-0.16, 9.0, 0.16]] * 2), atol=1e-3, rtol=0)


def test_views_joins_and_layouts_do_the_same_to_the_mask():
    x = example()
    assert x[0].get_mask().tolist() == MASK[0]
    assert torch.cat([x, x]).get_mask().sum().item() == 6
    assert x.t().get_data().tolist() == torch.tensor(DATA).t().tolist()
    sparse = x.to_sparse()
    assert sparse.is_sparse and sparse.layout == torch.sparse_coo
    assert sparse.get_data().coalesce().indices().tolist() == [[0, 0, 1], [0, 2, 2]]
    assert sparse.get_data().coalesce().values().tolist() == [1.0, 3.0, 6.0]
    wave = x.to_sparse_csr().sin().to_dense()
    torch.testing.assert_close(wave.to_tensor(0), torch.tensor(DATA).sin() * torch.tensor(MASK))


def test_pointwise_keeps_the_mask_and_wants_equal_ones():
    x = example()
    x.add_(1)
    assert x.get_data().tolist() == [[2.0, 3.0, 4.0], [5.0, 6.0, 7.0]]
    assert (x < 5).get_mask().tolist() == MASK
    assert x.double().dtype == torch.float64
    gaps = masked_tensor(torch.tensor(DATA).masked_fill(torch.tensor(MASK), math.nan), torch.tensor(MASK))
    assert torch.nan_to_num(gaps).to_tensor(1).tolist() == [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]
    other = masked_tensor(torch.tensor(DATA), ~torch.tensor(MASK))
    with pytest.raises(ValueError, match="Input masks must match"):
        x + other
    chosen = torch.where(torch.tensor(MASK), example(), other)
    assert chosen.get_mask().all().item() and chosen.get_data().tolist() == DATA
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.ops.aten.max.default'"):
        x.max()


@pytest.mark.parametrize(
    ("data", "mask", "error", "text"),
    [
        (torch.ones(2), torch.ones(2), TypeError, "mask must have dtype bool"),
        (torch.ones(2, 2), torch.ones(2).bool(), ValueError, r"data.dim\(\) must equal mask.dim\(\)"),
        (torch.ones(2), torch.ones(3).bool(), ValueError, r"data.size\(\) must equal mask.size\(\)"),
        (torch.ones(2).bfloat16(), torch.ones(2).bool(), TypeError, "torch.bfloat16 is not supported in MaskedTensor"),
        ([1.0], torch.ones(1).bool(), TypeError, "data must be a Tensor"),
        (torch.eye(2).to_sparse(), torch.eye(2).bool(), TypeError, "data and mask must have the same layout"),
    ],
)
def test_refusals(data, mask, error, text):
    with pytest.raises(error, match=text):
        masked_tensor(data, mask)


def test_printing():
    rows = "[\n    [  1.0000,       --,   3.0000],\n    [      --,       --,   6.0000]\n  ]"
    assert repr(example()) == f"MaskedTensor(\n  {rows}\n)"
    assert repr(masked_tensor(torch.tensor(1.5), torch.tensor(False))) == "MaskedTensor(--, False)"


def test_functions_of_torch_masked_take_them():
    assert torch.masked.sum(example()).item() == 10.0
    assert torch.masked.mean(example(), 1).tolist() == [pytest.approx(4 / 3), 2.0]  # over all three, as PyTorch has it


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_gradients_take_the_layout_of_what_was_converted(layout):
    mask = torch.tensor(MASK)
    pattern = mask.to_sparse_coo().coalesce() if layout == torch.sparse_coo else mask.to_sparse_csr()
    sparse = masked_tensor(torch.tensor(DATA).sparse_mask(pattern), pattern, requires_grad=True)
    (sparse.to_dense() * 3).sum().backward()
    assert sparse.grad.layout == layout
    assert sparse.grad.to_dense().to_tensor(0).tolist() == [[3.0 * kept for kept in row] for row in MASK]


@pytest.mark.parametrize("method", ["to_sparse", "to_sparse_coo", "to_sparse_csr"])
def test_gradients_come_back_through_sparse_layouts(method):
    x = example().requires_grad_()
    getattr(x, method)().to_dense().sum().backward()
    assert x.grad.layout == torch.strided and x.grad.get_mask().tolist() == MASK
    assert x.grad.to_tensor(0).tolist() == [[float(kept) for kept in row] for row in MASK]


aten = torch.ops.aten


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x, y: aten.new_empty_strided(x, [3, 3], [3, 1]), r"args\[1\] expected to be the same as data.size\(\)"),
        (
            lambda x, y: aten.new_empty_strided(x, [2, 3], [1, 2]),
            r"args\[2\] expected to be the same as data.stride\(\)",
        ),
        (
            lambda x, y: aten._softmax_backward_data(x, y, 1, torch.float32),
            "expected the masks of grad and output to match",
        ),
        (
            lambda x, y: aten._softmax_backward_data(x, torch.tensor(DATA), 1, torch.float32),
            "grad and output must both be MaskedTensors",
        ),
        (lambda x, y: aten.copy_(x, y, True), r"len\(args\) must be 2 but got 3"),
        (lambda x, y: aten._is_any_true(x), "expected a boolean tensor"),
        (lambda x, y: aten._is_any_true((x < 3).to_sparse()), "MaskedTensors with sparse data do not have"),
        (lambda x, y: aten._local_scalar_dense(y[0, 0]), "expected a mask tensor"),
    ],
)
def test_operators_refuse(call, text):
    with pytest.raises(ValueError, match=text):
        call(example(), masked_tensor(torch.tensor(DATA), ~torch.tensor(MASK)))


def test_operators_of_aten():
    x, other = example(), masked_tensor(2 * torch.tensor(DATA), ~torch.tensor(MASK))
    assert aten.new_empty_strided(x, [2, 3], [3, 1]).get_mask().tolist() == MASK
    assert aten._is_any_true(x < 1).get_data().item() is False and aten._is_any_true(x < 2).get_data().item() is True
    assert aten._is_any_true(other < 3).get_data().item() is False
    plain = aten.where(torch.tensor(MASK), x, torch.tensor(DATA) * 9)
    assert plain.get_mask().all() and plain.get_data().tolist() == [[1.0, 18.0, 3.0], [36.0, 45.0, 6.0]]
    assert aten.where(torch.tensor(MASK), torch.tensor(DATA) * 9, x).get_mask().tolist() == MASK
    copied = aten.copy_(x, other)
    assert copied is x and x.get_mask().tolist() == MASK and x.get_data().tolist() == other.get_data().tolist()
    assert [part.get_mask().tolist() for part in torch.split(x, 1)] == [[MASK[0]], [MASK[1]]]
    assert type(torch.transpose(x, 0, 1)) is MaskedTensor and x.size() == (2, 3)


def test_functions_with_other_subclasses_are_not_for_masked_tensors():
    class Other(torch.Tensor):
        pass

    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch.add'|no implementation found"):
        torch.add(example(), torch.ones(2, 3).as_subclass(Other))
    with pytest.raises(TypeError, match="data and mask must have the same type. Got"):
        masked_tensor(torch.tensor(DATA).as_subclass(Other), torch.tensor(MASK))


def test_data_and_mask_have_the_same_indices():
    ones = torch.tensor([1.0, 2.0])
    for places, text in (((0, 1), None), ((0, 2), "are both sparse C{} tensors but do not")):
        kept = torch.tensor([True, True])
        coo = [torch.sparse_coo_tensor([[0, 1], list(c)], v, (2, 3)) for c, v in (((0, 1), ones), (places, kept))]
        csr = [torch.sparse_csr_tensor([0, 1, 2], list(c), v, (2, 3)) for c, v in (((0, 1), ones), (places, kept))]
        for layout, parts in (("OO", coo), ("SR", csr)):
            if text is None:
                assert masked_tensor(*parts).get_data().to_dense().sum() == 3
                continue
            with pytest.raises(ValueError, match=text.format(layout)):
                masked_tensor(*parts)
    with pytest.raises(TypeError, match="data layout of torch.sparse_csc is not supported"):
        masked_tensor(torch.tensor(DATA).to_sparse_csc(), torch.tensor(MASK).to_sparse_csc())
