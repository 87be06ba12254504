"""Large graphs, many passes, threads, and what keeps what alive."""

import gc
import subprocess
import sys
import threading
import weakref

import pytest

import shim_torch as torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        ctx.saved_tensors
        return g * 2


def test_a_chain_of_a_hundred_thousand_nodes():
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1.0
    del y  # freed without recursion


def test_a_long_chain_of_functions_is_freed_unused():
    y = torch.ones(1, requires_grad=True)
    for _ in range(20_000):
        y = Double.apply(y)
    del y
    gc.collect()


def test_attributes_outlive_the_object_in_memory_that_a_collection_freed():
    """What the collector finalized is not made into another tensor, whose finalizer would not run."""
    for _ in range(300):
        cycle = [torch.ones(1)]
        cycle.append(cycle)
    del cycle
    gc.collect()
    leaves = [torch.ones(1, requires_grad=True) for _ in range(300)]
    for i, leaf in enumerate(leaves):
        leaf.mine = i
    results = [leaf * 2 for leaf in leaves]
    del leaf, leaves
    gc.collect()
    assert [y.grad_fn.next_functions[0][0].variable.mine for y in results] == list(range(300))


def test_a_pass_inside_a_pass_inside_a_pass():
    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x.detach()

        @staticmethod
        def backward(ctx, g):
            if ctx.depth:
                with torch.enable_grad():
                    x = torch.ones(1, requires_grad=True)
                    Nested.apply(x, ctx.depth - 1).sum().backward()
            return g, None

    x = torch.ones(1, requires_grad=True)
    Nested.apply(x, 300).sum().backward()
    assert x.grad.item() == 1.0


def test_memory_stays_flat_over_many_passes():
    script = """
import resource, shim_torch as torch
w = torch.ones(64, 64, requires_grad=True)
x = torch.ones(8, 64)
def step():
    y = torch.nn.functional.linear(x, w).relu()
    (y * y).sum().backward()
    y.view(-1)[0].item()
for _ in range(300): step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(3000): step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    grown = int(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
    assert grown < 2000  # KiB


def test_graphs_go_with_their_results():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()

    kept = torch.ones(2)
    kept.mark = mark = type("Mark", (), {})()
    alive = weakref.ref(mark)
    z = y * kept
    del kept, mark
    assert alive() is not None
    z.sum().backward()
    gc.collect()
    assert alive() is None  # backward freed what multiplication saved


def test_threads_accumulate_into_one_leaf():
    w = torch.zeros(50, requires_grad=True)
    errors = []

    def work():
        try:
            for _ in range(50):
                (w * 2).sum().backward()
        except Exception as error:  # reported below
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == []
    assert w.grad.tolist() == [400.0] * 50


def test_threads_have_modes_of_their_own():
    seen = []
    with torch.no_grad():
        t = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        t.start()
        t.join()
    assert seen == [True]


def test_saved_tensors_may_be_written_to():
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        w = torch.full((3,), 2.0)
        y = x * w
        w.mul_(10)
        w[0] = 5
        y.sum().backward()
        with pytest.raises(RuntimeError, match="cannot be nested"):
            torch.autograd.graph.allow_mutation_on_saved_tensors().__enter__()
        late = (x * w).sum()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]
    assert not context.tid_to_weakhandle
    with pytest.raises(AssertionError, match="Trying to backward outside"):
        late.backward()


def test_post_hooks_of_a_leaf_see_its_accumulated_gradient():
    x = torch.rand(3, requires_grad=True)
    node = x.view_as(x).grad_fn.next_functions[0][0]
    x.register_hook(lambda g: g - 2)
    node.register_prehook(lambda gs: (gs[0] / 5,))
    x.register_post_accumulate_grad_hook(lambda t: (t.grad.add_(0.5), None)[1])
    node.register_hook(lambda gi, go: setattr(x, "grad", go[0] * 10))
    x.sum().backward()
    assert torch.allclose(x.grad, torch.full((3,), 3.0))


def test_post_accumulate_hooks_return_nothing():
    x = torch.ones(1, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with pytest.raises(RuntimeError, match="should return None"):
        x.sum().backward()


def test_a_parameter_that_changed_its_storage():
    p = torch.nn.Parameter(torch.ones(4))
    for n in (3, 2):
        with torch.no_grad():
            p.set_(p[1:])
            p.grad = None
        torch.cat((p, p)).sum().backward()
        assert p.grad.tolist() == [2.0] * n


def test_no_forgotten_detach():
    a = torch.tensor(1.0, requires_grad=True).clone()
    b = a.sin()
    a.detach_()
    with pytest.raises(RuntimeError, match="Trying to use a saved tensor that has been detached in-place"):
        b.backward()


def test_detaching_in_inference_mode_does_nothing():
    a = torch.ones(2, requires_grad=True).clone()
    view = a[0]
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        view.detach_()
    with torch.inference_mode():
        view.detach_()
        a.detach_()
    assert a.requires_grad and view.requires_grad


def test_gradcheck_finds_wrong_gradients():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0"):
        torch.autograd.gradcheck(Wrong.apply, (x,))
    assert not torch.autograd.gradcheck(Wrong.apply, (x,), raise_exception=False)
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        torch.autograd.gradcheck(Wrong.apply, (x.detach(),))


def test_jacobians_and_hessians():
    from shim_torch.autograd import functional as f

    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    assert f.jacobian(lambda x: x**2, x).tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    assert f.hessian(lambda x: (x**3).sum(), x).diagonal().tolist() == [6, 12, 18]
    assert f.vjp(lambda x: x**2, x, torch.ones_like(x))[1].tolist() == [2, 4, 6]
    assert f.jvp(lambda x: x**2, x, torch.ones_like(x))[1].tolist() == [2, 4, 6]
    assert f.hvp(lambda x: (x**3).sum(), x, x)[1].tolist() == [6, 24, 54]
    assert f.vhp(lambda x: (x**3).sum(), x, x)[1].tolist() == [6, 24, 54]
    (a, b), (c, d) = f.jacobian(lambda x, y: (x * y, x + y), (x[:2], x[1:]))
    assert (a.tolist(), d.tolist()) == ([[2, 0], [0, 3]], [[1, 0], [0, 1]])
    with pytest.raises(RuntimeError, match="independent of input"):
        f.jacobian(lambda x, y: x, (x, x), strict=True)


def test_only_what_is_needed_runs():
    ran = []

    class Seen(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, name):
            ctx.name = name
            return x * 2

        @staticmethod
        def backward(ctx, g):
            ran.append(ctx.name)
            return g * 2, None

    x, z = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    y = Seen.apply(x, "x") + Seen.apply(z, "z")
    torch.autograd.grad(y, x)
    assert ran == ["x"]


def test_a_gradient_lies_as_its_variable():
    x = torch.zeros(3, 4).t().requires_grad_()
    (x * torch.ones(4, 3)).sum().backward()
    assert x.grad.stride() == x.stride() == (1, 4)
    y = torch.zeros(2, 6)[:, ::2].requires_grad_()
    (y * 2).sum().backward()
    assert y.grad.is_contiguous()


def test_hooks_that_hold_their_node_are_collected():
    y = torch.ones(1, requires_grad=True).clone()
    node, mark = y.grad_fn, type("Mark", (), {})()
    alive = weakref.ref(mark)
    node.register_hook(lambda *a, node=node, mark=mark: None)
    del y, node, mark
    gc.collect()
    assert alive() is None


def test_saved_tensors_are_not_made_from_python():
    with pytest.raises(RuntimeError, match="forbidden"):
        torch.autograd.SavedTensor()


def test_a_gradient_has_no_history_of_its_own():
    class GivesSaved(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return ctx.saved_tensors[0]

    x = torch.ones(2, requires_grad=True)
    GivesSaved.apply(x.clone()).sum().backward()
    assert not x.grad.requires_grad
    assert x.grad.tolist() == [1.0, 1.0]
