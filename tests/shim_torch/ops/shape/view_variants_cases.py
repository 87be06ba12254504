"""In-place forms of the views, which change a tensor's own geometry, and their copies."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x = pattern(torch, 3, 1, 4, seed=1)
    return {
        "torch": torch,
        "aten": torch.ops.aten,
        "x": x,
        "leaf": pattern(torch, 3, 4, seed=2).requires_grad_(),
        "form": lambda t: (t, t.shape, t.stride()),
        "new": lambda: x.clone(),
        "m": pattern(torch, 3, 4, seed=3),
        "image": pattern(torch, 2, 3, 4, 5, seed=4).to(memory_format=torch.channels_last),
        "z": torch.tensor([[1 + 2j, 3.0]]),
        "pairs": pattern(torch, 3, 2, seed=5),
    }


CASES = """
form(new().squeeze_())
form(new().squeeze_(1))
form(new().squeeze_(0))
form(new().squeeze_((0, 1)))
form(new().unsqueeze_(-1))
form(new().unsqueeze_(5))
form(new().transpose_(0, 2))
form(new().swapdims_(0, 1))
form(new().swapaxes_(1, -1))
form(m.clone().t_())
form(m[0].clone().t_())
new().t_()
form(new().as_strided_((2, 2), (1, 2), 1))
form(torch.as_strided_(new(), (2,), (3,)))
torch.empty(0).resize_as_(image, memory_format=torch.preserve_format).stride()
torch.empty(120).resize_as_(image).stride()
torch.resize_as_(m.clone(), x).shape
torch.alias_copy(leaf)
torch.as_strided_copy(leaf, (2, 2), (1, 4), 1)
torch.detach_copy(m)
torch.diagonal_copy(leaf, 1)
torch.expand_copy(leaf[:, :1], (3, 2))
form(torch.permute_copy(x, (2, 0, 1)))
torch.select_copy(leaf, 1, -2)
torch.slice_copy(leaf, 1, 1, None, 2)
torch.squeeze_copy(x)
torch.squeeze_copy(x, 1)
torch.squeeze_copy(x, (0, 1))
form(torch.t_copy(leaf))
form(torch.transpose_copy(x, 0, 2))
torch.unfold_copy(leaf, 1, 2, 2)
torch.unsqueeze_copy(leaf, 0)
torch.view_copy(leaf, (2, 6))
torch.view_copy(leaf.t(), (12,))
torch.view_copy(m, dtype=torch.int32)
torch.view_as_real_copy(z)
torch.view_as_complex_copy(pairs)
torch.split_copy(leaf, 2, 1)
torch.split_with_sizes_copy(leaf, [1, 3], 1)
torch.unbind_copy(leaf, 1)
torch.t_copy(m, out=torch.empty(0))
torch.permute_copy(m, (1, 1))
torch.view_copy(m, (5,))
""".strip().splitlines()
