"""ATen's names of what tensors do themselves, where the swept cases do not go."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x, i = pattern(torch, 3, 4, seed=1), torch.tensor([5, 6, 7])
    return {
        "torch": torch,
        "aten": torch.ops.aten,
        "x": x,
        "i": i,
        "leaf": pattern(torch, 3, 4, seed=2).requires_grad_(),
        "table": pattern(torch, 5, 3, seed=3) * 2,
        "two": torch.tensor([1.0, 2.0]),
        "prims": torch.ops.prims,
        "renormed": lambda t, *given: torch.embedding_renorm_(t.clone(), *given),
        "w": torch.tensor([0.5, 2.0, 1.0, 3.0]),
        "y": torch.tensor([1, 3, -100]),
    }


CASES = """
aten.detach(leaf).requires_grad
aten._reshape_alias(x, [2, 6], [6, 1])
aten.lift(x)
aten.lift_fresh_copy(leaf)
torch.fill(leaf, 2.5)
torch.fill(i, torch.tensor(3))
torch.fill(x, two)
aten.item(x)
aten._local_scalar_dense(i[0])
aten._local_scalar_dense(i)
aten._local_scalar_dense(i[:0])
torch.is_same_size(x, x[:2])
torch.is_nonzero(i)
torch.is_nonzero(i[:0])
torch.is_nonzero(i[:1] - 5)
aten.__and__.Tensor(i, i.flip(0))
aten.__and__.Scalar(i, 4)
aten.__or__.Scalar(i > 5, True)
aten.__xor__.Tensor(i, i.flip(0))
aten.__and__.Scalar(x, 1)
torch._shape_as_tensor(x)
torch._is_all_true(x > -9)
torch._is_any_true(x > 9)
torch._stack([i, i.flip(0)], 1)
i.is_set_to(i[:])
i.is_set_to(i[:2])
x.t().is_set_to(x)
aten.is_non_overlapping_and_dense(x.t())
aten.is_non_overlapping_and_dense(x[:, :1])
aten.is_non_overlapping_and_dense(x[:1, :2])
aten.is_non_overlapping_and_dense(i.expand(2, 3))
torch.unsafe_chunk(leaf, 2, 1)
torch.unsafe_split(leaf, 2)
torch.unsafe_split_with_sizes(leaf, [1, 2], 0)
torch.unsafe_split_with_sizes(leaf, [1, 1], 0)
torch.empty_permuted((2, 3, 4), (2, 0, 1)).stride()
torch.empty_permuted((2, 3), (0, 1, 2))
torch.empty_permuted((2, 3), (0, 2))
torch.empty_permuted((2, 3), (1, 1))
torch.empty_permuted((2, 3), (-1, 0))
torch.frobenius_norm(leaf, 1, True)
torch.frobenius_norm(leaf, (0, 1))
torch.nuclear_norm(leaf)
torch.nuclear_norm(leaf[None], (1, 2), True)
aten.mse_loss_backward(x, x, x + 1, 0)
aten.mse_loss_backward(torch.tensor(2.0), x, x + 1, 1)
aten.nll_loss_forward(x, y, w, 0, -100)
aten.nll_loss_forward(x, y, w, 1, 3)
aten.nll_loss_forward(x, y, None, 2, -100)
aten.nll_loss_forward(x[0], y[0], w, 1, -100)
aten.nll_loss_backward(torch.tensor(1.5), x, y, w, 1, -100, torch.tensor(5.0))
aten.nll_loss_backward(x[:, 0], x, y, w, 0, -100, torch.tensor(0.0))
aten.nll_loss_backward(torch.tensor(1.5), x, y, None, 2, 1, torch.tensor(1.0))
renormed(table, torch.tensor([0, 2, 2]), 1.0, 2.0)
renormed(table, torch.tensor([[0, 4]]), 0.5, 1.0)
renormed(table, torch.tensor([1]), 100.0, 2.0)
prims.convert_element_type(x, torch.int32)
torch._assert_tensor_metadata(x, [3, 4], [4, 1], torch.float32)
torch._assert_tensor_metadata(x.half(), dtype=torch.float32)
torch._assert_tensor_metadata(x, device='meta')
torch._assert_tensor_metadata(x, layout=torch.sparse_coo)
torch._assert_tensor_metadata(x, [4, 3])
torch._assert_tensor_metadata(x, None, [1, 3])
torch._assert_tensor_metadata(x, None, None, torch.int64)
""".strip().splitlines()
