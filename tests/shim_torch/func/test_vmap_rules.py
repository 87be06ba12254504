"""vmap against a loop over the batch: values, gradients, writes, random operators, and PyTorch 2.13's texts."""

from __future__ import annotations

import functools
from itertools import product

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.func import functional_call, grad, jacrev, vmap

F = torch.nn.functional


def randn(*size):
    return torch.randn(*size, generator=torch.Generator().manual_seed(sum(size)), dtype=torch.float64)


def ints(high, *size):
    return torch.randint(high, size, generator=torch.Generator().manual_seed(sum(size)))


A = randn(3, 4, 5)
WEIGHT, KERNEL = randn(2, 5), randn(2, 4, 3)
SPD = A @ A.mT + 5 * torch.eye(4, dtype=A.dtype)
ONE_ARGUMENT = {
    "arithmetic": lambda x: (x * 2 - 1) / (x.abs() + 1),
    "promotion": lambda x: x.float()[0, 0] * x,
    "comparisons": lambda x: torch.where(x > 0, x, -x).clamp(max=1.0),
    "sums": lambda x: x.sum() + x.sum(0).mean() + x.mean(-1, keepdim=True) + x.sum((0, 1)),
    "of_numbers": lambda x: x[0, 0].sum() + x[0, 0].mean(),
    "extremes": lambda x: x.max() - x.min() + x.amax(1) - x.amin(-1),
    "max_of_dim": lambda x: x.max(1),
    "argmax": lambda x: (x.argmax(), x.argmin(1)),
    "spread": lambda x: (x.var(), x.std(1), torch.var_mean(x, -1)),
    "softmax": lambda x: x.softmax(0) + x.log_softmax(-1),
    "scans": lambda x: x.cumsum(0).cumprod(-1).logcumsumexp(0),
    "sort": lambda x: (x.sort(0), x.topk(2), x.argsort(-1)),
    "median": lambda x: (x.median(), x.median(0).values, x.kthvalue(2, 1)),
    "norms": lambda x: (x.norm(), x.norm(dim=1), torch.linalg.vector_norm(x, 3), x.logsumexp(0)),
    "logic": lambda x: ((x > 0).any(), (x > 0).all(1), x.count_nonzero()),
    "prod": lambda x: (x.prod(), x.prod(1)),
    "reshapes": lambda x: (x.reshape(-1), x.view(2, -1, 5), x.flatten(), x.unflatten(0, (2, 2))),
    "transposes": lambda x: (x.t(), x.transpose(0, 1), x.permute(1, 0), x.movedim(0, -1), x.mT),
    "slices": lambda x: (x[1:3], x[..., 2], x[None], x[:, ::2], x.narrow(1, 1, 2), x.select(-1, 0)),
    "splits": lambda x: (*x.split(2), *x.chunk(2, -1), *x.unbind(1)),
    "squeezes": lambda x: x[:1, :1].squeeze() + x[:1].squeeze(0)[0] + x.unsqueeze(-1)[0, 0],
    "expands": lambda x: (x[0].expand(2, 5), x[:1].repeat(3, 2), x[0].broadcast_to(4, 5)),
    "joins": lambda x: (torch.cat([x, x[:1]]), torch.stack([x, x], -1), torch.cat([x, torch.zeros(4, 1)], 1)),
    "flips": lambda x: (x.flip(0), x.roll(1, 1), x.tril(), x.triu(1), x.diagonal(), x.rot90()),
    "index": lambda x: (x[torch.tensor([1, 0])], x[:, torch.tensor([[0, 1], [2, 0]])], x[torch.tensor([0, 1]), 1:3]),
    "index_apart": lambda x: x.unsqueeze(1)[torch.tensor([0, 3]), :, torch.tensor([1, 2])],
    "mask": lambda x: (x[torch.tensor([True, False, True, False])], x.masked_fill(x > 0, 0.0)),
    "index_select": lambda x: x.index_select(1, torch.tensor([2, 0])),
    "products": lambda x: (x @ x.T, x @ x[0], x.T @ x[:, 0], x[0].dot(x[1]), torch.outer(x[0], x[1])),
    "linear": lambda x: F.linear(x, WEIGHT, WEIGHT[:, 0]),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "norm_layers": lambda x: (F.layer_norm(x, (5,)), F.normalize(x, dim=0)),
    "activations": lambda x: F.gelu(x) + F.silu(x) + F.relu(x) + torch.tanh(x) + F.softplus(x) + F.leaky_relu(x),
    "losses": lambda x: F.cross_entropy(x, torch.tensor([0, 1, 2, 3])) + F.mse_loss(x, x * 2) + F.huber_loss(x, x + 1),
    "new": lambda x: (x.new_zeros(2), torch.zeros_like(x), x.new_full((2,), 3.0), x + torch.ones(5)),
    "written": lambda x: x.clone().add_(1).mul_(x).fill_diagonal_(2.0),
    "written_view": lambda x: (y := x.clone(), y[0].zero_(), y[:, 1].copy_(y[:, 2]), y)[-1],
    "written_index": lambda x: (y := x.clone(), y.__setitem__((torch.tensor([0, 1]),), x[0]), y)[-1],
    "einops": lambda x: F.pad(x, (1, 1)).unfold(1, 3, 2),
    "integers": lambda x: (x * 4).long() // 3,
    "interpolated": lambda x: torch.lerp(x, x * 2, 0.3) + torch.addcmul(x, x, x, value=2),
    "no_rule": lambda x: torch.histc(x, 4),
    "gradient": grad(lambda x: (x.sin() ** 2).sum()),
    "jacobian": lambda x: jacrev(lambda y: y**2)(x[0]),
    "nested": lambda x: vmap(lambda row: vmap(lambda a, b: a * b, (None, 0))(row.sum(), row))(x),
    "convolution": lambda x: F.conv1d(x.unsqueeze(0), KERNEL),
    "pool": lambda x: F.max_pool1d(x.unsqueeze(0), 2) + F.avg_pool1d(x.unsqueeze(0), 2),
}
TWO_ARGUMENTS = {
    "binary": (lambda x, y: x * y + x / (y * y + 1), A, randn(3, 5)),
    "numbers": (lambda x, y: x * y, A, randn(3)),
    "mixed_dtypes": (lambda x, y: x * y, A.float(), randn(3)),
    "products": (lambda x, y: x @ y, A, randn(3, 5, 2)),
    "batches": (lambda x, y: x @ y, randn(3, 2, 4, 5), randn(3, 5, 2)),
    "addmm": (lambda x, y: torch.addmm(y[0], x, y, alpha=2, beta=3), A, randn(3, 5, 2)),
    "linear": (lambda x, w: F.linear(x, w, w[:, 0]), A, randn(3, 2, 5)),
    "gather": (lambda x, i: x.gather(1, i), A, ints(5, 3, 4, 2)),
    "scatter": (lambda x, i: x.scatter(1, i, 0.0).scatter_add(0, i, x[:, :2]), A, ints(4, 3, 4, 2)),
    "index": (lambda x, i: (x[i], x[:, i], x[i, i]), A, ints(4, 3, 2)),
    "index_put": (lambda x, i: x.index_put((i,), x[0]), A, ints(4, 3, 2)),
    "embedding": (lambda w, i: F.embedding(i, w), A, ints(4, 3, 2)),
    "embedding_same": (lambda x, i: F.embedding(i, A[0]), A, ints(4, 3, 2)),
    "solve": (lambda a, b: torch.linalg.solve(a, b), SPD, randn(3, 4)),
    "matrices": (lambda a, b: (torch.linalg.inv(a), torch.linalg.det(a), torch.linalg.cholesky(a)), SPD, randn(3)),
    "weights": (lambda x, w: F.conv1d(x.unsqueeze(0), w), A, randn(3, 2, 4, 3)),
    "cross_entropy": (lambda x, t: F.cross_entropy(x, t), A, ints(5, 3, 4)),
    "attention": (lambda q, k: F.scaled_dot_product_attention(q, k, k), randn(3, 2, 4, 8), randn(3, 2, 6, 8)),
}


def looped(f, *args):
    results = [f(*(a[i] for a in args)) for i in range(args[0].shape[0])]
    leaves = [torch.utils._pytree.tree_leaves(r) for r in results]
    return [torch.stack(column) for column in zip(*leaves, strict=True)]


def compared(f, *args):
    found = torch.utils._pytree.tree_leaves(vmap(f)(*args))
    for a, b in zip(found, looped(f, *args), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ONE_ARGUMENT)
def test_of_one_argument(name):
    compared(ONE_ARGUMENT[name], A)


@pytest.mark.parametrize("name", TWO_ARGUMENTS)
def test_of_two_arguments(name):
    compared(*TWO_ARGUMENTS[name])


@pytest.mark.parametrize(("in_dim", "out_dim"), product((0, 1, -1), (0, 1, -1)))
def test_dims(in_dim, out_dim):
    found = vmap(lambda x: x * x.sum(), in_dim, out_dim)(A)
    moved = A.movedim(in_dim, 0)
    expected = (moved * moved.sum((1, 2), keepdim=True)).movedim(0, out_dim)
    np.testing.assert_allclose(found.numpy(), expected.numpy())


def test_one_operator_runs_for_the_whole_batch():
    calls = []
    vmap(lambda x: (x * 2, calls.append(x.shape))[0])(A)
    assert calls == [torch.Size([4, 5])]


def test_gradients_through_and_inside():
    x = A.clone().requires_grad_()
    vmap(lambda row: (row**3).sum())(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * A.numpy() ** 2)
    model = torch.nn.Sequential(
        torch.nn.Linear(5, 3), torch.nn.Tanh(), torch.nn.LayerNorm(3), torch.nn.Linear(3, 1)
    ).double()
    parameters, rows = dict(model.named_parameters()), A[:, 0]
    each = vmap(grad(lambda p, row: functional_call(model, p, (row,)).sum()), (None, 0))(parameters, rows)
    for name, parameter in parameters.items():
        expected = [torch.autograd.grad(model(row).sum(), parameter)[0] for row in rows]
        np.testing.assert_allclose(each[name].detach().numpy(), torch.stack(expected).numpy(), rtol=1e-6, atol=1e-12)


def test_writes_reach_the_argument():
    x = A.clone()
    vmap(lambda x: x[0].add_(1))(x)
    assert torch.equal(x[:, 0], A[:, 0] + 1) and torch.equal(x[:, 1:], A[:, 1:])


def test_random_operators():
    different = vmap(lambda x: torch.randn(2) + F.dropout(x[0], 0.5).sum(), randomness="different")(A)
    assert different.shape == (3, 2) and len(set(different.flatten().tolist())) == 6
    same = vmap(lambda x: torch.randn(2) * torch.rand_like(x[0, :2]), randomness="same")(A)
    assert torch.equal(same[0], same[1]) and torch.equal(same[0], same[2])
    kept = vmap(lambda x: F.dropout(x, 0.5), randomness="same")(torch.ones(4, 50))
    assert torch.equal(kept[0], kept[3]) and 0 < (kept[0] == 0).sum() < 50
    torch.manual_seed(0)
    chunked = vmap(lambda x: torch.randn(2), randomness="same", chunk_size=2)(A)
    assert torch.equal(chunked[0], chunked[2])


def test_chunks_and_structures():
    found = vmap(
        lambda d, s: {"y": d["x"] * s, "n": d["x"].sum()},
        in_dims=({"x": 1}, None),
        out_dims={"y": -1, "n": 0},
        chunk_size=2,
    )
    result = found({"x": A}, 2.0)
    np.testing.assert_allclose(result["y"].numpy(), (A * 2).movedim(1, -1).numpy())
    assert result["n"].shape == (4,)
    assert vmap(lambda x: torch.ones(2), out_dims=None)(A).shape == (2,)
    assert vmap(lambda x: x * 2)(torch.ones(0, 2)).shape == (0, 2)
    assert vmap(functools.partial(torch.add, torch.ones(5)))(A).shape == (3, 4, 5)


REFUSED = {
    "calling .item\\(\\) on a Tensor": lambda: vmap(lambda x: x.sum().item())(A),
    "data-dependent control flow": lambda: vmap(lambda x: bool(x.sum()))(A),
    "called random operation while in randomness error mode": lambda: vmap(lambda x: torch.rand(2))(A),
    "does not currently support same randomness with a batched": lambda: vmap(torch.bernoulli, randomness="same")(
        A.sigmoid()
    ),
    "Cannot ask for different inplace randomness on an unbatched": lambda: vmap(
        lambda x: torch.ones(2).normal_(), randomness="different"
    )(A),
    "output dynamic shape. Attempted to vmap over aten::nonzero": lambda: vmap(torch.nonzero)(A),
    "indexing with a boolean mask": lambda: vmap(lambda x: x[x > 0])(A),
    "vmap\\(<lambda>\\)\\(<inputs>\\): got no inputs": lambda: vmap(lambda: 1)(),
    "in_dims=None, ...\\)\\(<inputs>\\): expected `in_dims` to be int": lambda: vmap(lambda x: x, None)(A),
    "Got in_dim=5 for some input": lambda: vmap(lambda x: x, 5)(A),
    "Expected at least one Tensor to vmap over": lambda: vmap(lambda x: x, (None,))(A),
    "got sizes \\[3, 4\\] for the mapped dimension": lambda: vmap(torch.mul)(A, torch.ones(4)),
    "must only return Tensors, got type <class 'int'>": lambda: vmap(lambda x: 1)(A),
    "can not return a BatchedTensor when out_dim is None": lambda: vmap(lambda x: x, out_dims=None)(A),
    "Only allowed values for randomness": lambda: vmap(lambda x: x, randomness="b"),
    "chunk_size should be None or greater than 0. \\(got 0\\)": lambda: vmap(lambda x: x, chunk_size=0),
    "more elements than `self`": lambda: vmap(lambda x: torch.ones(4, 5).copy_(x))(A),
    "backward\\(\\) called inside a functorch transform": lambda: vmap(lambda x: x.sum().backward())(A),
    "call Tensor.requires_grad_\\(\\)": lambda: vmap(lambda x: x.requires_grad_())(A),
    "vmap over torch.allclose isn't supported yet": lambda: vmap(lambda x: torch.allclose(x, x))(A),
}


@pytest.mark.parametrize("text", REFUSED)
def test_texts(text):
    with pytest.raises((RuntimeError, ValueError), match=text):
        REFUSED[text]()


W = randn(5)
PER_ITEM = 2 * (A[:, 0] @ W).unsqueeze(1) * A[:, 0]  # of ((W * row).sum() ** 2) by W


def squared(w, row):
    return (w * row).sum() ** 2


def test_gradients_of_what_is_the_same_for_all_items_add_up():
    w, rows = W.clone().requires_grad_(), A[:, 0]
    total = PER_ITEM.sum(0)
    for out in (vmap(lambda row: squared(w, row))(rows), vmap(squared, (None, 0))(w, rows)):
        assert torch.allclose(torch.autograd.grad(out.sum(), w)[0], total)
    assert torch.allclose(grad(lambda w: vmap(squared, (None, 0))(w, rows).sum())(W), total)
    assert torch.allclose(vmap(grad(squared), (None, 0))(W, rows), PER_ITEM)
    assert torch.allclose(
        vmap(lambda row: vmap(lambda s: grad(squared)(W, row * s))(torch.ones(2)))(rows)[:, 1], PER_ITEM
    )
    hessian = torch.func.hessian(lambda w: (w**3).sum())(W)
    assert torch.allclose(hessian, torch.diag(6 * W))


def test_transforms_refuse_in_pytorchs_words():
    x = torch.ones(3, 2)
    for call, text in (
        (lambda: grad(lambda x: x)(x), "Expected f\\(\\*args\\) to return a scalar Tensor, got tensor with 2 dims"),
        (lambda: grad(lambda x: x.sum(), argnums=())(x), "argnums must be non-empty"),
        (lambda: grad(lambda x: x.sum(), argnums=(0, 0))(x), "argnums elements must be unique, got \\(0, 0\\)"),
        (lambda: grad(lambda x: x.sum())(x.long()), "only Tensors of floating point dtype can require gradients"),
        (
            lambda: torch.func.vjp(lambda x: 1, x),
            "expected f\\(\\*primals\\) to return only tensors, got unsupported type",
        ),
        (lambda: torch.func.vjp(lambda x: x, x)[1]((x, x)), "cotangents: \\(\\*, \\*\\), primal output: \\*"),
        (lambda: torch.func.jvp(lambda x: x, x, x), "Expected primals to be a tuple"),
        (lambda: torch.func.linearize(lambda x: x, x)[1](x[0]), "tangent:0 with shape torch.Size\\(\\[2\\]\\)"),
        (lambda: torch.func.functionalize(lambda x: x, remove="a"), "received invalid argument for remove=a"),
    ):
        with pytest.raises(RuntimeError, match=text):
            call()


def test_linearize():
    out, push = torch.func.linearize(lambda x, y: (x.sin() * y, y.sum()), W, W + 1)
    first, second = push(torch.ones_like(W), torch.zeros_like(W))
    assert torch.allclose(out[0], W.sin() * (W + 1)) and torch.allclose(first, W.cos() * (W + 1)) and second == 0
    expected = torch.func.jvp(lambda x, y: (x.sin() * y, y.sum()), (W, W + 1), (W, W))[1]
    assert all(torch.allclose(a, b) for a, b in zip(push(W, W), expected, strict=True))
