"""Inner numeric operators: sums with relu, helpers, jagged and padded rows, histograms, sparse constructors."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x, y = pattern(torch, 3, 4, seed=1).requires_grad_(), pattern(torch, 3, 4, seed=2)
    s = pattern(torch, 3, 3, seed=3)
    points, rows = pattern(torch, 20, 2, seed=4), pattern(torch, 5, 2, seed=5)
    return {
        "torch": torch,
        "aten": torch.ops.aten,
        "x": x,
        "y": y,
        "i": torch.arange(6),
        "points": points,
        "rows": rows,
        "spd": s @ s.mT + torch.eye(3),
        "s": s,
        "offsets": torch.tensor([0, 2, 2, 5]),
        "dense": pattern(torch, 3, 4, 2, seed=6),
        "edges": [torch.tensor([-2.0, 0.0, 1.0]), torch.tensor([-1.0, 0.5, 1.0, 2.0])],
        "w": pattern(torch, 20, seed=7).abs(),
        "helped": helped,
        "sizes": torch.tensor([3, 2, 1]),
        "packed": pattern(torch, 6, 2, seed=8),
        "lp": pattern(torch, 6, 2, 4, seed=9).log_softmax(2),
        "labels": torch.tensor([[1, 2, 2], [3, 1, 0]]),
    }


def helped(function, x, dim):
    """What a helper writes."""
    values, places = x.new_empty(x.shape), x.new_empty(x.shape).long()
    function(x, values, places, dim)
    return values, places


CASES = """
torch._add_relu(y, y, alpha=-0.5)
torch._add_relu(y, 1.5)
torch._add_relu_(y.clone(), y.flip(0))
aten.isin.Tensor_Scalar(i, 3)
aten.isin.Tensor_Scalar(i, 3, invert=True)
aten.isin.Scalar_Tensor(3, i)
aten.atleast_2d.Sequence([i[0], i])
aten._linalg_eigvals(spd).real.sort()[0]
torch._linalg_solve_ex(spd, y[:, :2])
aten.linalg__powsum(y, 3, [1], True)
aten._cholesky_solve_helper(y, torch.linalg.cholesky(spd), False)
torch._compute_linear_combination(y, s)
torch._trilinear(y, y.flip(0), y * 2, [], [], [], [0])
torch._trilinear(y[0], y[:, 0], y * 2, [0], [1], [], [0, 1])
torch._trilinear(y[0], y[:, 0], y * 2, [0], [1], [], [1])
helped(torch._cummax_helper, y, 1)
helped(torch._cummin_helper, y, 0)
aten._jagged_to_padded_dense_forward(rows, [offsets], [3], -1.0)
aten._jagged_to_padded_dense_forward(rows, [offsets], [2], 0.5)
aten._padded_dense_to_jagged_forward(dense, [offsets], 5)
aten._padded_dense_to_jagged_forward(dense[:, :2], [offsets], 5)
aten._padded_dense_to_jagged_forward(dense, [offsets], 7)
aten._pack_padded_sequence_backward(packed, [3, 3, 2], sizes, False)
aten._pack_padded_sequence_backward(packed, [3, 3, 2], sizes, True)
aten._pad_enum(x, [1, 2], 0)
aten._pad_enum(x, [1, 2], 1)
aten._pad_enum(x[None], [2, 1], 2)
aten._pad_enum(x, [1, 2], 3, 2.5)
torch._histogramdd_bin_edges(points, [3, 2])
torch._histogramdd_bin_edges(points, [3, 2], range=[-1.0, 1.0, 0.0, 2.0])
torch._histogramdd_from_bin_cts(points, [3, 2], weight=w)
torch._histogramdd_from_bin_cts(points, [2, 2], density=True)
torch._histogramdd_from_bin_tensors(points, edges)
torch._histogramdd_from_bin_tensors(points, edges, weight=w, density=True)
aten.sparse_csr_tensor.crow_col_value(torch.tensor([0, 1, 2]), torch.tensor([1, 0]), torch.tensor([2.0, 3.0])).to_dense()
aten.sparse_csc_tensor.ccol_row_value_size(torch.tensor([0, 1, 2]), torch.tensor([1, 0]), torch.tensor([2.0, 3.0]), [3, 2]).to_dense()
aten.sparse_coo_tensor.size([2, 3]).to_dense()
aten.sparse_coo_tensor.indices_size(torch.tensor([[0, 1]]), torch.tensor([2.0, 3.0]), [3]).to_dense()
aten._spdiags(y, torch.tensor([0, 1, -2]), [4, 4]).to_dense()
torch._ctc_loss(lp, labels, [6, 5], [3, 2])[0]
""".strip().splitlines()
