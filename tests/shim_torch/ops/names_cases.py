"""Normalisation with running statistics, and ATen's names of what tensors do themselves."""

from .expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x = pattern(torch, 3, 4, 5, seed=1).requires_grad_()
    w, b = pattern(torch, 4, seed=2).requires_grad_(), pattern(torch, 4, seed=3).requires_grad_()
    mean, var = pattern(torch, 4, seed=4), pattern(torch, 4, seed=5).abs() + 0.5
    table = pattern(torch, 6, 3, seed=6).requires_grad_()

    def tracked(f):
        m, v = mean.clone(), var.clone()
        return f(m, v), m, v

    return {"torch": torch, "F": torch.nn.functional, "aten": torch.ops.aten, "nn": torch.nn, "x": x, "w": w, "b": b,
            "mean": mean, "var": var, "tracked": tracked, "table": table, "i": torch.tensor([[1, 2], [2, 5]])}  # fmt: skip


CASES = """
F.batch_norm(x, mean, var, w, b)
F.batch_norm(x, None, None, w, b, training=True)
tracked(lambda m, v: F.batch_norm(x, m, v, w, None, True, 0.3, 1e-3))
tracked(lambda m, v: F.batch_norm(x.bfloat16(), m, v, None, None, True))
F.batch_norm(x[:, :, 0], mean, var)
torch.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-5)
tracked(lambda m, v: torch.native_batch_norm(x, w, b, m, v, False, 0.1, 1e-5))
aten._native_batch_norm_legit.no_stats(x, w, b, True, 0.1, 1e-5)[0]
torch.autograd.grad(F.batch_norm(x, None, None, w, b, training=True).pow(3).sum(), [x, w], create_graph=True)
F.instance_norm(x, weight=w, bias=b)
tracked(lambda m, v: F.instance_norm(x, m, v, momentum=0.3))
F.instance_norm(x, mean, var, w, b, use_input_stats=False)
nn.BatchNorm1d(4)(x)
nn.InstanceNorm1d(4, track_running_stats=True)(x)
nn.InstanceNorm1d(4, affine=True)(x[0])
F.batch_norm(x, w, w[:2])
F.batch_norm(x, mean, var, weight=w[:3])
F.batch_norm(x[:1, :, 0], None, None, training=True)
F.batch_norm(x, None, None)
F.instance_norm(x[:, :, :1])
F.instance_norm(x, use_input_stats=False)
F.instance_norm(x, mean[:3], var[:3])
F.embedding(i, table, max_norm=1.0)
F.embedding(i, table.detach().clone(), max_norm=0.5, norm_type=1.0)
F.embedding(i, table, scale_grad_by_freq=True)
F.embedding(i + 3, table)
F.embedding(i.float(), table)
torch.detach(x)
torch.fill(x, 2.0)
torch.is_same_size(x, x)
torch.is_nonzero(mean[0])
aten.alias(x)
aten._unsafe_view(x, [12, 5])
aten.lift_fresh(mean)
aten.is_same_size(mean, w)
aten.is_non_overlapping_and_dense(x[:, :2])
aten.item(mean[0])
torch.unsafe_split(mean, 3)
torch.unsafe_chunk(x, 2, 1)
torch.unsafe_split_with_sizes(mean, [1, 3])
torch.empty_permuted((2, 3, 4), (1, 0, 2)).stride()
torch.frobenius_norm(x, (1, 2))
torch.nuclear_norm(x[0])
aten.mse_loss_backward(w.detach(), mean, var, 1)
aten.nll_loss_forward(table.detach(), torch.tensor([0, 2, 1, -100, 0, 1]), mean[:3], 1, -100)
aten.nll_loss_backward(torch.tensor(1.5), table.detach(), torch.tensor([0, 2, 1, -100, 0, 1]), None, 1, -100, torch.tensor(5.0))
mean.is_set_to(mean)
mean.is_set_to(var)
""".strip().splitlines()
