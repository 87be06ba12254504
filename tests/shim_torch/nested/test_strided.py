"""Nested tensors of the strided layout: what they say of themselves, functions part by part, gradients, errors."""

from __future__ import annotations

import copy
import io

import numpy as np
import pytest

import shim_torch as torch
import shim_torch.nn.functional as F

A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.arange(12, dtype=np.float32).reshape(4, 3) - 5


def nested(requires_grad=False):
    return torch.nested.nested_tensor([torch.tensor(A), torch.tensor(B)], requires_grad=requires_grad)


def same(x, arrays):
    parts = x.unbind()
    assert len(parts) == len(arrays)
    for p, a in zip(parts, arrays, strict=True):
        assert tuple(p.shape) == a.shape
        np.testing.assert_allclose(p.detach().numpy(), a, rtol=1e-5, atol=1e-6)


def test_what_it_says_of_itself():
    x = nested()
    assert isinstance(x, torch.Tensor) and x.is_nested and x.layout == torch.strided and x.dim() == 3
    assert (x.size(0), x.size(2), x.numel(), x.is_contiguous()) == (2, 3, 18, True)
    with pytest.raises(RuntimeError, match="Given dimension 1 is irregular and does not have a size"):
        x.size(1)
    assert x._nested_tensor_size().tolist() == [[2, 3], [4, 3]]
    assert repr(torch.nested.nested_tensor([torch.tensor([1, 2])])) == "nested_tensor([\n  tensor([1, 2])\n])"


def test_functions_of_elements():
    x = nested()
    same(x * 2 + 1, [A * 2 + 1, B * 2 + 1])
    same(x - x.sin(), [A - np.sin(A), B - np.sin(B)])
    same(F.relu(x), [np.maximum(A, 0), np.maximum(B, 0)])
    same(x.clone().mul_(3), [A * 3, B * 3])
    same((x > 2).to(torch.float64), [A > 2, B > 2])
    with pytest.raises(RuntimeError, match="a nested self and non-nested other"):
        x.mul(torch.ones(3))
    with pytest.raises(RuntimeError, match="NestedTensor must be contiguous to get buffer"):
        x.transpose(1, 2).sin()


def test_products_and_normalisations():
    x, w = nested(), torch.tensor(np.ones((2, 3), np.float32))
    same(F.linear(x, w), [A @ w.numpy().T, B @ w.numpy().T])
    same(torch.bmm(x, x.transpose(1, 2)), [A @ A.T, B @ B.T])
    same(torch.softmax(x, -1), [np.exp(a - a.max(1, keepdims=True)) / np.exp(a - a.max(1, keepdims=True)).sum(1, keepdims=True)
                                for a in (A, B)])  # fmt: skip
    same(
        F.layer_norm(x, (3,)),
        [(a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5) for a in (A, B)],
    )
    same(x.sum(-1, keepdim=True), [A.sum(1, keepdims=True), B.sum(1, keepdims=True)])
    with pytest.raises(RuntimeError, match="1st dimension of 2nd input tensor to be: 2 but got: 1"):
        torch.matmul(x, torch.nested.nested_tensor([torch.ones(3, 2)]))


def test_attention_is_of_each_part():
    g = np.random.default_rng(0)
    rows = [g.standard_normal((2, n, 4)).astype(np.float32) for n in (3, 5)]
    q = torch.nested.nested_tensor([torch.tensor(r) for r in rows])
    found = F.scaled_dot_product_attention(q, q, q).unbind()
    for p, r in zip(found, rows, strict=True):
        s = r @ r.transpose(0, 2, 1) / 2
        e = np.exp(s - s.max(-1, keepdims=True))
        np.testing.assert_allclose(p.numpy(), e / e.sum(-1, keepdims=True) @ r, rtol=1e-4, atol=1e-5)


def test_views_and_slices():
    x = nested()
    same(x.transpose(1, 2), [A.T, B.T])
    same(x.reshape(2, -1, 3, 1), [A[..., None], B[..., None]])
    same(x.chunk(3, -1)[1], [A[:, 1:2], B[:, 1:2]])
    same(torch.cat([x, x]), [A, B, A, B])
    assert x[1, 2, 0].item() == B[2, 0]
    x[0].fill_(7)
    same(x, [np.full_like(A, 7), B])
    with pytest.raises(RuntimeError, match="Nested tensor dimension 0 cannot be transposed"):
        x.transpose(0, 1)
    with pytest.raises(
        RuntimeError, match="Chunk for nested tensors is currently only supported for the last dimension"
    ):
        x.chunk(2, 1)


def test_padding_and_back():
    x = nested()
    padded = x.to_padded_tensor(-1.0)
    expected = np.full((2, 4, 3), -1, np.float32)
    expected[0, :2], expected[1] = A, B
    assert padded.numpy().tolist() == expected.tolist()
    assert tuple(torch.nested.to_padded_tensor(x, 0.0, (2, 5, 3)).shape) == (2, 5, 3)
    same(torch._nested_from_padded(padded, x._nested_tensor_size()), [A, B])
    mask = torch.tensor([[True, True, False, False], [True] * 4])
    same(torch._nested_tensor_from_mask(padded, mask), [A, B])
    assert not torch._nested_tensor_from_mask_left_aligned(padded, mask.flip(1))
    with pytest.raises(RuntimeError, match="Truncation is not supported"):
        x.to_padded_tensor(0.0, (2, 3, 3))


def test_buffers_seen_as_parts():
    buffer, sizes = torch.arange(18.0), torch.tensor([[2, 3], [4, 3]])
    strides, offsets = torch._nested_compute_contiguous_strides_offsets(sizes)
    assert strides.tolist() == [[3, 1], [3, 1]] and offsets.tolist() == [0, 6]
    x = torch._nested_view_from_buffer(buffer, sizes, strides, offsets)
    buffer[7] = 100
    assert x[1][0].tolist() == [6, 100, 8]


def test_gradients():
    x = nested(requires_grad=True)
    assert x.is_leaf and x.grad is None and not nested().requires_grad
    (x * x).to_padded_tensor(0.0).sum().backward()
    same(x.grad, [2 * A, 2 * B])
    a, b = (torch.tensor(n, requires_grad=True) for n in (A, B))
    out = torch.nested.as_nested_tensor([a, b])
    assert out.requires_grad and not out.is_leaf
    ga, gb = torch.autograd.grad(out.sin().to_padded_tensor(0.0).sum(), (a, b))
    np.testing.assert_allclose(ga.numpy(), np.cos(A), rtol=1e-5)
    np.testing.assert_allclose(gb.numpy(), np.cos(B), rtol=1e-5)
    (g,) = torch.autograd.grad(out * 3, [out], grad_outputs=[torch.ones_like(out)])
    same(g, [np.full_like(A, 3), np.full_like(B, 3)])


def test_copies_files_and_comparison():
    x = nested(requires_grad=True)
    y = copy.deepcopy(x)
    assert y.requires_grad and y.is_leaf
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    same(torch.load(file), [A, B])
    torch.testing.assert_close(x, y)
    with pytest.raises(AssertionError, match="not close"):
        torch.testing.assert_close(x.detach(), x.detach() + 1)


def test_parts_of_several_dimensions_are_refused():
    with pytest.raises(
        RuntimeError, match="Found dimension 2 for Tensor at index 1 and dimension 1 for Tensor at index 0"
    ):
        torch.nested.nested_tensor([torch.ones(2), torch.ones(2, 3)])
    with pytest.raises(NotImplementedError, match="torch.qr of a nested tensor"):
        torch.qr(nested())
