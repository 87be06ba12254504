"""Nested tensors made of padded tensors, masks and buffers; what their makers refuse."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    t = pattern(torch, 2, 3, 4, seed=1)
    return {
        "torch": torch,
        "t": t,
        "sizes": torch.tensor([[2, 4], [3, 1]]),
        "heads": pattern(torch, 2, 2, 3, 2, seed=2),
        "left": torch.tensor([[True, True, False], [True, False, False]]),
        "holes": torch.tensor([[True, False, True]] * 2),
        "buffer": torch.arange(11.0),
        "parts": lambda n: list(n.unbind()),
    }


CASES = """
parts(torch._nested_from_padded(t, sizes))
parts(torch._nested_from_padded(heads, torch.tensor([[2, 4], [3, 4]]), True))
parts(torch._nested_from_padded_and_nested_example(t, torch.nested.nested_tensor([torch.ones(1, 2), torch.ones(3, 4)])))
torch._nested_tensor_from_mask_left_aligned(t, left)
torch._nested_tensor_from_mask_left_aligned(t, holes)
torch._nested_tensor_from_mask_left_aligned(t, left & False)
parts(torch._nested_tensor_from_mask(t, left))
parts(torch._nested_tensor_from_mask(t, holes, False))
torch._nested_tensor_from_mask(t, holes)
torch._nested_tensor_from_mask(t, left.float())
torch._nested_tensor_from_mask(t, left[0])
torch._nested_tensor_from_mask(t[0], left)
torch._nested_tensor_from_mask(t, left[:, :2])
torch._nested_compute_contiguous_strides_offsets(torch.tensor([[2, 3, 1], [1, 0, 4], [2, 2, 2]]))
parts(torch._nested_view_from_buffer(buffer, torch.tensor([[2, 3], [1, 5]]), torch.tensor([[3, 1], [5, 1]]), torch.tensor([0, 6])))
parts(torch._nested_view_from_buffer_copy(buffer, torch.tensor([[3, 2], [1, 5]]), torch.tensor([[1, 3], [5, 1]]), torch.tensor([0, 6])))
""".strip().splitlines()
