"""Operators that are made of others, and gradients by their older names."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x, v = pattern(torch, 3, 4, seed=1).requires_grad_(), pattern(torch, 4, seed=2).requires_grad_()
    z = torch.complex(pattern(torch, 3, seed=3), pattern(torch, 3, seed=4)).requires_grad_()
    return {
        "torch": torch,
        "aten": torch.ops.aten,
        "F": torch.nn.functional,
        "x": x,
        "v": v,
        "z": z,
        "y": pattern(torch, 3, 4, seed=5),
        "g": pattern(torch, 3, 4, seed=6),
        "i": torch.tensor([2, 0, 2]),
        "s": torch.tensor(2.5),
        "image": pattern(torch, 1, 2, 4, 5, seed=7),
        "rows": [pattern(torch, n, 2, seed=8 + n) for n in (3, 1, 2)],
    }


CASES = """
torch.block_diag(x, v, s)
torch.block_diag(x, torch.ones(1, 1, dtype=torch.int64))
torch.block_diag(torch.ones(2, 2, 2))
torch.cartesian_prod(v, v[:2])
torch.cartesian_prod(v)
torch.cartesian_prod(v, x)
torch.cartesian_prod(s, v)
torch.cartesian_prod(x)
torch.cartesian_prod()
torch.meshgrid(v, v[:2], indexing='ij')
torch.meshgrid(v, v[:2], s, indexing='xy')
torch.meshgrid(v, v.double(), indexing='ij')
torch.meshgrid(v, indexing='ji')
torch.can_cast(torch.float32, torch.int64)
torch.can_cast(torch.int64, torch.float16)
torch.promote_types(torch.int16, torch.float16)
torch.real(z)
torch.imag(z)
torch.imag(y)
torch.real(y)
y.chalf()
x.T
aten.numpy_T(x)
aten.nonzero_numpy(y > 0)
torch._cast_Int(y)
torch._cast_Half(y)
torch._cast_Double(x)
F.relu6(x * 4)
aten.relu6_(y * 4)
torch._C._nn.pad_sequence(rows, True, -1.0)
torch.nn.utils.rnn.pad_sequence(rows)
torch.nn.utils.rnn.pad_sequence([])
torch.nn.utils.rnn.pad_sequence(rows, padding_side='left')
torch.nn.utils.rnn.pad_sequence(rows, padding_side='top')
torch.unique_consecutive(i, return_inverse=True, return_counts=True)
torch.unique_consecutive(torch.tensor([[1, 1, 2], [1, 1, 3]]), dim=1)
aten.trace_backward(s, [3, 4])
aten.diagonal_backward(g[:, 0], [3, 4], 1, 0, 1)
aten.unfold_backward(g, [6], 0, 4, 1)
aten.index_select_backward(g, [5, 4], 0, i)
aten.embedding_backward(g, i, 5, -1, False, False)
aten.embedding_backward(g, i, 5, 2, True, False)
aten.soft_margin_loss_backward(s, y, g.sign(), 1)
aten.binary_cross_entropy_backward(g, y.sigmoid(), (y > 0).float(), None, 0)
aten.binary_cross_entropy_backward(s, y.sigmoid(), (y > 0).float(), y.abs(), 1)
aten.mse_loss_backward(s, y, g, 2)
aten.smooth_l1_loss_backward(s, y, g, 1, 0.5)
aten.huber_loss_backward(g, y, -y, 0, 0.7)
aten.reflection_pad1d_backward(g, y[:, :2], [1, 1])
aten.replication_pad1d_backward(g, y[:, :1], [1, 2])
aten.avg_pool2d_backward(image[:, :, :2, :2], image, [2, 2], [2, 2], [0, 0], False, True, None)
aten._adaptive_avg_pool2d_backward(image[:, :, :2, :3], image)
aten.stride.int(y, 0)
aten.size.int(y, -1)
aten.is_contiguous(y.t())
aten.zero(y)
torch.empty(0).resize_(2, 3).shape
y.clone().resize_(2, 2)
x.resize_(3)
aten._reshape_copy(y, [4, 3])
aten._conj_copy(z.detach())
aten._neg_view_copy(y)
torch._euclidean_dist(y, g)
""".strip().splitlines()
