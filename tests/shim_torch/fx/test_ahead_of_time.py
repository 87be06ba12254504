"""``functorch.compile``: the graphs of forward and backward, and what runs of them gives."""

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch._functorch.aot_autograd import aot_function, aot_module, aot_module_simplified, make_boxed_func
from shim_torch._functorch.partitioners import default_partition, min_cut_rematerialization_partition

PARTITIONS = [default_partition, min_cut_rematerialization_partition]


class Seen:
    """A compiler that keeps the graphs it was given."""

    def __init__(self):
        self.graphs = []

    def __call__(self, graph, examples):
        assert len(examples) == len([n for n in graph.graph.nodes if n.op == "placeholder"])
        self.graphs.append(graph)
        return make_boxed_func(graph.forward)

    def steps(self, i):
        return [str(n.target) for n in self.graphs[i].graph.nodes if n.op == "call_function"]


def leaf(*shape):
    return torch.randn(*shape, requires_grad=True)


CASES = {
    "layer_norm": lambda: (lambda x, w: F.gelu(F.layer_norm(x, (8,), w)), [leaf(4, 8), leaf(8)]),
    "cross_entropy": lambda: (F.cross_entropy, [leaf(4, 8), torch.tensor([1, 2, 3, 0])]),
    "two results, one without gradients": lambda: (lambda x: x.max(1), [leaf(4, 8)]),
    "rows": lambda: (lambda x, i: x[i].sum(0), [leaf(5, 3), torch.tensor([1, 1, 2])]),
    "a list of results": lambda: (lambda x: [y * 2 for y in x.split(2)], [leaf(6, 3)]),
    "a dict of results": lambda: (lambda x: {"a": x + 1, "b": (x * 2, 3)}, [leaf(6, 3)]),
    "a number": lambda: (lambda x, n: x * n, [leaf(6, 3), 2.5]),
    "the argument itself": lambda: (lambda x: (x, x * 2), [leaf(6, 3)]),
    "a view": lambda: (lambda x: x.view(-1), [leaf(6, 3)]),
    "writes into values": lambda: (lambda x: (x * 2).add_(x).mul(3), [leaf(6, 3)]),
    "a written argument": lambda: (lambda x, b: (x * b.exp(), b.mul_(2))[0], [leaf(4), torch.randn(4)]),
    "a written argument that is read again": lambda: (lambda x, b: (x * b, b.copy_(b + 1), x * b)[2],
                                                      [leaf(4), torch.randn(4)]),
    "running statistics": lambda: (lambda x, m, v: F.batch_norm(x, m, v, training=True),
                                   [leaf(4, 8), torch.zeros(8), torch.ones(8)]),
    "attention": lambda: (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
                          [leaf(1, 2, 4, 8), leaf(1, 2, 4, 8), leaf(1, 2, 4, 8)]),
    "no gradients": lambda: (lambda x: (x.detach() * 2, x.argmax()), [leaf(6, 3)]),
}  # fmt: skip


def twin(args):
    return [a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a for a in args]


def tensors(value):
    return [x for x in torch.utils._pytree.tree_leaves(value) if isinstance(x, torch.Tensor)]


@pytest.mark.parametrize("partition", PARTITIONS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case, partition):
    torch.manual_seed(0)
    f, args = CASES[case]()
    mine, theirs = twin(args), twin(args)
    try:
        torch.autograd.backward([x.sum() for x in tensors(f(*twin(args))) if x.requires_grad])
        differentiable = True
    except RuntimeError:  # what was written cannot be differentiated twice over
        differentiable = False
    found, expected = aot_function(f, Seen(), partition_fn=partition)(*mine), f(*theirs)
    assert torch.utils._pytree.tree_structure(found) == torch.utils._pytree.tree_structure(expected)
    for a, b in zip(tensors(found), tensors(expected), strict=True):
        torch.testing.assert_close(a, b)
        assert a.requires_grad == b.requires_grad
    for a, b in zip(tensors(mine), tensors(theirs), strict=True):
        torch.testing.assert_close(a, b)
    torch.autograd.backward([x.sum() for x in tensors(found) if x.requires_grad])
    if not differentiable:  # the graph kept what eager mode wrote over
        b = args[1]
        torch.testing.assert_close(mine[0].grad, b.exp())
        return
    torch.autograd.backward([x.sum() for x in tensors(expected) if x.requires_grad])
    for a, b in zip(tensors(mine), tensors(theirs), strict=True):
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            torch.testing.assert_close(a.grad, b.grad)


def test_default_partition_saves_what_backward_reads():
    seen = Seen()
    a, b = leaf(2, 3), leaf(3, 4)
    out = aot_function(lambda a, b: torch.sin(a @ b).cos(), seen)(a, b)
    assert len(seen.graphs) == 1  # backward is compiled when it is asked for
    out.sum().backward()
    assert seen.steps(0) == ["aten.mm.default", "aten.sin.default", "aten.cos.default"]
    names = [n.name for n in seen.graphs[1].graph.nodes if n.op == "placeholder"]
    assert names == ["primals_1", "primals_2", "mm", "sin", "tangents_1"]


def test_minimum_cut_computes_elements_again():
    seen = Seen()
    a, b = leaf(2, 3), leaf(3, 4)
    f = aot_function(lambda a, b: torch.sin(a @ b).cos(), seen, partition_fn=min_cut_rematerialization_partition)
    f(a, b).sum().backward()
    names = [n.name for n in seen.graphs[1].graph.nodes if n.op == "placeholder"]
    assert names == ["primals_1", "primals_2", "mm", "tangents_1"]
    assert seen.steps(1)[0] == "aten.sin.default" and "aten.mm.default" not in seen.steps(1)[:4]


def test_minimum_cut_draws_once():
    seen = Seen()
    x = leaf(64)
    f = aot_function(lambda x: torch.rand_like(x).sin() * x, seen, partition_fn=min_cut_rematerialization_partition)
    out = f(x)
    out.sum().backward()
    torch.testing.assert_close(x.grad, out / x)
    assert not any("rand" in step for step in seen.steps(1))


def test_writes_stay_in_the_graph_where_asked():
    def f(x):
        x.add_(1)
        return x * 2

    for keep in (False, True):
        seen, x = Seen(), torch.zeros(3)
        found = aot_function(f, seen, keep_inference_input_mutations=keep)(x)
        assert found.tolist() == [2, 2, 2] and x.tolist() == [1, 1, 1]
        assert ("aten.copy_.default" in seen.steps(0)) == keep


def test_writing_into_what_requires_grad_is_refused():
    x = leaf(3)
    with pytest.raises(NotImplementedError, match="writes into an argument that requires grad"):
        aot_function(lambda x: (x.mul_(2), x * 2)[1], Seen())(x * 1)


def test_each_size_has_a_graph():
    seen = Seen()
    f = aot_function(lambda x: x.sum() * x.shape[0], seen)
    assert f(torch.ones(2)).item() == 4 and f(torch.ones(3)).item() == 9 and f(torch.ones(2)).item() == 4
    assert len(seen.graphs) == 2


def test_plain_autograd_functions():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    x = leaf(3)
    aot_function(Square.apply, Seen())(x).sum().backward()
    torch.testing.assert_close(x.grad, 2 * x)


def test_compilers_for_each_graph():
    forward, backward, inference = Seen(), Seen(), Seen()
    f = aot_function(torch.sin, forward, backward, inference_compiler=inference)
    f(leaf(3)).sum().backward()
    f(torch.ones(3))
    with torch.no_grad():
        f(leaf(3))
    assert [len(s.graphs) for s in (forward, backward, inference)] == [1, 1, 2]


def test_unboxed_results_are_told_of():
    with pytest.warns(UserWarning, match="returning a function that doesn't take boxed arguments"):
        aot_function(torch.sin, lambda graph, _: graph)(torch.ones(2))


def test_modules():
    linear = torch.nn.Linear(3, 2)
    x = torch.randn(4, 3)
    made = aot_module(linear, Seen())
    assert list(made.state_dict()) == ["orig_module.weight", "orig_module.bias"]
    made(x).sum().backward()
    simple = aot_module_simplified(linear, (x,), Seen())
    torch.testing.assert_close(simple(x), linear(x))
    torch.testing.assert_close(linear.weight.grad, x.sum(0).expand(2, 3))
    with torch.no_grad():
        linear.weight.zero_()
    torch.testing.assert_close(made(x), linear.bias.expand(4, 2))
