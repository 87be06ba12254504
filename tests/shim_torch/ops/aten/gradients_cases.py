"""Gradients that ATen has operators for, by their names."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x, g = pattern(torch, 3, 4, seed=1), pattern(torch, 3, 4, seed=2)
    table, image = pattern(torch, 5, 3, seed=3), pattern(torch, 1, 2, 4, 5, seed=4)
    volume = pattern(torch, 1, 2, 4, 4, 4, seed=5)
    draws = pattern(torch, 1, 2, 2, seed=6).abs() / 2.1
    grid = pattern(torch, 1, 3, 3, 2, seed=7) * 0.6
    lp = pattern(torch, 6, 2, 4, seed=8).log_softmax(2)
    t, lengths = torch.tensor([[1, 2, 2], [3, 1, 0]]), [torch.tensor([6, 5]), torch.tensor([3, 2])]
    i, o = torch.tensor([1, 2, 4, 3, 4]), torch.tensor([0, 2, 2])
    bag, sizes = torch.tensor([0, 0, 2, 2, 2]), torch.tensor([2, 0, 3])
    bags, weights = pattern(torch, 3, 3, seed=9), pattern(torch, 5, seed=10)
    many = torch.tensor([[3, 0, -1, 1], [1, -1, 0, 2], [0, 1, 2, 3]])
    classes, y = torch.tensor([[[0, 2], [1, -100]]]), torch.tensor([0, 3, 1])
    maps, spread = pattern(torch, 1, 3, 2, 2, seed=11), pattern(torch, 1, 2, 8, 10, seed=12)
    aten = torch.ops.aten
    return locals()


CASES = """
aten.glu_jvp(torch.nn.functional.glu(x, 1), x, g, 1)
aten.glu_backward_jvp(torch.ops.aten.glu_backward(g[:, :2], x, 1), g[:, :2], x, x[:, 2:], g, 1)
aten.cumprod_backward(g, x, 1, x.cumprod(1))
aten.cumprod_backward(g, x * (x > 0), 0, (x * (x > 0)).cumprod(0))
aten.cummaxmin_backward(g, x, x.cummax(1)[1], 1)
aten.value_selecting_reduction_backward(g[:, 0], 1, x.max(1)[1], [3, 4], False)
aten.value_selecting_reduction_backward(g[:1], 0, x.min(0, keepdim=True)[1], [3, 4], True)
aten.masked_select_backward(g.reshape(-1)[:3], x[:, :1], torch.tensor([[True], [False], [True]]) & torch.tensor([True, False, False, False]))
aten.gather_backward(g[:, :2], x, 1, torch.tensor([[0, 0], [3, 1], [2, 2]]), False)
aten.infinitely_differentiable_gelu_backward(g, x)
aten.matrix_exp_backward(x[:, :3], g[:, :3])
aten._pdist_backward(g.reshape(-1)[:3], x, 1.0, torch.pdist(x, 1.0))
aten._pdist_backward(g.reshape(-1)[:3], x, 2.0, torch.pdist(x, 2.0))
aten.affine_grid_generator_backward(grid, [1, 2, 3, 3], False)
aten.affine_grid_generator_backward(grid, [1, 2, 3, 3], True)
aten._masked_softmax_backward(g, aten._masked_softmax(x, x > 1, 1, 0), x > 1, 1)
aten._segment_reduce_backward(g[:2], torch.segment_reduce(x, 'sum', lengths=torch.tensor([1, 2])), x, 'sum', lengths=torch.tensor([1, 2]))
aten._segment_reduce_backward(g[:2], torch.segment_reduce(x, 'max', lengths=torch.tensor([1, 2])), x, 'max', lengths=torch.tensor([1, 2]))
aten.multi_margin_loss_backward(torch.tensor(1.5), x, y, 1, 1.0, None, 1)
aten.multi_margin_loss_backward(g[:, 0], x, y, 2, 0.5, weights[:4].abs(), 0)
aten.multilabel_margin_loss_forward(x, many, 1)
aten.multilabel_margin_loss_backward(torch.tensor(1.5), x, many, 2, aten.multilabel_margin_loss_forward(x, many, 2)[1])
aten.nll_loss2d_forward(maps, classes, None, 1, -100)
aten.nll_loss2d_forward(maps, classes, weights[:3].abs(), 2, -100)
aten.nll_loss2d_forward(maps, classes, None, 0, -100)
aten.nll_loss2d_backward(torch.tensor(1.5), maps, classes, None, 1, -100, torch.tensor(3.0))
aten.rrelu_with_noise_backward(g, x, x.abs(), 0.1, 0.3, True, False)
aten.rrelu_with_noise_backward(g, x, x.abs(), 0.1, 0.3, False, False)
aten.fractional_max_pool2d_backward(image[:, :, :2, :2], image, [2, 2], [2, 2], torch.nn.functional.fractional_max_pool2d(image, 2, (2, 2), _random_samples=draws, return_indices=True)[1])
aten._upsample_bilinear2d_aa_backward(image[:, :, :2, :3], [2, 3], [1, 2, 4, 5], False, None, None)
aten._upsample_bicubic2d_aa_backward(image[:, :, :2, :3], [2, 3], [1, 2, 4, 5], True, None, None)
aten._grid_sampler_2d_cpu_fallback(image, grid, 0, 0, False)
aten._grid_sampler_2d_cpu_fallback_backward(image[:, :, :3, :3], image, grid, 0, 1, False)
aten._weight_norm_interface_backward(g, x, x[:, :1].contiguous(), torch.norm_except_dim(x, 2, 0), 0)
aten._weight_norm_differentiable_backward(g, x, x[:, :1].contiguous(), torch.norm_except_dim(x, 2, 0), 0)
aten._embedding_bag_dense_backward(bags, i, bag, sizes, sizes[:0], 5, False, 0, None)
aten._embedding_bag_dense_backward(bags, i, bag, sizes, sizes[:0], 5, False, 1, None)
aten._embedding_bag_dense_backward(bags, i, bag, sizes, sizes[:0], 5, True, 0, weights, 4)
aten._embedding_bag_dense_backward(bags, i, bag, sizes, torch.tensor([[1, 2, 1], [-1, -1, -1], [4, 3, 4]]), 5, False, 2, None)
aten._embedding_bag_per_sample_weights_backward(bags, table, i, o, bag, 0)
aten._embedding_bag_per_sample_weights_backward(bags, table, i, o, bag, 0, 4)
aten.embedding_sparse_backward(x[:, :3], torch.tensor([1, 4, 1]), 5, -1, False).to_dense()
aten.embedding_sparse_backward(x[:, :3], torch.tensor([1, 4, 1]), 5, 4, False).to_dense()
aten.embedding_sparse_backward(x[:, :3], torch.tensor([1, 4, 1]), 5, 4, True)
aten._ctc_loss_backward(torch.ones(2), lp, t, [6, 5], [3, 2], *torch._ctc_loss(lp, t, [6, 5], [3, 2]), 0)
aten.adaptive_avg_pool3d_backward.grad_input(volume[:, :, :2, :2, :2], volume, grad_input=torch.empty(0))
""".strip().splitlines()
