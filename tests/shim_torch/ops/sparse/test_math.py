"""Functions, sums, products, reductions and shapes of coordinate tensors, against the dense ones."""

from __future__ import annotations

import pytest

import shim_torch as torch


def two():
    a = torch.tensor([[0.0, 0.5, 0.0], [0.25, 0.0, -0.75]])
    b = torch.tensor([[1.0, 2.0, 0.0], [0.0, 0.0, 4.0]])
    return a, b


def close(a, b):
    a = a.to_dense() if a.layout != torch.strided else a
    b = b.to_dense() if b.layout != torch.strided else b
    assert a.shape == b.shape and a.dtype == b.dtype
    assert torch.allclose(a, b)


UNARY = "abs asin asinh atan atanh ceil erf expm1 floor log1p neg relu round sgn sign sin sinh tan tanh trunc square".split()


@pytest.mark.parametrize("name", [*UNARY, "isnan", "deg2rad", "nan_to_num"])
def test_functions_that_keep_zeros(name):
    a, _ = two()
    result = getattr(a.to_sparse(), name)()
    assert result.layout is torch.sparse_coo
    close(result, getattr(a, name)())


def test_functions_of_repeated_entries_see_their_sum():
    s = torch.sparse_coo_tensor(torch.tensor([[1, 1]]), torch.tensor([1.0, 3.0]), (2,))
    assert s.sqrt().to_dense().tolist() == [0.0, 2.0]
    with pytest.raises(RuntimeError, match="sin_ requires coalesced input"):
        s.sin_()


def test_sums_and_products():
    a, b = two()
    s, t = a.to_sparse(), b.to_sparse()
    close(s + t, a + b)
    close(s - t, a - b)
    close(torch.add(s, t, alpha=3), a + 3 * b)
    close(a + t, a + b)
    close(a - t, a - b)
    close(s * t, a * b)
    close(s * b, a * b)
    close(b * s, a * b)
    close(s * 2, a * 2)
    close(s / 4, a / 4)
    close(s // 0.5, a // 0.5)
    close(s * b[0], a * b[0])
    close(s**2, a**2)
    close(s * torch.ones(4, 2, 3), a * torch.ones(4, 2, 3))
    assert (s * t).layout is torch.sparse_coo and (a + t).layout is torch.strided
    for wrong, text in (
        (lambda: s + 1, "add.sparse, dense. is not supported"),
        (lambda: s + b, "add.sparse, dense. is not supported"),
        (
            lambda: s / b,
            "Sparse division requires a scalar or zero-dim dense tensor divisor .got shape .2, 3. for divisor",
        ),
        (lambda: b.new_ones(1, 3) + s, "dense-sparse addition does not currently support broadcasting"),
        (lambda: s + torch.sparse_coo_tensor((1, 3)), "expected sizes of 'self' and 'other' to match"),
    ):
        with pytest.raises(RuntimeError, match=text):
            wrong()


def test_in_place():
    a, b = two()
    s = a.to_sparse()
    values = s._values()
    s.mul_(2)
    assert values.tolist() == [1.0, 0.5, -1.5]  # written where they are
    s.add_(b.to_sparse())
    close(s, 2 * a + b)
    s.div_(2)
    close(s, a + b / 2)
    dense = b.clone()
    assert dense.add_(a.to_sparse()) is dense
    close(dense, a + b)
    s.zero_()
    assert s._nnz() == 0
    s += a.to_sparse()
    close(s, a)


@pytest.mark.parametrize(
    ("one", "other"), [("int64", "float32"), ("float32", "float64"), ("bool", "int32"), ("int32", "complex64")]
)
def test_promotion(one, other):
    a = torch.tensor([[0, 1], [1, 0]]).to(getattr(torch, one))
    b = torch.tensor([[1, 1], [0, 0]]).to(getattr(torch, other))
    close(a.to_sparse() + b.to_sparse(), a + b)
    close(a.to_sparse() * b.to_sparse(), a * b)
    close(a + b.to_sparse(), a + b)


def test_matrix_products():
    a, b = two()
    s, t = a.to_sparse(), b.t().to_sparse()
    vector = torch.tensor([1.0, 2.0, 3.0])
    close(s @ b.t(), a @ b.t())
    close(b @ s.t(), b @ a.t())
    close(s @ t, a @ b.t())
    assert (s @ t).layout is torch.sparse_coo and (s @ b.t()).layout is torch.strided
    close(s @ vector, a @ vector)
    close(torch.sparse.mm(s, b.t()), a @ b.t())
    close(
        torch.addmm(torch.ones(2, 2), s, b.t(), beta=2, alpha=3),
        torch.addmm(torch.ones(2, 2), a, b.t(), beta=2, alpha=3),
    )
    close(torch.bmm(torch.stack([s, s]), torch.stack([b.t(), b.t()])), torch.stack([a @ b.t()] * 2))
    close(torch.smm(s, b.t()), a @ b.t())
    close(torch.hspmm(s, b.t()), a @ b.t())
    assert torch.hspmm(s, b.t()).sparse_dim() == 1
    with pytest.raises(RuntimeError, match="Expected dim 0 size 3, got 2"):
        s @ b


def test_reductions():
    a, _ = two()
    s = a.to_sparse()
    close(s.sum(), a.sum())
    close(s.sum(0), a.sum(0))
    close(s.sum(1, keepdim=True), a.sum(1, keepdim=True))
    close(torch.sparse.sum(s, 0), a.sum(0))
    close(torch.sparse.sum(s, dtype=torch.float64), a.sum(dtype=torch.float64))
    close(s.norm(), a.norm())
    close(torch.norm(s, 1), torch.norm(a, 1))
    assert s.sum(0).layout is torch.sparse_coo and bool(s.any())


def test_softmax_of_the_entries():
    s = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.tensor([1.5, 2.0, 2.5]), (2, 3))
    assert torch.sparse.softmax(s, 0).to_dense().tolist()[0][2] == pytest.approx(0.26894143)
    rows = torch.sparse.softmax(s, 1)._values().tolist()
    assert rows == pytest.approx([1.0, 0.37754068, 0.62245935])
    logs = torch.sparse.log_softmax(s, 1)._values().tolist()
    assert logs == pytest.approx([0.0, -0.974077, -0.474077])


def test_shapes():
    a, _ = two()
    s = a.to_sparse()
    close(s.t(), a.t())
    close(s.transpose(0, 1), a.t())
    close(s.permute(1, 0), a.t())
    close(s.unsqueeze(0), a.unsqueeze(0))
    close(s[1], a[1])
    close(s[1, 2], a[1, 2])
    close(s[None], a[None])
    close(s.index_select(1, torch.tensor([2, 0, 2])), a[:, [2, 0, 2]])
    close(s.narrow_copy(1, 1, 2), a[:, 1:])
    close(torch.cat([s, s], 1), torch.cat([a, a], 1))
    close(torch.stack([s, s], 1), torch.stack([a, a], 1))
    assert [t.to_dense().tolist() for t in s] == a.tolist()
    with pytest.raises(RuntimeError, match="Concatenating sparse tensors, but a dense tensor was found at position 1."):
        torch.cat([s, a])
    with pytest.raises(IndexError, match="out of range for tensor of size"):
        s.index_select(0, torch.tensor([3]))


def test_hybrid_tensors():
    a = torch.arange(12.0).reshape(2, 3, 2)
    a[0, 1:] = 0
    s = a.to_sparse(2)
    assert s.dense_dim() == 1 and s.values().shape == (4, 2)
    close(s, a)
    close(s.sum(2), a.sum(2))
    close(s.sum(0), a.sum(0))
    close(s.transpose(0, 1), a.transpose(0, 1))
    close(s + s, a + a)
    close(s * s, a * a)
    close(s.select(2, 1), a.select(2, 1))
    close(torch.cat([s, s], 2), torch.cat([a, a], 2))


def test_dtypes_of_products_must_be_the_same():
    a, b = torch.eye(2).to_sparse(), torch.eye(2).double().to_sparse()
    for first, second, text in [
        (a, b, "mat1 dtype Float does not match mat2 dtype Double"),
        (b, a, "mat1 dtype Double does not match mat2 dtype Float"),
        (a.to_sparse_csr(), b.to_sparse_csr(), "expected scalar type Double but found Float"),
        (a, b.to_dense(), "expected scalar type Float but found Double"),
        (b.to_dense(), a, "expected scalar type Float but found Double"),
        (b.to_dense(), a.to_sparse_csr(), "expected scalar type Double but found Float"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            torch.sparse.mm(first, second)


def test_memory_formats_are_of_strided_tensors():
    a = two()[0].to_sparse()
    for kept in (torch.preserve_format, torch.contiguous_format):
        made = torch.zeros_like(a, layout=torch.strided, memory_format=kept)
        assert made.layout == torch.strided and made.tolist() == [[0.0] * 3] * 2
        assert torch.ones_like(a, layout=torch.strided, memory_format=kept).tolist() == [[1.0] * 3] * 2
        for call in (torch.zeros_like, torch.rand_like):
            with pytest.raises(RuntimeError, match="memory format option is only supported by strided tensors"):
                call(a, memory_format=kept)


def test_permuted_by_negative_dims_is_not_known_to_be_in_order():
    a = two()[0].to_sparse()
    assert (
        a.permute(0, 1).is_coalesced() and not a.permute(-2, -1).is_coalesced() and not a.permute(1, 0).is_coalesced()
    )
    close(a.permute(-1, -2), two()[0].t())
