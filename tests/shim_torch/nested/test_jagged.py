"""Nested tensors of the jagged layout: sizes that vary, views of values, reductions, attention, gradients, errors."""

from __future__ import annotations

import io

import numpy as np
import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch.nested._internal.nested_tensor import NestedTensor

A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.arange(12, dtype=np.float32).reshape(4, 3) - 5
V = np.concatenate([A, B])


def nested(requires_grad=False):
    return torch.nested.nested_tensor(
        [torch.tensor(A), torch.tensor(B)], layout=torch.jagged, requires_grad=requires_grad
    )


def same(x, arrays):
    for p, a in zip(x.unbind(), arrays, strict=True):
        assert tuple(p.shape) == a.shape
        np.testing.assert_allclose(p.detach().numpy(), a, rtol=1e-5, atol=1e-6)


def test_sizes_that_vary():
    x = nested()
    j = x.size(1)
    assert isinstance(x, NestedTensor) and x.layout == torch.jagged and len(x) == 2
    assert isinstance(j, torch.SymInt) and repr(j).startswith("j") and repr(x.shape) == f"torch.Size([2, {j}, 3])"
    assert j == (x * 2).size(1) and j != nested().size(1) and j >= 2 and not j < 2 and 2 * j == j * 2
    with pytest.raises(ValueError, match="indeterminate"):
        _ = j > 2
    assert x.offsets().tolist() == [0, 2, 6] and x.values().numpy().tolist() == V.tolist()
    assert x._max_seqlen == 4 and x._min_seqlen == 2


def test_of_values_and_offsets_and_lengths():
    values = torch.arange(10.0)
    x = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 3, 10]))
    same(x, [np.arange(3.0), np.arange(3.0, 10)])
    assert x._is_view() and x._base is values
    same(
        torch.nested.nested_tensor_from_jagged(values, lengths=torch.tensor([4, 6])),
        [np.arange(4.0), np.arange(4.0, 10)],
    )
    holes = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 3, 10]), torch.tensor([1, 2]))
    same(holes, [np.arange(1.0), np.arange(3.0, 5)])
    assert not holes.is_contiguous() and holes.contiguous().is_contiguous()
    with pytest.raises(RuntimeError, match="At least one of offsets or lengths is required"):
        torch.nested.nested_tensor_from_jagged(values)
    rows = torch.arange(12.0).reshape(3, 4)
    same(
        torch.nested.narrow(rows, 1, 1, torch.tensor([1, 2, 3]), layout=torch.jagged),
        [np.array([1.0]), np.array([5.0, 6]), np.arange(9.0, 12)],
    )
    chosen = torch.nested.masked_select(rows, rows % 2 == 0)
    assert chosen.offsets().tolist() == [0, 2, 4, 6] and chosen.values().tolist() == [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize(
    ("dim", "start", "layout", "text"),
    [
        (1, 1.5, torch.jagged, "start must be an integer or a tensor"),
        (0, 1, torch.jagged, "jagged layout only supports dim=1"),
        (0, torch.tensor([1, 0]), torch.strided, "start and length must be integers for the strided layout NT impl"),
        (1, 1, torch.sparse_coo, "Specified layout is unsupported for nested narrow: torch.sparse_coo"),
    ],
)
def test_what_narrow_refuses(dim, start, layout, text):
    with pytest.raises(RuntimeError, match=text):
        torch.nested.narrow(torch.ones(2, 3), dim, start, 1, layout=layout)


def test_elements_are_chosen_by_masks_that_broadcast():
    rows = torch.arange(12.0).reshape(3, 4)
    chosen = torch.nested.masked_select(rows, torch.tensor([True, False, True, False]))
    assert chosen.offsets().tolist() == [0, 2, 4, 6] and chosen.values().tolist() == [0, 2, 4, 6, 8, 10]
    for given in ((rows.to_sparse(), rows > 2), (rows, (rows > 2).to_sparse())):
        with pytest.raises(
            RuntimeError, match="masked_select requires a strided (tensor, given|mask, given:) torch.sparse_coo"
        ):
            torch.nested.masked_select(*given)


def test_functions_of_elements_broadcast():
    x, w = nested(), np.array([1, 10, 100], np.float32)
    same(x * torch.tensor(w) + x, [A * w + A, B * w + B])
    rows = np.array([[[2.0]], [[3.0]]], np.float32)
    same(x * torch.tensor(rows), [A * 2, B * 3])
    same(torch.where(x > 0, x, torch.zeros_like(x)), [np.maximum(A, 0), np.maximum(B, 0)])
    with pytest.raises(RuntimeError, match="cannot call binary pointwise function add.Tensor with inputs of shapes"):
        x + nested()


def test_layers_keep_the_rows():
    x = nested()
    layer = torch.nn.Linear(3, 2)
    w, b = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    same(torch.nn.Sequential(layer, torch.nn.ReLU())(x), [np.maximum(a @ w.T + b, 0) for a in (A, B)])
    ids = torch.nested.nested_tensor([torch.tensor([1, 0]), torch.tensor([2, 2, 1])], layout=torch.jagged)
    table = torch.tensor(V)
    same(F.embedding(ids, table), [V[[1, 0]], V[[2, 2, 1]]])


@pytest.mark.parametrize("name", ["sum", "mean", "amax"])
def test_reductions(name):
    x, f = nested(), getattr(np, name)
    np.testing.assert_allclose(getattr(x, name)(1).numpy(), np.stack([f(A, 0), f(B, 0)]), rtol=1e-6)
    np.testing.assert_allclose(getattr(x, name)((0, 1)).numpy(), f(V, 0), rtol=1e-6)
    same(getattr(x, name)(-1), [f(A, 1), f(B, 1)])
    with pytest.raises(
        RuntimeError, match="reducing along the batch dimension but not the ragged dimension is not supported"
    ):
        getattr(x, name)(0)


def test_softmax_of_rows():
    e = [np.exp(a - a.max(0)) for a in (A, B)]
    same(nested().softmax(1), [p / p.sum(0) for p in e])


def test_views_carry_the_varying_size():
    x = nested()
    j = x.size(1)
    assert x.transpose(1, 2).shape == (2, 3, j) and x.unsqueeze(-1).shape == (2, j, 3, 1)
    same(x.transpose(1, 2), [A.T, B.T])
    wide = torch.nn.Linear(3, 8)(x)
    heads = wide.view(2, j, 2, 4).transpose(1, 2)
    assert heads.shape == (2, 2, j, 4)
    assert wide.unflatten(-1, (2, 4)).flatten(-2).shape == wide.shape == heads.transpose(1, 2).reshape(2, -1, 8).shape
    same(x[:, :, 1:], [A[:, 1:], B[:, 1:]])
    assert x[0].tolist() == A.tolist() and x[1, 3].tolist() == B[3].tolist()
    same(torch.cat([x, x * 2], -1), [np.concatenate([a, 2 * a], 1) for a in (A, B)])
    with pytest.raises(ValueError, match="not supported on the batch dimension"):
        x.transpose(0, 1)


def test_attention_is_of_each_row():
    g = np.random.default_rng(1)
    rows = [g.standard_normal((n, 2, 4)).astype(np.float32) for n in (3, 5)]
    q = torch.nested.nested_tensor([torch.tensor(r) for r in rows], layout=torch.jagged, requires_grad=True)
    h = q.transpose(1, 2)
    out = F.scaled_dot_product_attention(h, h, h, is_causal=True).transpose(1, 2)
    for p, r in zip(out.unbind(), rows, strict=True):
        t = r.transpose(1, 0, 2)
        s = np.where(np.tril(np.ones((len(r), len(r)))), t @ t.transpose(0, 2, 1) / 2, -np.inf)
        e = np.exp(s - s.max(-1, keepdims=True))
        np.testing.assert_allclose(
            p.detach().numpy(), (e / e.sum(-1, keepdims=True) @ t).transpose(1, 0, 2), rtol=1e-4, atol=1e-5
        )
    out.sum().backward()
    assert q.grad.shape == q.shape and all(bool(p.isfinite().all()) for p in q.grad.unbind())


def test_flex_attention_keeps_rows_apart():
    from shim_torch.nn.attention.flex_attention import create_nested_block_mask, flex_attention

    rows = [torch.randn(n, 1, 4) for n in (3, 5)]
    q = torch.nested.as_nested_tensor(rows, layout=torch.jagged).transpose(1, 2)
    mask = create_nested_block_mask(lambda b, h, i, j: i >= j, 1, 1, q, BLOCK_SIZE=4)
    found = flex_attention(q, q, q, block_mask=mask)
    expected = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    for a, b in zip(found.unbind(), expected.unbind(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def test_gradients():
    x = nested(requires_grad=True)
    y = x * x
    assert x.is_leaf and y.grad_fn is not None
    y.backward(torch.ones_like(y))
    same(x.grad, [2 * A, 2 * B])
    a, b = (torch.tensor(n, requires_grad=True) for n in (A, B))
    torch.nested.as_nested_tensor([a, b], layout=torch.jagged).sum(1)[1].sum().backward()
    assert a.grad.tolist() == np.zeros_like(A).tolist() and b.grad.tolist() == np.ones_like(B).tolist()


def test_copies_dtypes_and_files():
    x = nested()
    assert x.to(torch.float64).shape == x.shape and x.half().dtype == torch.float16 and x.clone().shape == x.shape
    assert torch.zeros_like(x).values().sum().item() == 0
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    same(torch.load(file, weights_only=True), [A, B])
    padded = x.to_padded_tensor(0.0)
    assert tuple(padded.shape) == (2, 4, 3) and padded[0, 2:].abs().sum().item() == 0


def test_what_it_cannot_hold():
    with pytest.raises(RuntimeError, match="with only \\*_0 allowed to be ragged"):
        torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 5)], layout=torch.jagged)
    with pytest.raises(RuntimeError, match="Converting between nested tensor layouts is not supported"):
        torch.nested.as_nested_tensor(nested(), layout=torch.strided)


def test_offsets_that_share_a_symbol():
    from shim_torch.nested._internal.nested_tensor import _tensor_symint_registry
    from shim_torch.nested._internal.ops import extract_kwargs

    x = nested()
    offsets = x.offsets().clone()
    _tensor_symint_registry[offsets] = _tensor_symint_registry[x.offsets()]
    y = NestedTensor(x.values() * 2, **(extract_kwargs(x) | {"offsets": offsets}))
    assert y.shape == x.shape
    same(x + y, [A * 3, B * 3])


def test_lengths_known_beforehand_and_sizes_made_by_hand():
    x = torch.nested.nested_tensor_from_jagged(torch.tensor(V), torch.tensor([0, 2, 6]), min_seqlen=2, max_seqlen=4)
    assert x._metadata_cache == {"min_seqlen": 2, "max_seqlen": 4} and tuple(x._max_seqlen_tensor.shape) == (4, 0)
    size = torch.Size((2, x.size(1), 3))
    assert size == x.shape and size[:1] == torch.Size([2])
    assert x._view_func(x._base * 2)._min_seqlen == 2
    with pytest.raises(TypeError, match="takes an iterable of 'int'"):
        torch.Size((2, "j", 3))


def test_lists_of_tensors_and_symbols_of_files():
    import pickle

    x, y = nested(), torch.ones(2)
    a, b = torch._foreach_add([x, y], 1)
    same(a, [A + 1, B + 1])
    assert a.shape == x.shape and b.tolist() == [2, 2]
    torch._foreach_mul_([a, b], [2.0, 3.0])
    same(a, [(A + 1) * 2, (B + 1) * 2])
    one, two = pickle.loads(pickle.dumps((x, a)))
    assert one.shape == two.shape and one.shape != x.shape


def test_factories_of_varying_sizes():
    x = nested()
    y = torch.zeros(2, x.size(1), 5, dtype=torch.float64)
    assert y.shape == (2, x.size(1), 5) and y.dtype == torch.float64 and y.values().shape == (6, 5)
    assert torch.randn(x.shape).shape == x.shape and torch.full((2, x.size(1)), 3.0).sum().item() == 18
    same(x + torch.ones(x.shape), [A + 1, B + 1])
    np.testing.assert_allclose(
        torch.linalg.vector_norm(x, dim=1).numpy(), [np.sqrt((a * a).sum(0)) for a in (A, B)], rtol=1e-6
    )
    with pytest.raises(RuntimeError, match="stands for are not known"):
        torch.zeros(3, x.size(1))


def test_whatever_is_pointwise_keeps_the_structure():
    """Values are PyTorch's."""
    x = torch.nested.nested_tensor(
        [torch.tensor([[0.5, 1.0, 2.0]]), torch.tensor([[3.0, 0.25, 4.0]])], layout=torch.jagged
    )
    found = torch.igamma(x, x).values()
    expected = torch.tensor([[0.6826895, 0.6321205, 0.5939941], [0.5768099, 0.7436782, 0.5665299]])
    torch.testing.assert_close(found, expected)
    parts = torch.frexp(x)
    assert type(parts).__name__ == "frexp" and parts.exponent.values().tolist() == [[0, 1, 2], [2, -1, 3]]
    assert (2 << x.to(torch.int64)).values().tolist() == [[2, 4, 8], [16, 2, 32]]
    assert torch.special.polygamma(1, x).offsets() is x.offsets()
